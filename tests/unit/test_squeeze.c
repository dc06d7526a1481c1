/* SPDX-License-Identifier: Apache-2.0
 *
 * zlib streams of HDF5 chunks through libdeflate and through zlib itself: the same bytes, and the same verdict on
 * broken ones. Run under AddressSanitizer too: every buffer is as large as it must be and no larger. */
#include "stoker_features.h"

#include "support/check.h"

#if STOKER_HAVE_HDF5
#include <stdlib.h>

#include <zlib.h>

#include "format/hdf5/squeeze.h"

enum { GUARD = 64, GUARD_BYTE = 0xa5, MAX_BYTES = 300000 };

static stk_error error;
static uint64_t seed;
static uint64_t next_random(void)
{
    seed += 0x9e3779b97f4a7c15u;
    uint64_t x = seed;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

enum { ZEROS, NOISE, SMOOTH, REPEATS, KINDS };

static void make_data(int kind, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (kind) {
        case ZEROS: out[i] = 0; break;
        case NOISE: out[i] = (uint8_t)next_random(); break;
        case SMOOTH: out[i] = (uint8_t)(i / 97 + (next_random() & 3)); break;
        default: out[i] = i < 4000 || next_random() % 50 == 0 ? (uint8_t)next_random() : out[i - 3991]; break;
        }
    }
}

/* By zlib with all that a writer may choose. The result is malloc'ed to its size. */
static uint8_t *deflate_with(const uint8_t *in, size_t n, int level, int window_bits, int strategy, size_t *n_out)
{
    z_stream z = {0};
    size_t capacity = n + n / 8 + 1024;
    uint8_t *out = malloc(capacity);
    if (out == NULL || deflateInit2(&z, level, Z_DEFLATED, window_bits, 8, strategy) != Z_OK) abort();
    z.next_in = (z_const Bytef *)in;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)capacity;
    CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    *n_out = z.total_out;
    deflateEnd(&z);
    uint8_t *exact = malloc(*n_out);
    if (exact == NULL) abort();
    memcpy(exact, out, *n_out);
    free(out);
    return exact;
}

typedef bool (*inflater)(const uint8_t *, size_t, uint8_t *, size_t);

/* Into a buffer of exactly n_out bytes, then into one with a guard behind; the caller frees the first. */
static uint8_t *inflate_by(inflater f, const uint8_t *in, size_t n_in, size_t n_out, bool *ok)
{
    uint8_t *out = malloc(n_out > 0 ? n_out : 1), *guarded = malloc(n_out + GUARD);
    if (out == NULL || guarded == NULL) abort();
    memset(guarded, GUARD_BYTE, n_out + GUARD);
    *ok = f(in, n_in, out, n_out);
    CHECK_EQ(f(in, n_in, guarded, n_out), *ok);
    bool untouched = true;
    for (size_t i = 0; i < GUARD; i++) untouched = untouched && guarded[n_out + i] == GUARD_BYTE;
    CHECK(untouched);
    free(guarded);
    return out;
}

/* Both ways agree; true when both inflate it. want may be NULL. */
static bool agree(const uint8_t *in, size_t n_in, const uint8_t *want, size_t n_out)
{
    bool fast_ok = false, plain_ok = false;
    uint8_t *fast = inflate_by(stk_unsqueeze_zlib, in, n_in, n_out, &fast_ok);
    uint8_t *plain = inflate_by(stk_unsqueeze_zlib_plain, in, n_in, n_out, &plain_ok);
    CHECK_EQ(fast_ok, plain_ok);
    if (fast_ok && plain_ok) CHECK(memcmp(fast, plain, n_out) == 0);
    if (plain_ok && want != NULL) CHECK(memcmp(plain, want, n_out) == 0);
    free(fast);
    free(plain);
    return fast_ok && plain_ok;
}

static void check_stream(const uint8_t *data, size_t n, const uint8_t *stream, size_t n_stream)
{
    CHECK(agree(stream, n_stream, data, n));
    CHECK(!agree(stream, n_stream, NULL, n + 1));
    if (n > 0) CHECK(!agree(stream, n_stream, NULL, n - 1));
    for (size_t cut = 1; cut <= 12 && cut < n_stream; cut++) {
        /* A buffer that ends where the stream was cut: a read past it is seen by AddressSanitizer. */
        uint8_t *part = malloc(n_stream - cut);
        if (part == NULL) abort();
        memcpy(part, stream, n_stream - cut);
        CHECK(!agree(part, n_stream - cut, NULL, n));
        free(part);
    }
    uint8_t *longer = malloc(n_stream + 9);
    if (longer == NULL) abort();
    memcpy(longer, stream, n_stream);
    memset(longer + n_stream, 0x77, 9);
    CHECK(agree(longer, n_stream + 9, data, n)); /* HDF5 ignores what lies behind */
    free(longer);
}

