/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STK_PACKER_PACK_OPTIONS_H
#define STK_PACKER_PACK_OPTIONS_H

#include <stoker/pack.h>

/* The caller's options (NULL: defaults) as a complete, checked set; n_threads is never 0 there. */
stk_status stk_pack_options_read(const stk_pack_options *options, stk_pack_options *out, stk_error *error);

#endif
