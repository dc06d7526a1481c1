/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_filters.h"

#include <string.h>

#include "common/buffer.h"
#include "common/endian.h"
#include "common/fail.h"
#include "format/hdf5/squeeze.h"

enum { DEFLATE = 1, SHUFFLE = 2, FLETCHER32 = 3, LZF = 32000 };

uint32_t stk_h5_unknown_filter(const stk_h5_dataset *d)
{
    for (uint32_t i = 0; i < d->n_filters; i++) {
        uint32_t id = d->filters[i].id;
        bool known = id == DEFLATE || id == SHUFFLE || id == FLETCHER32 || (id == LZF && stk_squeeze_has_lzf());
        if (!known) return id;
    }
    return 0;
}

uint32_t stk_h5_fletcher32(const uint8_t *data, size_t n_bytes)
{
    uint32_t sum1 = 0, sum2 = 0;
    size_t words = n_bytes / 2;
    while (words > 0) {
        /* 360 additions fit into 32 bits before the sums must be folded. */
        size_t run = words > 360 ? 360 : words;
        words -= run;
        do {
            sum1 += (uint32_t)(data[0] << 8 | data[1]);
            data += 2;
            sum2 += sum1;
        } while (--run > 0);
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    if (n_bytes % 2 != 0) {
        sum1 += (uint32_t)(data[0] << 8);
        sum2 += sum1;
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    return sum2 << 16 | sum1;
}

/* Elements of W bytes, a constant: gcc makes interleaving vector stores of it (46-57 GB/s; the plain loops give 6). */
#define UNSHUFFLE_FIXED(W)                                                                                       \
    static void unshuffle##W(const uint8_t *restrict in, size_t count, uint8_t *restrict out)                    \
    {                                                                                                            \
        for (size_t i = 0; i < count; i++)                                                                       \
            for (size_t b = 0; b < W; b++) out[i * W + b] = in[b * count + i];                                   \
    }
UNSHUFFLE_FIXED(2)
UNSHUFFLE_FIXED(4)
UNSHUFFLE_FIXED(8)

static void unshuffle(const uint8_t *in, size_t n, size_t element, uint8_t *out)
{
    size_t count = n / element;
    switch (element) {
    case 2: unshuffle2(in, count, out); break;
    case 4: unshuffle4(in, count, out); break;
    case 8: unshuffle8(in, count, out); break;
    default:
        for (size_t b = 0; b < element; b++)
            for (size_t i = 0; i < count; i++) out[i * element + b] = in[b * count + i];
    }
    size_t done = count * element; /* what is left over stays where it is */
    if (n > done) memcpy(out + done, in + done, n - done);
}

static stk_status check_fletcher(stk_buffer *data, stk_error *error)
{
    if (data->n_bytes < 4) return stk_fail(error, STK_ERR_CORRUPT, "chunk too short for its checksum");
    data->n_bytes -= 4;
    uint32_t stored = stk_load32(data->data + data->n_bytes), sum = stk_h5_fletcher32(data->data, data->n_bytes);
    /* Libraries before 1.6.3 stored the halves' bytes swapped; HDF5 accepts both. */
    uint32_t swapped = (sum & 0x00ff00ffu) << 8 | (sum >> 8 & 0x00ff00ffu);
    if (stored == sum || stored == swapped) return STK_OK;
    return stk_fail(error, STK_ERR_CHECKSUM, "fletcher32 checksum does not match");
}

static stk_status inflate_into(uint32_t id, stk_buffer *raw, stk_buffer *scratch, size_t n_out, bool more_bytes,
                               stk_error *error)
{
    /* Only a checksum written before compression makes the inflated bytes more than the chunk. */
    size_t want = n_out + (more_bytes ? 4 : 0);
    STK_TRY(stk_buffer_resize(scratch, want, error));
    bool ok = id == LZF ? stk_unsqueeze_lzf(raw->data, raw->n_bytes, scratch->data, want)
                        : stk_unsqueeze_zlib(raw->data, raw->n_bytes, scratch->data, want);
    if (!ok) return stk_fail(error, STK_ERR_CORRUPT, "%s data do not decompress", id == LZF ? "LZF" : "gzip");
    stk_buffer swap = *raw;
    *raw = *scratch;
    *scratch = swap;
    return STK_OK;
}

/* No filter that was applied comes before number i. */
static bool is_last_to_undo(const stk_h5_dataset *d, uint32_t mask, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (!(mask >> k & 1) && !(d->filters[k].id == SHUFFLE && d->element_bytes <= 1)) return false;
    return true;
}

/* Straight to where the bytes belong. */
static stk_status inflate_out(uint32_t id, const stk_buffer *raw, uint8_t *out, size_t n_out, stk_error *error)
{
    bool ok = id == LZF ? stk_unsqueeze_lzf(raw->data, raw->n_bytes, out, n_out)
                        : stk_unsqueeze_zlib(raw->data, raw->n_bytes, out, n_out);
    return ok ? STK_OK : stk_fail(error, STK_ERR_CORRUPT, "%s data do not decompress", id == LZF ? "LZF" : "gzip");
}

stk_status stk_h5_unfilter(const stk_h5_dataset *d, uint32_t mask, stk_buffer *raw, stk_buffer *scratch, uint8_t *out,
                           size_t n_out, stk_error *error)
{
    for (uint32_t i = d->n_filters; i-- > 0;) {
        if (mask >> i & 1) continue;
        uint32_t id = d->filters[i].id;
        if (id == FLETCHER32) {
            STK_TRY(check_fletcher(raw, error));
        } else if (id == SHUFFLE) {
            if (d->element_bytes <= 1) continue;
            if (raw->n_bytes == n_out && is_last_to_undo(d, mask, i)) {
                unshuffle(raw->data, n_out, d->element_bytes, out);
                return STK_OK;
            }
            STK_TRY(stk_buffer_resize(scratch, raw->n_bytes, error));
            unshuffle(raw->data, raw->n_bytes, d->element_bytes, scratch->data);
            stk_buffer swap = *raw;
            *raw = *scratch;
            *scratch = swap;
        } else if (is_last_to_undo(d, mask, i)) {
            return inflate_out(id, raw, out, n_out, error);
        } else {
            bool checksum_inside = false;
            for (uint32_t k = 0; k < i; k++)
                if (d->filters[k].id == FLETCHER32 && !(mask >> k & 1)) checksum_inside = true;
            STK_TRY(inflate_into(id, raw, scratch, n_out, checksum_inside, error));
        }
    }
    if (raw->n_bytes != n_out)
        return stk_fail(error, STK_ERR_CORRUPT, "a chunk holds %zu bytes where %zu belong", raw->n_bytes, n_out);
    memcpy(out, raw->data, n_out);
    return STK_OK;
}
