/* SPDX-License-Identifier: Apache-2.0
 *
 * HDF5's filter pipelines undone: chunks filtered here in the plainest way come back, for elements of every size,
 * in every order of filters, with and without masked ones. (Chunks filtered by h5py: tests/python/test_hdf5.py.) */
#include "stoker_features.h"

#include "support/check.h"

#if STOKER_HAVE_HDF5
#include "common/buffer.h"
#include "common/endian.h"
#include "format/hdf5/hdf5_filters.h"
#include "format/hdf5/squeeze.h"

enum { DEFLATE = 1, SHUFFLE = 2, FLETCHER32 = 3, MAX_BYTES = 5000, ROOM = MAX_BYTES * 2 };

static stk_error error;

/* As the specification says it: all first bytes of the elements, all second ones ...; what is left over stays. */
static void shuffle(const uint8_t *in, size_t n, size_t element, uint8_t *out)
{
    size_t count = n / element, k = 0;
    for (size_t b = 0; b < element; b++)
        for (size_t i = 0; i < count; i++) out[k++] = in[i * element + b];
    memcpy(out + k, in + k, n - k);
}

static size_t apply(uint32_t filter, uint32_t element, uint8_t *data, size_t n)
{
    static uint8_t other[ROOM];
    if (filter == SHUFFLE) {
        shuffle(data, n, element, other);
    } else if (filter == DEFLATE) {
        n = stk_squeeze_zlib_plain(6, data, n, other, sizeof other);
        CHECK(n > 0);
    } else {
        memcpy(other, data, n);
        stk_store32(other + n, stk_h5_fletcher32(data, n));
        n += 4;
    }
    memcpy(data, other, n);
    return n;
}

static void check_pipeline(const uint32_t *filters, uint32_t n_filters, uint32_t mask, uint32_t element, size_t n)
{
    static uint8_t want[MAX_BYTES], data[ROOM];
    stk_h5_dataset d = {.element_bytes = element, .n_filters = n_filters};
    for (size_t i = 0; i < n; i++) want[i] = data[i] = (uint8_t)(i * i / 7 + i % element * 50);
    size_t n_raw = n;
    for (uint32_t i = 0; i < n_filters; i++) {
        d.filters[i].id = filters[i];
        if (!(mask >> i & 1)) n_raw = apply(filters[i], element, data, n_raw);
    }
    stk_buffer raw = {0}, scratch = {0};
    uint8_t *out = malloc(n > 0 ? n : 1); /* of the very size: a byte too many is seen by AddressSanitizer */
    if (out == NULL) abort();
    CHECK_OK(stk_buffer_append(&raw, data, n_raw, &error));
    CHECK_OK(stk_h5_unfilter(&d, mask, &raw, &scratch, out, n, &error));
    CHECK(memcmp(out, want, n) == 0);
    stk_buffer_free(&raw);
    stk_buffer_free(&scratch);
    free(out);
}

static void pipelines_come_back(void)
{
    static const uint32_t SETS[][4] = {{SHUFFLE},
                                       {DEFLATE},
                                       {FLETCHER32},
                                       {SHUFFLE, DEFLATE},
                                       {DEFLATE, SHUFFLE},
                                       {SHUFFLE, DEFLATE, FLETCHER32},
                                       {FLETCHER32, SHUFFLE, DEFLATE},
                                       {SHUFFLE, FLETCHER32, DEFLATE},
                                       {SHUFFLE, SHUFFLE, DEFLATE}};
    static const size_t COUNTS[] = {1, 2, 15, 16, 17, 63, 64, 65, 500};
    for (size_t s = 0; s < sizeof SETS / sizeof *SETS; s++) {
        uint32_t n_filters = 0;
        while (n_filters < 4 && SETS[s][n_filters] != 0) n_filters++;
        for (uint32_t element = 1; element <= 9; element++)
            for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++)
                for (uint32_t mask = 0; mask < 1u << n_filters; mask++)
                    check_pipeline(SETS[s], n_filters, mask, element, COUNTS[c] * element);
    }
}

static void broken_chunks(void)
{
    uint8_t out[64], byte = 7;
    stk_h5_dataset d = {.element_bytes = 4, .n_filters = 1, .filters = {{.id = SHUFFLE}}};
    stk_buffer raw = {0}, scratch = {0};
    for (size_t n = 0; n < 200; n++) { /* any number of bytes but the chunk's is refused */
        raw.n_bytes = 0;
        for (size_t i = 0; i < n; i++) CHECK_OK(stk_buffer_append(&raw, &byte, 1, &error));
        CHECK_STATUS(stk_h5_unfilter(&d, 0, &raw, &scratch, out, sizeof out, &error),
                     n == sizeof out ? STK_OK : STK_ERR_CORRUPT);
    }
    stk_buffer_free(&raw);
    stk_buffer_free(&scratch);
}

int main(void)
{
    RUN(pipelines_come_back);
    RUN(broken_chunks);
    return check_exit();
}
#else
int main(void)
{
    puts("skipped: this build has no HDF5");
    return 77;
}
#endif
