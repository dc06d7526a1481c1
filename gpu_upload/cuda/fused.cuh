/* SPDX-License-Identifier: Apache-2.0
 *
 * The common way from planes to the tensor, in two kernels that never store a whole picture (gpu_batch.h, stk_gpu_fused):
 *   front  a strip of eight lines: colour into shared memory, the first pass out of it, words of four lines to memory
 *   back   the second pass over those words, then flip, table and layout, staged so that whole words leave
 * The arithmetic is stages.cuh's; only sums of products are taken four taps at a time (dp4a), with the weights split
 * into three digits (stk_hd_axis_digits), which is exact in 32 bits. Lines are rows, or columns where the vertical
 * pass comes first: the same code then works on the picture turned over its diagonal. */
#ifndef STK_CUDA_FUSED_CUH
#define STK_CUDA_FUSED_CUH

#include "gpu_upload/cuda/color8.cuh"
#include "gpu_upload/cuda/stages.cuh"

namespace stk {

constexpr int FRONT_THREADS = 224;
constexpr int LINES = STK_GPU_STRIP_LINES;

/* Bytes of a line in shared memory: 48 more than a multiple of 128, so that eight lines of three channels lie in
 * different banks. */
__host__ __device__ __forceinline__ uint32_t front_stride(uint32_t bytes) { return (bytes + 79) / 128 * 128 + 48; }
__host__ __device__ __forceinline__ size_t front_shared(uint32_t bytes) { return (size_t)front_stride(bytes) * LINES * 3; }

/* Four unsigned bytes times four digits, added to c. */
template <bool POSITIVE> __device__ __forceinline__ int dot4(uint32_t bytes, uint32_t digits, int c)
{
    #if __CUDA_ARCH__ >= 610
    int r;
    if (POSITIVE) asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(bytes), "r"(digits), "r"(c));
    else asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(bytes), "r"(digits), "r"(c));
    return r;
    #else
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t d = digits >> (8 * i) & 255;
        c += (int)((bytes >> (8 * i) & 255) * (POSITIVE ? d : (uint32_t)(int)(int8_t)d));
    }
    return c;
    #endif
}

/* As operands from constant memory these keep the recombination on the multiplier's pipe. */
__constant__ int DIGIT_WEIGHTS[2] = {256, 65536};

/* A sum in three parts, by digit. */
template <bool POSITIVE> struct Sum {
    int a, b, c;
    __device__ __forceinline__ void begin()
    {
        a = POSITIVE ? STK_HD_ROUND << 2 : STK_HD_ROUND;
        b = c = 0;
    }
    __device__ __forceinline__ void add(uint32_t bytes, const uint4 &d)
    {
        a = dot4<POSITIVE>(bytes, d.x, a);
        b = dot4<POSITIVE>(bytes, d.y, b);
        c = dot4<POSITIVE>(bytes, d.z, c);
    }
    __device__ __forceinline__ int total() const { return c * DIGIT_WEIGHTS[1] + (b * DIGIT_WEIGHTS[0] + a); }
    __device__ __forceinline__ uint32_t byte() const
    {
        return POSITIVE ? (uint32_t)total() >> 24 : (uint32_t)stk_hd_result(total());
    }
};

template <bool POSITIVE> __device__ __forceinline__ uint32_t pack_totals(int a, int b, int c, int d)
{
    if (POSITIVE) return __byte_perm(__byte_perm(a, b, 0x0073), __byte_perm(c, d, 0x0073), 0x5410);
    return pack4(stk_hd_result(a), stk_hd_result(b), stk_hd_result(c), stk_hd_result(d));
}

__device__ __forceinline__ uint32_t shared_word(uint32_t at)
{
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at));
    return v;
}

/* Rows of pictures without subsampling, the common case: two groups of eight pixels at a time. */
__device__ __forceinline__ void color_rows_plain(const stk_gpu_image *im, const Planes &p, int line0, int n, uint8_t *lines,
                                                 uint32_t stride)
{
    const stk_gpu_fused *f = &im->fused;
    const int first = (im->crop_x - im->planes[0].x0 - f->lead) / 8, total = (f->lead + (int)f->line + 7) / 8 * LINES;
    const int y = im->crop_y + line0 - im->planes[0].y0;
    for (int i = threadIdx.x; i < total; i += 2 * FRONT_THREADS) {
        uint2 v[2][3];
        bool here[2];
        #pragma unroll
        for (int k = 0; k < 2; k++) {
            const int j = i + k * FRONT_THREADS;
            here[k] = j < total && (j & 7) < n;
            if (here[k]) load8(p, first + (j >> 3), y + (j & 7), v[k]);
        }
        #pragma unroll
        for (int k = 0; k < 2; k++) {
            const int j = i + k * FRONT_THREADS;
            uint2 rgb[3];
            if (!here[k]) continue;
            color8_of(v[k], rgb);
            uint8_t *to = lines + (j & 7) * 3 * stride + (j >> 3) * 8;
            #pragma unroll
            for (int c = 0; c < 3; c++) *(uint2 *)(to + c * stride) = rgb[c];
        }
    }
}

