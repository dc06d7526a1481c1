/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles on the GPU, the fast way (sm_80 and later): one lane a segment, 32 segments of one image in lockstep, block by
 * block. What makes it fast, each measured on an H200 (docs/performance.md):
 *   - bits come from a 64-byte ring a lane in shared memory, topped up by cp.async just before the inverse DCT, so
 *     that no lane's refill waits for another's load;
 *   - coefficients lie in shared memory as [zigzag][lane]: no bank conflicts, no zigzag table in the symbol loop;
 *   - all segments of an image have the same blocks in the same order, so component, tables and quantiser are uniform;
 *   - a warp's 32 blocks are staged and written with four lanes a block.
 * The steps are hd_decode.h's; tests compare the results of both byte by byte. */
#ifndef STK_CUDA_DECODE_FAST_CUH
#define STK_CUDA_DECODE_FAST_CUH

#include "gpu_upload/cuda/decode_tables.cuh"

namespace stk {

constexpr int WARPS = STK_GPU_SEGMENTS_PER_ITEM / 32;
constexpr int RING = 64; /* bytes a lane */
constexpr int COEF_BYTES = 64 * 32 * 4;
constexpr size_t FAST_SHARED = sizeof(DecodeTables) + (size_t)WARPS * (COEF_BYTES + 32 * RING) + 128;

__device__ __forceinline__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy_async16(uint32_t to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_async_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
/* Ordered after cp.async.wait: the compiler must not move it. */
__device__ __forceinline__ uint32_t load_shared(uint32_t at)
{
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
    return v;
}
__device__ __forceinline__ uint32_t big_endian(uint32_t v) { return __byte_perm(v, 0, 0x0123); }

/* A lane's place in its segment. Offsets count bytes from a 16-byte aligned base. */
struct Lane {
    const uint8_t *base;
    uint32_t ring;         /* shared address */
    uint32_t w0, w1, pos;  /* 64 bits at hand, `pos` (0..31) of w0 used */
    uint32_t off, limit;   /* next word to load; greatest place that may be read */
    uint32_t requested, available; /* bytes below these were asked for, have arrived */

    __device__ __forceinline__ void request()
    {
        uint32_t low = off & ~15u;
        if (requested < low) requested = low;
        #pragma unroll
        for (int i = 0; i < RING / 16; i++)
            if (requested < low + RING) {
                uint32_t from = requested < limit ? requested : limit;
                copy_async16(ring | (requested & (RING - 1)), base + from);
                requested += 16;
            }
    }
    __device__ __forceinline__ uint32_t next_word()
    {
        uint32_t v = off < available ? load_shared(ring | (off & (RING - 1))) : __ldg((const uint32_t *)(base + off));
        off = min(off + 4, limit);
        return big_endian(v);
    }
    __device__ __forceinline__ void begin(const uint8_t *aligned, uint32_t first_byte, uint32_t end)
    {
        base = aligned;
        limit = end;
        pos = (first_byte & 3) * 8;
        off = min(first_byte & ~3u, limit);
        requested = available = off & ~15u;
        request();
        copy_async_wait();
        available = requested;
        w0 = next_word();
        w1 = next_word();
    }
    __device__ __forceinline__ uint32_t window() const { return __funnelshift_l(w1, w0, pos); }
    __device__ __forceinline__ void consume(uint32_t n)
    {
        pos += n;
        if (pos >= 32) {
            pos -= 32;
            w0 = w1;
            w1 = next_word();
        }
    }
    /* Bits from the base to the next unread one. */
    __device__ __forceinline__ uint64_t bit() const { return (uint64_t)(off - 8) * 8 + pos; }
};

/* One block of every active lane into coef ([zigzag][lane]); dequantised later. Returns the last position written, and
 * clears `good` where the bits are invalid. */
__device__ __forceinline__ int decode_block(Lane &lane, const DecodeTables *s, int chroma, int &dc, int *coef, bool &good)
{
    uint32_t window = lane.window();
    uint32_t e = s->dc[chroma][window >> (32 - STK_HD_DC_BITS)];
    if (__builtin_expect(e == 0, 0)) e = stk_hd_slow_entry(&s->longs[chroma * 2], s->dc_symbols[chroma], 0, window, STK_HD_DC_BITS);
    if (e == 0) good = false;
    uint32_t code = STK_HD_CODE_BITS(e), size = STK_HD_SIZE(e);
    dc += stk_hd_extend(window << code, size);
    coef[0] = dc;
    lane.consume(code + size);
    uint32_t k = 1;
    int last = 0;
    while (k < 64 && good) {
        window = lane.window();
        e = s->ac[chroma][window >> (32 - STK_HD_AC_BITS)];
        if (__builtin_expect(e == 0, 0)) {
            e = stk_hd_slow_entry(&s->longs[chroma * 2 + 1], s->ac_symbols[chroma], 1, window, STK_HD_AC_BITS);
            if (e == 0) {
                good = false;
                break;
            }
        }
        code = STK_HD_CODE_BITS(e);
        size = STK_HD_SIZE(e);
        int v = stk_hd_extend(window << code, size);
        lane.consume(code + size);
        uint32_t advance = STK_HD_ADVANCE(e);
        k += advance;
        if (advance == 64) break;
        if (k > 64) {
            good = false;
            break;
        }
        coef[(k - 1) * 32] = v;
        last = (int)k - 1;
    }
    return last;
}

/* Inverse DCT of this lane's block, of which only the first N rows and columns of coefficients are not zero. The 64
 * bytes go to the warp's stage, 16-byte pieces swizzled against bank conflicts. */
template <int N> __device__ __forceinline__ void idct_block(const int *coef, const int *quant, uint32_t stage, int lane)
{
    int w[8][N];
    #pragma unroll
    for (int c = 0; c < N; c++) {
        int in[8], o[8];
        #pragma unroll
        for (int r = 0; r < 8; r++) in[r] = r < N ? coef[zigzag(r * 8 + c) * 32] * quant[r * 8 + c] : 0;
        stk_hd_idct_1d(in, o, 1 << (STK_HD_COLUMN_SHIFT - 1));
        #pragma unroll
        for (int r = 0; r < 8; r++) w[r][c] = o[r] >> STK_HD_COLUMN_SHIFT;
    }
    __syncwarp();
    #pragma unroll
    for (int h = 0; h < 4; h++) {
        uint32_t u[4];
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            int in[8], o[8];
            #pragma unroll
            for (int c = 0; c < 8; c++) in[c] = c < N ? w[2 * h + i][c] : 0;
            stk_hd_idct_1d(in, o, 1 << (STK_HD_ROW_SHIFT - 1));
            #pragma unroll
            for (int k = 0; k < 2; k++)
                u[2 * i + k] = (uint32_t)stk_hd_sample(o[4 * k]) | (uint32_t)stk_hd_sample(o[4 * k + 1]) << 8 |
                               (uint32_t)stk_hd_sample(o[4 * k + 2]) << 16 | (uint32_t)stk_hd_sample(o[4 * k + 3]) << 24;
        }
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(stage + lane * 64 + ((h ^ (lane >> 1 & 3)) << 4)),
                     "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3])
                     : "memory");
    }
}

