/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/team.h"

#include <omp.h>

void stk_team_run(uint32_t n_threads, stk_team_fn fn, void *user)
{
    if (n_threads <= 1) {
        fn(user, 0);
        return;
    }
#pragma omp parallel num_threads((int)n_threads)
    fn(user, (uint32_t)omp_get_thread_num());
}