/* Colour of the strip's lines into lines[line][channel]. Whole blocks of eight pixels: rows. */
__device__ __forceinline__ void color_rows(const stk_gpu_image *im, const Planes &p, int line0, int n, uint8_t *lines, uint32_t stride)
{
    const stk_gpu_fused *f = &im->fused;
    const int first = im->crop_x - im->planes[0].x0 - f->lead, groups = (f->lead + (int)f->line + 7) / 8;
    for (int i = threadIdx.x; i < groups * LINES; i += FRONT_THREADS) {
        const int r = i & 7, k = i >> 3;
        if (r >= n) continue;
        uint2 rgb[3];
        color8(p, first / 8 + k, im->crop_y + line0 + r - im->planes[0].y0, rgb);
        uint8_t *to = lines + r * 3 * stride + k * 8;
        *(uint2 *)to = rgb[0];
        if (p.method == COLOR8_GREY) continue;
        *(uint2 *)(to + stride) = rgb[1];
        *(uint2 *)(to + 2 * stride) = rgb[2];
    }
}

/* The same for columns: line r is column r of the block. */
__device__ __forceinline__ void color_columns(const stk_gpu_image *im, const Planes &p, int line0, uint8_t *lines, uint32_t stride)
{
    const int block = (im->crop_x + line0 - im->planes[0].x0) / 8, y0 = im->crop_y - im->planes[0].y0;
    const int channels = p.method == COLOR8_GREY ? 1 : 3;
    for (int y = threadIdx.x; y < (int)im->fused.line; y += FRONT_THREADS) {
        uint2 rgb[3];
        color8(p, block, y0 + y, rgb);
        #pragma unroll
        for (int c = 0; c < 3; c++) {
            if (c >= channels) continue;
            #pragma unroll
            for (int r = 0; r < LINES; r++)
                lines[(r * 3 + c) * stride + y] = (uint8_t)((r < 4 ? rgb[c].x : rgb[c].y) >> (8 * (r & 3)));
        }
    }
}

/* Any other source, pixel by pixel. */
__device__ __noinline__ void color_pixels(const stk_gpu_group &g, const stk_gpu_image *im, int line0, int n, uint8_t *lines,
                                             uint32_t stride)
{
    const stk_gpu_fused *f = &im->fused;
    const uint8_t *rows = im->kind == 2 ? (im->resident ? g.resident : g.bytes) + im->raw : nullptr;
    for (int i = threadIdx.x; i < (int)f->line * n; i += FRONT_THREADS) {
        const int r = i / (int)f->line, k = i - r * (int)f->line;
        stk_hd_color(im, rows, g.scratch, f->across ? line0 + r : k, f->across ? k : line0 + r,
                     lines + r * 3 * stride + k, stride);
    }
}

/* Where an output's taps begin and, where there are few, their digits: a thread's, kept while it works on one image. */
struct Taps {
    int first;
    uint4 digits[2];
};

__device__ __forceinline__ Taps load_taps(const stk_gpu_image *im, const int32_t *axes, uint32_t x)
{
    const stk_hd_axis *a = &im->fused.first;
    const int32_t *table = axes + a->at;
    const uint32_t n = a->n_out, quads = stk_hd_axis_quads(a->n_taps);
    const uint4 *digits = (const uint4 *)(table + stk_hd_axis_digits_at(n, a->n_taps));
    Taps t = {};
    if (x >= n) return t;
    t.first = __ldg(table + x) + im->fused.lead;
    if (quads <= 2) {
        t.digits[0] = __ldg(digits + x);
        if (quads == 2) t.digits[1] = __ldg(digits + n + x);
    }
    return t;
}

