/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/bitmap.h"

#include <errno.h>
#include <sys/mman.h>

#include "common/fail.h"

stk_status stk_bitmap_open(stk_bitmap *bitmap, uint64_t n_bits, stk_error *error)
{
    *bitmap = (stk_bitmap){0};
    uint64_t n_words = n_bits / 64 + 1;
    if (n_words > SIZE_MAX / sizeof *bitmap->words) return stk_fail_memory(error, "one bit a record");
    size_t n_bytes = (size_t)n_words * sizeof *bitmap->words;
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return stk_fail_errno(error, errno, "cannot reserve one bit a record");
    bitmap->words = memory;
    bitmap->n_bytes = n_bytes;
    return STK_OK;
}

void stk_bitmap_close(stk_bitmap *bitmap)
{
    if (bitmap->words != NULL) munmap((void *)bitmap->words, bitmap->n_bytes);
    *bitmap = (stk_bitmap){0};
}
