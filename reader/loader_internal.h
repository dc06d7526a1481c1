/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STK_READER_LOADER_INTERNAL_H
#define STK_READER_LOADER_INTERNAL_H

#include <stoker/loader.h>

#include "reader/work.h"

/* As stk_loader_open, with another work on samples than decoding to pixels. */
stk_status stk_loader_open_work(const stk_dataset *dataset, const stk_loader_options *options,
                                const stk_work *work, stk_loader **out, stk_error *error);

#endif