/* The first pass: a thread is one output of all eight lines, channel by channel. QUADS: words of taps, 0 = any. */
template <bool POSITIVE, int QUADS>
__device__ __forceinline__ void first_pass(const stk_gpu_image *im, const int32_t *axes, uint8_t *scratch, uint32_t strip,
                                           uint32_t lines, uint32_t stride, Taps taps)
{
    const stk_hd_axis *a = &im->fused.first;
    const int32_t *table = axes + a->at;
    const uint32_t n = a->n_out, quads = QUADS ? QUADS : stk_hd_axis_quads(a->n_taps), channels = im->picture_channels;
    const uint4 *digits = (const uint4 *)(table + stk_hd_axis_digits_at(n, a->n_taps));
    uint32_t *middle = (uint32_t *)(scratch + im->fused.middle) + (uint64_t)strip * 2 * channels * n;
    for (uint32_t x = threadIdx.x; x < n; x += FRONT_THREADS) {
        if (x >= FRONT_THREADS) taps = load_taps(im, axes, x);
        const int first = taps.first, turn = (first & 3) * 8;
        for (uint32_t c = 0; c < channels; c++) {
            const uint32_t at = lines + c * stride + (first & ~3);
            int t[LINES];
            #pragma unroll
            for (int h = 0; h < LINES; h += 4) {
                Sum<POSITIVE> s[4];
                uint32_t before[4];
                #pragma unroll
                for (int r = 0; r < 4; r++) {
                    s[r].begin();
                    before[r] = shared_word(at + (h + r) * 3 * stride);
                }
                #pragma unroll
                for (uint32_t q = 0; q < (QUADS ? QUADS : quads); q++) {
                    const uint4 w = QUADS ? taps.digits[QUADS ? q : 0] : __ldg(digits + q * n + x);
                    #pragma unroll
                    for (int r = 0; r < 4; r++) {
                        const uint32_t next = shared_word(at + (h + r) * 3 * stride + q * 4 + 4);
                        s[r].add(__funnelshift_r(before[r], next, turn), w);
                        before[r] = next;
                    }
                }
                #pragma unroll
                for (int r = 0; r < 4; r++) t[h + r] = s[r].total();
            }
            middle[c * n + x] = pack_totals<POSITIVE>(t[0], t[1], t[2], t[3]);
            middle[(channels + c) * n + x] = pack_totals<POSITIVE>(t[4], t[5], t[6], t[7]);
        }
    }
}

template <bool POSITIVE>
__device__ __forceinline__ void first_pass_of(const stk_gpu_image *im, const stk_gpu_group &g, uint32_t strip, uint32_t lines,
                                              uint32_t stride, const Taps &taps)
{
    const uint32_t quads = stk_hd_axis_quads(im->fused.first.n_taps);
    if (quads == 1) first_pass<POSITIVE, 1>(im, g.axes, g.scratch, strip, lines, stride, taps);
    else if (quads == 2) first_pass<POSITIVE, 2>(im, g.axes, g.scratch, strip, lines, stride, taps);
    else first_pass<POSITIVE, 0>(im, g.axes, g.scratch, strip, lines, stride, taps);
}

constexpr uint32_t MOST_STRIPS = 4;

/* Strips of a block: more save set-up, fewer fill the device better. */
inline uint32_t strips_each(uint32_t strips)
{
    const uint32_t each = strips / 1600 + 1;
    return each < MOST_STRIPS ? each : MOST_STRIPS;
}

/* What a block knows of the image that it works on. */
struct FrontImage {
    stk_gpu_image image;
    Planes planes;
};

__device__ __forceinline__ void front_image(FrontImage *to, const stk_gpu_group &g, uint32_t number)
{
    for (int k = threadIdx.x; k < (int)(sizeof to->image / 4); k += FRONT_THREADS)
        ((uint32_t *)&to->image)[k] = ((const uint32_t *)(g.images + number))[k];
    __syncthreads();
    if (threadIdx.x == 0) to->planes.set(&to->image, g.scratch);
    __syncthreads();
}

__device__ __forceinline__ void front_color(const FrontImage *of, const stk_gpu_group &g, uint32_t strip, uint8_t *lines)
{
    const stk_gpu_image *im = &of->image;
    const stk_gpu_fused *f = &im->fused;
    const int line = (int)strip * LINES, n = min(LINES, (int)f->n_lines - line), line0 = f->line0 + line;
    const uint32_t stride = front_stride(f->line_bytes);
    if (!f->words) color_pixels(g, im, line0, n, lines, stride);
    else if (f->across) color_columns(im, of->planes, line0, lines, stride);
    else if (of->planes.method == COLOR8_NONE) color_rows_plain(im, of->planes, line0, n, lines, stride);
    else color_rows(im, of->planes, line0, n, lines, stride);
}

