/* SPDX-License-Identifier: Apache-2.0
 *
 * Damaging a record of a shard on disk. */
#ifndef STK_TESTS_DAMAGE_H
#define STK_TESTS_DAMAGE_H

#include <fcntl.h>
#include <unistd.h>

#include <stoker/dataset.h>

#include "support/check.h"

/* Flips one bit in the middle of record i's payload. */
static inline void damage_record(const char *path, const stk_dataset *dataset, uint64_t i)
{
    stk_error error;
    stk_record_info info;
    uint8_t byte;
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    CHECK_OK(stk_dataset_record(dataset, i, &info, &error));
    off_t at = (off_t)(info.offset + info.n_bytes / 2);
    CHECK_EQ(pread(fd, &byte, 1, at), 1);
    byte ^= 4;
    CHECK_EQ(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

#endif
