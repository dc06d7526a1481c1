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
#include "gpu_upload/cuda/stages.cuh"

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

/* A lane's place in its segment. Offsets count bytes from a 16-byte aligned base. `place` is two things in one word, so
 * that one addition advances both: bits 0-5 the bits of w0 that are used (32 and more: a word is due), from bit 7 on the
 * shared address of the row of coefficients to be written next. */
struct Lane {
    const uint8_t *base;
    uint32_t ring;       /* shared address */
    uint32_t w0, w1, w2; /* 64 bits at hand and, not yet turned to big-endian, the 32 after them */
    uint32_t place;
    uint32_t off, limit; /* next word to load; greatest place that may be read */
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
    __device__ __forceinline__ void begin(const uint8_t *aligned, uint32_t first_byte, uint32_t end)
    {
        base = aligned;
        limit = end;
        place = (first_byte & 3) * 8;
        off = min(first_byte & ~3u, limit);
        requested = off & ~15u;
        request();
        copy_async_wait();
        available = requested;
        w0 = big_endian(load_shared(ring | (off & (RING - 1))));
        w1 = big_endian(load_shared(ring | (off + 4 & (RING - 1))));
        w2 = load_shared(ring | (off + 8 & (RING - 1)));
        off = min(off + 12, limit);
    }
    /* The next 32 bits. Shifts by funnel take their amount modulo 32. */
    __device__ __forceinline__ uint32_t window() const { return __funnelshift_l(w1, w0, place); }
    __device__ __forceinline__ void advance(uint32_t entry)
    {
        place += entry >> 16;
        const uint32_t due = place & 32;
        if (due) {
            place -= 32;
            w0 = w1;
            w1 = big_endian(w2);
        }
        /* From the ring; from memory where a block was longer than that. Predicated: a branch costs more. */
        asm volatile("{ .reg .pred p, q, r; .reg .u64 g; setp.ne.u32 p, %1, 0; setp.lt.and.u32 q, %2, %3, p; "
                     "setp.ge.and.u32 r, %2, %3, p; @q ld.shared.u32 %0, [%4]; cvt.u64.u32 g, %2; add.u64 g, g, %5; "
                     "@r ld.global.nc.u32 %0, [g]; }"
                     : "+r"(w2)
                     : "r"(due), "r"(off), "r"(available), "r"(ring | (off & (RING - 1))), "l"(base)
                     : "memory");
        if (due) off = min(off + 4, limit);
    }
    /* Bits from the base to the next unread one. */
    __device__ __forceinline__ uint64_t bit() const { return (uint64_t)(off - 12) * 8 + (place & 31); }
};

/* The value behind a code (stk_hd_extend). Undefined when the entry has none. */
__device__ __forceinline__ int value_of(uint32_t window, uint32_t entry)
{
    const uint32_t x = __funnelshift_l(0, window, entry), down = entry >> 5;
    int v = (int)__funnelshift_r(x, 0, down);
    if ((int)x >= 0) v -= (int)__funnelshift_r(0xffffffffu, 0, down);
    return v;
}

/* One block of a lane into its coefficients ([zigzag][lane], from shared address `coef` on, `mine` the lane's in the
 * first row); dequantised later. Returns the last position written, and clears `good` where the bits are invalid. */
__device__ __forceinline__ int decode_block(Lane &lane, const DecodeTables *s, int chroma, int &dc, uint32_t coef,
                                            uint32_t mine, bool &good)
{
    const uint32_t end = coef + 64 * 128, last = end - 128 + mine;
    lane.place = (lane.place & 31) | coef;
    uint32_t window = lane.window(), e = s->dc[chroma][window >> (32 - STK_HD_DC_BITS)];
    if (__builtin_expect(e == 0, 0))
        e = fast_entry(stk_hd_slow_entry(&s->longs[chroma * 2], s->dc_symbols[chroma], 0, window, STK_HD_DC_BITS));
    if (e & FAST_VALUE) dc += value_of(window, e);
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(coef + mine), "r"(dc) : "memory");
    if (e == 0) {
        good = false;
        return 0;
    }
    lane.advance(e);
    while (lane.place < end) {
        window = lane.window();
        e = s->ac[chroma][window >> (32 - STK_HD_AC_BITS)];
        if (__builtin_expect(e == 0, 0)) {
            e = fast_entry(stk_hd_slow_entry(&s->longs[chroma * 2 + 1], s->ac_symbols[chroma], 1, window, STK_HD_AC_BITS));
            if (e == 0) break;
        }
        const int v = value_of(window, e);
        lane.advance(e);
        if (e & FAST_VALUE) {
            /* Bits may be corrupt: never past the last row. */
            const uint32_t at = min((lane.place & ~127u) + mine - 128, last);
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory");
        }
    }
    int row = (int)((lane.place - coef) >> 7);
    if (e & FAST_END) row -= 64;
    else if (row != 64) good = false;
    return min(row - 1, 63);
}

