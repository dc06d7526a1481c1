/* SPDX-License-Identifier: Apache-2.0
 *
 * DST.sources: what became of each source file, for the next pack of the same sources. Text, one line a file
 * in the order of the list, fields parted by tabs:
 *
 *     stoker-sources 1
 *     recipe {...}                      what decides a record beside its source (recipe_text.h)
 *     <size> <mtime ns> <xxh3> <outcome> <flags> <path> [<action> <kind> <reason>]
 *     ...
 *     dataset <id>
 *     end <number of file lines> <xxh3 of all above>
 *
 * xxh3: of the content, 16 hex digits, "-" when it was not read whole. outcome: the record's number, "-" left
 * out, "." ignored. flags: hex, below. In path and reason a backslash, tab, newline or carriage return is
 * written \\ \t \n \r; all other bytes stand as they are. */
#ifndef STK_PACKER_SOURCE_LOG_H
#define STK_PACKER_SOURCE_LOG_H

#include <stdint.h>

#include "packer/product.h"
#include "packer/text_file.h"

enum {
    STK_LOG_DAMAGE = 0xffff, /* the kinds of damage */
    STK_LOG_REENCODED = 1 << 16,
    STK_LOG_VERBATIM = 1 << 17,
    STK_LOG_HINT = 1 << 18,
    STK_LOG_BAD = 1 << 19,
    STK_LOG_MISSING = 1 << 20,
    STK_LOG_RESAMPLED = 1 << 21
};

stk_status stk_source_log_begin(stk_text_file *log, const char *recipe, stk_error *error);
/* record: the number of the product's record, when it is one. A file changed at trusted_ns (of the real-time
 * clock) or later may have been changed again within the same tick of its clock: its time is noted as 0. */
stk_status stk_source_log_add(stk_text_file *log, const char *path, const stk_product *product,
                              uint64_t record, int64_t trusted_ns, stk_error *error);
/* The product's flags, as above. */
uint32_t stk_source_log_flags(const stk_product *product);
/* Writes the text in its escaped form (up to twice as long, no zero behind) and returns its end. */
char *stk_source_log_escape(char *to, const char *text);
stk_status stk_source_log_end(stk_text_file *log, const char *dataset_id, uint64_t n_files, stk_error *error);

/* The text of earlier DST.sources for another data set id: the file lines as they are, those of `behind` (NULL: none)
 * after those of `history`, with whose recipe. */
struct stk_history;
stk_status stk_source_log_frame(const struct stk_history *history, const struct stk_history *behind,
                                const char *dataset_id, stk_buffer *out, stk_error *error);

#endif