__device__ __forceinline__ void front_pass(const FrontImage *of, const stk_gpu_group &g, uint32_t strip, const uint8_t *lines, const Taps &taps)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(lines), stride = front_stride(of->image.fused.line_bytes);
    if (stk_hd_positive(of->image.fused.first.filter)) first_pass_of<true>(&of->image, g, strip, at, stride, taps);
    else first_pass_of<false>(&of->image, g, strip, at, stride, taps);
}

/* A block takes `each` strips of the list [first, end), mostly of one image. Room for two strips, so that one's colour
 * goes beside the other's pass, was no faster. */
__global__ void __launch_bounds__(FRONT_THREADS, 4) front(const stk_gpu_group g, uint32_t first, uint32_t end, uint32_t each)
{
    extern __shared__ __align__(128) uint8_t memory[];
    __shared__ __align__(16) FrontImage shared;
    __shared__ stk_gpu_strip strips[MOST_STRIPS];
    const uint32_t begin = first + blockIdx.x * each, n = min(each, end - begin);
    uint32_t image = 0xffffffffu;
    Taps taps = {};
    if (threadIdx.x < n) strips[threadIdx.x] = g.strips[begin + threadIdx.x];
    #pragma unroll 1
    for (uint32_t i = 0; i < n; i++) {
        __syncthreads(); /* the list is there; the last pass is over */
        const stk_gpu_strip strip = strips[i];
        if (strip.image != image) {
            image = strip.image;
            front_image(&shared, g, image);
            taps = load_taps(&shared.image, g.axes, threadIdx.x);
        }
        front_color(&shared, g, strip.strip, memory);
        __syncthreads();
        front_pass(&shared, g, strip.strip, memory, taps);
    }
}

/* ---- Back. */

constexpr int BACK_THREADS = 224;
constexpr int BACK_LINES = 16; /* output lines of a block, at most */
constexpr int BACK_QUADS = 2;  /* words of taps whose digits are kept in shared memory */

__host__ __device__ __forceinline__ uint32_t back_pitch(uint32_t n, uint32_t bytes) { return n * bytes + 4; }
__host__ __device__ __forceinline__ size_t back_shared(const stk_gpu_output *o, uint32_t lines, uint32_t size)
{
    return (size_t)(o->width > o->height ? o->width : o->height) * o->channels * back_pitch(lines, size) + 64;
}
/* Output lines of a block: all channels' must fit into 40 KB beside the tables. */
inline uint32_t back_lines(const stk_gpu_output *o, uint32_t size)
{
    uint32_t n = BACK_LINES;
    while (n > 4 && back_shared(o, n, size) > 40u << 10) n /= 2;
    return n;
}

/* Where a pixel goes in the staging memory, and how that leaves: `rows` runs of `run` bytes, `pitch` apart there, which
 * go to `to + row * step`. */
struct Stage {
    uint32_t thread, output, channel; /* bytes from one to the next */
    uint32_t rows, run, pitch;
    uint64_t step;
};

/* n output lines from k0 on. */
template <typename T> __device__ __forceinline__ Stage stage_of(const stk_gpu_output *o, bool across, uint32_t n, uint32_t most)
{
    const bool last = o->layout == 0; /* channels last */
    const uint32_t s = sizeof(T), pixel = last ? o->channels * s : s;
    Stage v;
    if (!across) {
        v.thread = pixel;
        v.output = o->width * pixel;
        v.channel = last ? s : n * o->width * s;
        v.rows = last ? 1 : o->channels;
        v.run = v.pitch = n * o->width * pixel;
        v.step = (uint64_t)o->width * o->height * s;
    } else {
        v.pitch = back_pitch(most, pixel);
        v.thread = v.pitch;
        v.output = pixel;
        v.channel = last ? s : o->height * v.pitch;
        v.rows = last ? o->height : o->channels * o->height;
        v.run = n * pixel;
        v.step = (uint64_t)o->width * pixel;
    }
    return v;
}