/* Four row sums of the second pass (which hold 128 and the rounding) to four bytes. */
__device__ __forceinline__ uint32_t samples4(int a, int b, int c, int d)
{
    uint32_t high, all;
    a >>= STK_HD_ROW_SHIFT;
    b >>= STK_HD_ROW_SHIFT;
    c >>= STK_HD_ROW_SHIFT;
    d >>= STK_HD_ROW_SHIFT;
    #if __CUDA_ARCH__ >= 720
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(d), "r"(c), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(high));
    #else
    high = (uint32_t)stk_hd_clip8(d) << 8 | stk_hd_clip8(c);
    all = high << 16 | (uint32_t)stk_hd_clip8(b) << 8 | stk_hd_clip8(a);
    #endif
    return all;
}

/* Inverse DCT of this lane's block, of which only the first N rows and columns of coefficients are not zero. The 64
 * bytes go to the warp's stage, 16-byte pieces swizzled against bank conflicts. */
template <int N> __device__ __forceinline__ void idct_block(const int *coef, const int4 *quant, uint32_t stage, int lane)
{
    int w[8][N];
    #pragma unroll
    for (int c = 0; c < N; c++) {
        const int4 low = quant[c * 2], high = quant[c * 2 + 1];
        const int q[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        int in[8], o[8];
        #pragma unroll
        for (int r = 0; r < 8; r++) in[r] = r < N ? stk_hd_times(coef[zigzag(r * 8 + c) * 32], q[r]) : 0;
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
            stk_hd_idct_1d(in, o, (128 << STK_HD_ROW_SHIFT) + (1 << (STK_HD_ROW_SHIFT - 1)));
            u[2 * i] = samples4(o[0], o[1], o[2], o[3]);
            u[2 * i + 1] = samples4(o[4], o[5], o[6], o[7]);
        }
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(stage + lane * 64 + ((h ^ (lane >> 1 & 3)) << 4)),
                     "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3])
                     : "memory");
    }
}

/* The stage's 32 blocks to the blocks of the scratch that their lanes say, four lanes a block. */
constexpr uint32_t NOWHERE = 0xffffffffu;
__device__ __forceinline__ void store_blocks(const uint8_t *stage, uint8_t *scratch, uint32_t to, int lane)
{
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        int b = i * 8 + (lane >> 2), piece = lane & 3;
        uint32_t at = __shfl_sync(0xffffffffu, to, b);
        uint4 v = *(const uint4 *)(stage + b * 64 + ((piece ^ (b >> 1 & 3)) << 4));
        if (at != NOWHERE) *(uint4 *)(scratch + (uint64_t)at * 64 + piece * 16) = v;
    }
}

/* The first block of segment s's tile in a component's plane, in blocks of the scratch. */
__device__ __forceinline__ uint32_t tile_block(const stk_gpu_image *im, uint32_t row, uint32_t tile, int c)
{
    return (uint32_t)(im->planes[c].at >> 6) + row * im->v[c] * im->planes[c].block_stride + tile * im->tile_mcus * im->h[c];
}

/* Places a lane at its segment; returns the segment's end, in bytes from the lane's base. */
__device__ __forceinline__ uint32_t begin_segment(Lane &in, const stk_gpu_group &g, const stk_gpu_image *im, uint32_t offset,
                                                  uint32_t length)
{
    const uint8_t *buffer = im->resident ? g.resident : g.bytes;
    uint64_t size = (im->resident ? g.resident_size : g.bytes_size), base = im->segments & ~(uint64_t)15;
    uint32_t skew = (uint32_t)(im->segments & 15);
    uint64_t room = size - base + 32; /* the back end's buffers have this much slack and more */
    uint32_t limit = (uint32_t)(room < 0xfffffff0u ? room : 0xfffffff0u) & ~15u;
    in.begin(buffer + base, offset + skew, limit);
    return offset + length + skew;
}