static void same_bytes(void)
{
    static const size_t SIZES[] = {1, 2, 3, 255, 4096, 32769, 65535, 65537, MAX_BYTES};
    static const int STRATEGIES[] = {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED, Z_FILTERED};
    uint8_t *data = malloc(MAX_BYTES);
    if (data == NULL) abort();
    int turn = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++)
            for (int level = 0; level <= 9; level++) {
                size_t n = SIZES[s], n_stream;
                make_data(kind, data, n);
                int bits = turn % 4 == 3 ? 9 + turn / 4 % 7 : 15, strategy = STRATEGIES[turn % 5];
                uint8_t *stream = deflate_with(data, n, level, bits, strategy, &n_stream);
                check_stream(data, n, stream, n_stream);
                free(stream);
                turn++;
            }
    free(data);
}

/* What we write is what zlib reads. */
static void our_streams(void)
{
    uint8_t *data = malloc(MAX_BYTES), *out = malloc(MAX_BYTES + 1024);
    if (data == NULL || out == NULL) abort();
    for (int level = 1; level <= 9; level++)
        for (int kind = 0; kind < KINDS; kind++) {
            stk_squeezer *s = NULL;
            CHECK_OK(stk_squeezer_open(level, &s, &error));
            if (s == NULL) continue;
            make_data(kind, data, MAX_BYTES);
            size_t n = stk_squeezer_run(s, data, MAX_BYTES, out, MAX_BYTES + 1024);
            CHECK(n > 0 && agree(out, n, data, MAX_BYTES));
            if (kind == NOISE) CHECK_EQ(stk_squeezer_run(s, data, MAX_BYTES, out, MAX_BYTES - 1), 0);
            n = stk_squeeze_zlib_plain(level, data, MAX_BYTES, out, MAX_BYTES + 1024);
            CHECK(n > 0 && agree(out, n, data, MAX_BYTES));
            stk_squeezer_close(&s);
        }
    free(data);
    free(out);
}

/* A broken stream: refused by both, or read alike. libdeflate also takes the length codes 286 and 287, which no
 * encoder writes and zlib refuses, as 258; such a stream passes only when the checksum finds the right bytes. */
static bool is_read(const uint8_t *in, size_t n_in, const uint8_t *original, size_t n_out)
{
    bool fast_ok = false, plain_ok = false;
    uint8_t *fast = inflate_by(stk_unsqueeze_zlib, in, n_in, n_out, &fast_ok);
    uint8_t *plain = inflate_by(stk_unsqueeze_zlib_plain, in, n_in, n_out, &plain_ok);
    CHECK(fast_ok || !plain_ok);
    if (fast_ok) CHECK(memcmp(fast, plain_ok ? plain : original, n_out) == 0);
    free(fast);
    free(plain);
    return fast_ok;
}

/* Flipped bits, exchanged bytes, and headers whose own check was made to fit. */
static void broken_streams(void)
{
    uint8_t data[3000];
    int n_broken = 0, n_fine = 0;
    for (int k = 0; k < 24; k++) {
        size_t n_stream;
        make_data(k % KINDS, data, sizeof data);
        uint8_t *stream = deflate_with(data, sizeof data, k % 10, k % 6 == 5 ? 9 : 15, k % 5, &n_stream);
        for (int flip = 0; flip < 250; flip++) {
            uint8_t *bad = malloc(n_stream);
            if (bad == NULL) abort();
            memcpy(bad, stream, n_stream);
            size_t at = next_random() % (flip % 4 == 0 && n_stream > 40 ? 40 : n_stream);
            bad[at] ^= (uint8_t)(1u << next_random() % 8);
            if (flip % 3 == 1) bad[next_random() % n_stream] = (uint8_t)next_random();
            if (flip % 5 == 4) { /* window size, level and dictionary flag at random, the header's check made to fit */
                bad[0] = (uint8_t)(next_random() % 8 << 4 | 8);
                bad[1] = (uint8_t)(next_random() & 0xe0);
                bad[1] = (uint8_t)(bad[1] + 31 - (bad[0] * 256 + bad[1]) % 31);
            }
            if (is_read(bad, n_stream, data, sizeof data))
                n_fine++;
            else
                n_broken++;
            free(bad);
        }
        free(stream);
    }
    CHECK(n_broken > 5000);
    printf("%d broken streams refused, %d read, the bytes being right\n", n_broken, n_fine);
}

/* Any bytes behind a good header. */
static void garbage(void)
{
    for (int k = 0; k < 4000; k++) {
        size_t n = 2 + next_random() % 400;
        uint8_t *in = malloc(n);
        if (in == NULL) abort();
        make_data(NOISE, in, n);
        in[0] = 0x78;
        in[1] = 0x9c;
        agree(in, n, NULL, next_random() % 2000);
        free(in);
    }
}

int main(void)
{
    RUN(same_bytes);
    RUN(our_streams);
    RUN(broken_streams);
    RUN(garbage);
    return check_exit();
}
#else
int main(void)
{
    puts("skipped: this build has no HDF5");
    return 77;
}
#endif
