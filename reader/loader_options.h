/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STK_READER_LOADER_OPTIONS_H
#define STK_READER_LOADER_OPTIONS_H

#include <stoker/loader.h>

/* Checks everything that can be said without opening anything. Errors: STK_ERR_ARGUMENT names the option. */
stk_status stk_loader_options_check(const stk_dataset *dataset, const stk_loader_options *options,
                                    stk_error *error);

/* Arrays are delivered as they are: refuses options that ask for anything else. */
stk_status stk_loader_options_check_arrays(const stk_loader_options *options, const stk_array *array,
                                           stk_error *error);

#endif