/* The stage's 32 blocks to where their lanes say, four lanes a block. */
__device__ __forceinline__ void store_blocks(const uint8_t *stage, uint8_t *scratch, uint64_t to, int lane)
{
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        int b = i * 8 + (lane >> 2), piece = lane & 3;
        uint64_t at = __shfl_sync(0xffffffffu, to, b);
        uint4 v = *(const uint4 *)(stage + b * 64 + ((piece ^ (b >> 1 & 3)) << 4));
        if (at != UINT64_MAX) *(uint4 *)(scratch + at + piece * 16) = v;
    }
}

__global__ void __launch_bounds__(STK_GPU_SEGMENTS_PER_ITEM) decode_fast(const stk_gpu_group g)
{
    extern __shared__ __align__(128) uint8_t memory[];
    const stk_gpu_item item = g.decode_items[blockIdx.x];
    const stk_gpu_image *im = g.images + item.image;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int *coef = (int *)(memory + warp * COEF_BYTES);
    uint8_t *rings = memory + WARPS * COEF_BYTES;
    DecodeTables *s = (DecodeTables *)(rings + WARPS * 32 * RING);
    const stk_gather_tables *t = (const stk_gather_tables *)(g.bytes + im->tables);
    const uint32_t *offsets = (const uint32_t *)(t + 1);
    build_tables(s, t);

    const uint32_t within = warp * 32 + lane, segment = item.first + within;
    const bool active = within < item.n;
    bool good = true;
    Lane in = {};
    uint32_t end_byte = 0;
    in.ring = shared_address(rings + threadIdx.x * RING);
    if (active) {
        const uint8_t *buffer = im->resident ? g.resident : g.bytes;
        uint64_t size = (im->resident ? g.resident_size : g.bytes_size), base = im->segments & ~(uint64_t)15;
        uint32_t skew = (uint32_t)(im->segments & 15);
        uint64_t room = size - base + 32; /* the back end's buffers have this much slack and more */
        uint32_t limit = (uint32_t)(room < 0xfffffff0u ? room : 0xfffffff0u) & ~15u;
        end_byte = offsets[segment] + ((const uint16_t *)(offsets + im->n_segments))[segment] + skew;
        in.begin(buffer + base, offsets[segment] + skew, limit);
    }
    if (warp * 32u >= item.n) return; /* whole warps only: no barrier of the block follows */
    int dc0 = 0, dc1 = 0, dc2 = 0;
    for (int i = lane; i < COEF_BYTES / 16; i += 32) ((int4 *)coef)[i] = make_int4(0, 0, 0, 0);
    __syncwarp();
    for (uint32_t m = 0; m < im->tile_mcus; m++)
        for (uint32_t b = 0; b < im->mcu_blocks; b++) {
            const int c = im->block_component[b];
            int last = 0;
            if (active) {
                copy_async_wait();
                in.available = in.requested;
                if (good) {
                    int dc = c == 0 ? dc0 : c == 1 ? dc1 : dc2;
                    last = decode_block(in, s, c > 0, dc, coef + lane, good);
                    if (c == 0) dc0 = dc;
                    else if (c == 1) dc1 = dc;
                    else dc2 = dc;
                }
                in.request();
            }
            __syncwarp();
            const int most = __reduce_max_sync(0xffffffffu, last);
            if (most < 10) idct_block<4>(coef + lane, s->quant[c], shared_address(coef), lane);
            else idct_block<8>(coef + lane, s->quant[c], shared_address(coef), lane);
            __syncwarp();
            store_blocks((const uint8_t *)coef, g.scratch, active ? stk_hd_block_at(im, segment, m, b) : UINT64_MAX, lane);
            __syncwarp();
            const int used = max(most, 15); /* the stage covers the first 16 positions */
            for (int i = lane; i < (used + 1) * 8; i += 32) ((int4 *)coef)[i] = make_int4(0, 0, 0, 0);
            __syncwarp();
        }
    if (!active) return;
    copy_async_wait();
    uint64_t bit = in.bit(), end = (uint64_t)end_byte * 8;
    if (!good || bit > end || end - bit > 7) g.status[im->entry] = 1;
}

} // namespace stk

#endif