/* The staged elements to the image. */
__device__ __forceinline__ void leave(const Stage &v, const uint8_t *stage, uint8_t *to)
{
    if (v.pitch == v.run && (((uint64_t)(uintptr_t)to | v.run | v.step) & 15) == 0) {
        const uint32_t words = v.run / 16;
        for (uint32_t r = 0; r < v.rows; r++)
            for (uint32_t i = threadIdx.x; i < words; i += BACK_THREADS)
                ((uint4 *)(to + r * v.step))[i] = ((const uint4 *)(stage + r * v.pitch))[i];
        return;
    }
    const uint32_t words = v.run / 4;
    for (uint32_t i = threadIdx.x; i < words * v.rows; i += BACK_THREADS) {
        const uint32_t r = i / words, k = i - r * words;
        ((uint32_t *)(to + r * v.step))[k] = *(const uint32_t *)(stage + r * v.pitch + k * 4);
    }
}

/* Where an output's taps begin among the middle's words. */
struct Step {
    uint32_t word, turn;
};

/* What the outputs of a block share. */
struct BackBlock {
    const uint32_t *middle;   /* word 0, channel 0, output 0 */
    const uint4 *digits;      /* of the block's first output; the next quad is n_out further */
    uint32_t n_in, n_out, quads, n; /* outputs of the first pass; of the second; words of taps; outputs here */
    uint32_t channels;        /* of the output */
    bool flip, across, swap;
};

/* A word of taps a quad and one more, of CH channels, kept while the outputs move along; and the next one, asked for
 * before it is needed. QUADS = 0: any number, nothing kept. */
template <int CH, int QUADS> struct Window {
    uint32_t w[CH][QUADS + 2], word;
    __device__ __forceinline__ void load(const uint32_t *column, const BackBlock &b, uint32_t at)
    {
        word = at;
        #pragma unroll
        for (int c = 0; c < CH; c++)
            #pragma unroll
            for (int q = 0; q < QUADS + 2; q++) w[c][q] = __ldg(column + ((at + q) * CH + c) * b.n_in);
    }
    __device__ __forceinline__ void move(const uint32_t *column, const BackBlock &b, uint32_t at)
    {
        if (at == word) return;
        if (at != word + 1) {
            load(column, b, at);
            return;
        }
        word = at;
        #pragma unroll
        for (int c = 0; c < CH; c++) {
            #pragma unroll
            for (int q = 0; q < QUADS + 1; q++) w[c][q] = w[c][q + 1];
            w[c][QUADS + 1] = __ldg(column + ((at + QUADS + 1) * CH + c) * b.n_in);
        }
    }
};

/* The second pass of one output and channel with any number of taps. */
template <bool POSITIVE>
__device__ __forceinline__ uint32_t second_pass_any(const uint32_t *middle, uint32_t word_step, uint32_t turn, const BackBlock &b,
                                                    uint32_t k)
{
    Sum<POSITIVE> s;
    s.begin();
    uint32_t before = __ldg(middle);
    for (uint32_t q = 0; q < b.quads; q++) {
        middle += word_step;
        const uint32_t next = __ldg(middle);
        s.add(__funnelshift_r(before, next, turn), __ldg(b.digits + q * b.n_out + k));
        before = next;
    }
    return s.byte();
}

/* A thread is an output of the first pass; it makes all outputs of the block's stretch of the second. */
template <typename T, bool U8, bool POSITIVE, int CH, int QUADS>
__device__ __forceinline__ void back_block(const BackBlock &b, const Stage &v, uint8_t *stage, const T *table, const Step *steps,
                                           const uint4 (*kept)[BACK_QUADS])
{
    for (uint32_t i = threadIdx.x; i < b.n_in; i += BACK_THREADS) {
        const uint32_t *column = b.middle + i;
        const int step = b.flip && b.across ? -(int)v.output : (int)v.output;
        uint8_t *to = stage + (b.flip && !b.across ? b.n_in - 1 - i : i) * v.thread + (step < 0 ? (b.n - 1) * v.output : 0);
        Window<CH, QUADS> window;
        if (QUADS) window.load(column, b, steps[0].word);
        for (uint32_t k = 0; k < b.n; k++, to += step) {
            const Step st = steps[k];
            uint32_t byte[3];
            if (QUADS) window.move(column, b, st.word);
            #pragma unroll
            for (int c = 0; c < CH; c++) {
                if (QUADS == 0) {
                    byte[c] = second_pass_any<POSITIVE>(column + (st.word * CH + c) * b.n_in, CH * b.n_in, st.turn, b, k);
                    continue;
                }
                Sum<POSITIVE> s;
                s.begin();
                #pragma unroll
                for (int q = 0; q < QUADS; q++)
                    s.add(__funnelshift_r(window.w[c][q], window.w[c][q + 1], st.turn), kept[k][q]);
                byte[c] = s.byte();
            }
            if (CH == 1) byte[1] = byte[2] = byte[0];
            #pragma unroll
            for (int c = 0; c < 3; c++) {
                if (CH == 1 && c >= (int)b.channels) continue;
                const uint32_t p = b.swap ? byte[2 - c] : byte[c];
                *(T *)(to + c * v.channel) = U8 ? (T)p : table[c * 256 + p];
            }
        }
    }
}

