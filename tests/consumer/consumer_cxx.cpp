// SPDX-License-Identifier: Apache-2.0
// The public headers serve C++ too.
#include <cstdio>

#include <stoker/stoker.h>

int main()
{
    std::printf("%s %s\n", stk_version(), stk_status_name(STK_ERR_CHECKSUM));
    return 0;
}
