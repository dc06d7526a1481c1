/* SPDX-License-Identifier: Apache-2.0
 *
 * What a writer refuses before anything is touched. */
#ifndef STK_PACKER_WRITER_CHECK_H
#define STK_PACKER_WRITER_CHECK_H

#include <stoker/writer.h>

/* Columns, classes, and options of a pack that make no sense sample by sample. STK_ERR_ARGUMENT. */
stk_status stk_writer_check_options(const stk_writer_options *options, const stk_pack_options *pack,
                                    stk_error *error);

/* The item against the writer's columns and classes. STK_ERR_ARGUMENT. */
stk_status stk_writer_check_item(const stk_writer_options *options, const stk_item *item, stk_error *error);

/* Adds the members of a JSON object's text to the metadata, an object's text with its zero counted. A member that
 * is there already, or text that is no object: STK_ERR_ARGUMENT. */
stk_status stk_writer_join_metadata(const char *text, stk_buffer *metadata, stk_error *error);

#endif