__global__ void __launch_bounds__(STK_GPU_SEGMENTS_PER_ITEM, 4) decode_fast(const stk_gpu_group g)
{
    #if __CUDA_ARCH__ >= 800 /* before that the kernel is there by name only, and never launched */
    extern __shared__ __align__(128) uint8_t memory[];
    if (blockIdx.x >= g.n_decode_items) {
        prepare_image(g, g.images + (blockIdx.x - g.n_decode_items));
        return;
    }
    const stk_gpu_item item = g.decode_items[blockIdx.x];
    const stk_gpu_image *im = g.images + item.image;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int *coef = (int *)(memory + warp * COEF_BYTES);
    uint8_t *rings = memory + WARPS * COEF_BYTES;
    DecodeTables *s = (DecodeTables *)(rings + WARPS * 32 * RING);
    const stk_gather_tables *t = (const stk_gather_tables *)((im->resident ? g.resident : g.bytes) + im->tables);
    const uint32_t *offsets = (const uint32_t *)(t + 1);
    const uint16_t *lengths = (const uint16_t *)(offsets + im->n_listed);
    order_segments(s, im, lengths, item.first, item.n);
    build_tables(s, t, im);

    if (warp * 32u >= item.n) return; /* whole warps only: no barrier of the block follows */
    const uint32_t within = s->order[threadIdx.x], segment = item.first + within;
    const bool active = within < item.n;
    bool good = true;
    Lane in = {};
    uint32_t end_byte = 0;
    in.ring = shared_address(rings + threadIdx.x * RING);
    const uint32_t listed = active ? stk_hd_listed(im, segment) : 0;
    if (active) end_byte = begin_segment(in, g, im, offsets[listed], lengths[listed]);
    const uint32_t row = segment / im->n_tiles, tile = segment % im->n_tiles;
    const uint32_t to0 = tile_block(im, row, tile, 0), to1 = tile_block(im, row, tile, 1), to2 = tile_block(im, row, tile, 2);
    const uint32_t coef_at = shared_address(coef), mine = lane * 4, n_mcus = im->tile_mcus, n_blocks = im->mcu_blocks;
    int dc0 = 0, dc1 = 0, dc2 = 0;
    for (int i = lane; i < COEF_BYTES / 16; i += 32) ((int4 *)coef)[i] = make_int4(0, 0, 0, 0);
    __syncwarp();
    for (uint32_t m = 0; m < n_mcus; m++)
        for (uint32_t b = 0; b < n_blocks; b++) {
            const BlockInfo info = s->blocks[b];
            const uint32_t c = info.component;
            int last = 0;
            if (active) {
                copy_async_wait();
                in.available = in.requested;
                if (good) {
                    int dc = c == 0 ? dc0 : c == 1 ? dc1 : dc2;
                    last = decode_block(in, s, c > 0, dc, coef_at, mine, good);
                    if (c == 0) dc0 = dc;
                    else if (c == 1) dc1 = dc;
                    else dc2 = dc;
                }
                in.request();
            }
            __syncwarp();
            const int most = __reduce_max_sync(0xffffffffu, last);
            if (most < 10) idct_block<4>(coef + lane, s->quant[c], coef_at, lane);
            else idct_block<8>(coef + lane, s->quant[c], coef_at, lane);
            __syncwarp();
            const uint32_t to = (c == 0 ? to0 : c == 1 ? to1 : to2) + info.offset + m * info.step;
            store_blocks((const uint8_t *)coef, g.scratch, active ? to : NOWHERE, lane);
            __syncwarp();
            const int used = max(most, 15); /* the stage covers the first 16 positions */
            for (int i = lane; i < (used + 1) * 8; i += 32) ((int4 *)coef)[i] = make_int4(0, 0, 0, 0);
            __syncwarp();
        }
    if (!active) return;
    copy_async_wait();
    uint64_t bit = in.bit(), end = (uint64_t)end_byte * 8;
    if (!good || bit > end || end - bit > 7) say_bad(g, im);
    #endif
}

} // namespace stk

#endif