template <typename T, bool U8, bool POSITIVE, int CH>
__device__ __forceinline__ void back_block_of(const BackBlock &b, const Stage &v, uint8_t *stage, const T *table, const Step *steps,
                                              const uint4 (*kept)[BACK_QUADS])
{
    if (b.quads == 1) back_block<T, U8, POSITIVE, CH, 1>(b, v, stage, table, steps, kept);
    else if (b.quads == 2 && CH == 3) back_block<T, U8, POSITIVE, CH, 2>(b, v, stage, table, steps, kept);
    else back_block<T, U8, POSITIVE, CH, 0>(b, v, stage, table, steps, kept);
}

template <typename T, bool U8> __global__ void __launch_bounds__(BACK_THREADS) back(const stk_gpu_group g, uint32_t lines)
{
    extern __shared__ __align__(128) uint8_t memory[];
    __shared__ T table[U8 ? 1 : 3 * 256];
    __shared__ Step steps[BACK_LINES];
    __shared__ uint4 kept[BACK_LINES][BACK_QUADS];
    const stk_gpu_image *im = g.images + blockIdx.y;
    const stk_gpu_fused *f = &im->fused;
    const uint32_t k0 = blockIdx.x * lines, n_out = f->second.n_out;
    if (!f->on || k0 >= n_out) return;
    const uint32_t n = min(lines, n_out - k0);
    const int32_t *axis = g.axes + f->second.at;
    if (threadIdx.x < n) {
        const uint32_t first = (uint32_t)(__ldg(axis + k0 + threadIdx.x) - f->line0), quads = stk_hd_axis_quads(f->second.n_taps);
        steps[threadIdx.x] = {first >> 2, (first & 3) * 8};
        const uint4 *digits = (const uint4 *)(axis + stk_hd_axis_digits_at(n_out, f->second.n_taps)) + k0 + threadIdx.x;
        #pragma unroll
        for (uint32_t q = 0; q < BACK_QUADS; q++) kept[threadIdx.x][q] = q < quads ? __ldg(digits + q * n_out) : make_uint4(0, 0, 0, 0);
    }
    if (!U8)
        for (int i = threadIdx.x; i < 3 * 256; i += BACK_THREADS) table[i] = ((const T *)g.norm)[i];
    const stk_gpu_output *o = &g.output;
    const bool across = f->across != 0;
    const Stage v = stage_of<T>(o, across, n, lines);
    __syncthreads();
    const BackBlock b = {(const uint32_t *)(g.scratch + f->middle),
                         (const uint4 *)(axis + stk_hd_axis_digits_at(n_out, f->second.n_taps)) + k0,
                         f->first.n_out, n_out, stk_hd_axis_quads(f->second.n_taps), n, o->channels,
                         im->flip != 0, across, o->bgr && o->channels == 3};
    const bool positive = stk_hd_positive(f->second.filter), grey = im->picture_channels == 1;
    if (!grey && positive) back_block_of<T, U8, true, 3>(b, v, memory, table, steps, kept);
    else if (!grey) back_block_of<T, U8, false, 3>(b, v, memory, table, steps, kept);
    else if (positive) back_block_of<T, U8, true, 1>(b, v, memory, table, steps, kept);
    else back_block_of<T, U8, false, 1>(b, v, memory, table, steps, kept);
    __syncthreads();
    if (im->bad) {
        for (uint32_t i = threadIdx.x; i < back_shared(o, lines, sizeof(T)) / 4; i += BACK_THREADS) ((uint32_t *)memory)[i] = 0;
        __syncthreads();
    }
    const uint32_t k = across && im->flip ? o->width - k0 - n : k0, pixel = o->layout == 0 ? o->channels * sizeof(T) : sizeof(T);
    uint8_t *to = g.out + (uint64_t)im->entry * o->image_bytes + (across ? k : (uint64_t)k * o->width) * pixel;
    leave(v, memory, to);
}

} // namespace stk

#endif
