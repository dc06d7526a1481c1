/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes out of the loader: each sample once an epoch, the same pixels for any number of threads, ranks and
 * batch sizes, exact resuming from any cursor, epochs, views, repeats, columns, layouts. */
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 203, SIDE = 24 };

static stk_error error;
static stk_dataset *dataset;

static stk_loader_options options_for(uint32_t batch, uint32_t threads)
{
    stk_loader_options o;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o.transform.out_width = o.transform.out_height = 12;
    o.batch_size = batch;
    o.n_threads = threads;
    o.seed = 5;
    return o;
}

/* Entries of one epoch by (id, occurrence), over all ranks in step. */
static void collect(const stk_loader_options *base, uint32_t world, uint64_t epoch, run_entry *by_id,
                    uint32_t *seen)
{
    for (uint32_t r = 0; r < world; r++) {
        stk_loader_options o = *base;
        o.rank = r;
        o.world = world;
        stk_loader *l = run_loader(dataset, &o);
        CHECK_OK(stk_loader_set_epoch(l, epoch, &error));
        run_log log = {0};
        CHECK(run_batches(l, &log, UINT64_MAX));
        CHECK_EQ(log.batches, stk_loader_len(l));
        for (size_t i = 0; i < log.n; i++) {
            run_entry *e = &log.entries[i];
            CHECK(e->id < N);
            if (e->id >= N || !e->valid) continue;
            seen[e->id]++;
            by_id[e->id] = *e;
        }
        run_free(&log);
        stk_loader_close(&l);
    }
}

/* Threads, ranks and batch sizes change nothing: not which samples come, not one pixel. */
static void same_pixels_everywhere(void)
{
    static const stk_order orders[] = {STK_ORDER_SHUFFLE, STK_ORDER_SEQUENTIAL, STK_ORDER_PAGE};
    static const uint32_t threads[] = {1, 2, 4}, worlds[] = {1, 2, 3, 5}, batches[] = {1, 7, 64, N};
    run_entry reference[N];
    uint32_t seen[N];
    memset(seen, 0, sizeof seen);
    stk_loader_options o = options_for(32, 1);
    collect(&o, 1, 2, reference, seen);
    for (int i = 0; i < N; i++) CHECK_EQ(seen[i], 1);
    for (int k = 0; k < 12; k++) {
        run_entry got[N];
        memset(seen, 0, sizeof seen);
        o = options_for(batches[k % 4], threads[k % 3]);
        o.order = orders[k / 4];
        collect(&o, worlds[(k + k / 4) % 4], 2, got, seen);
        for (int i = 0; i < N; i++) {
            CHECK_EQ(seen[i], 1);
            CHECK(got[i].pixels == reference[i].pixels);
        }
    }
}

/* The loader's pixels are those of the reference path for the same box and flip. */
static void equals_reference(void)
{
    stk_loader_options o = options_for(N, 2);
    o.transform.kind = STK_TRANSFORM_RESIZE;
    o.transform.flip_probability = 0;
    o.order = STK_ORDER_SEQUENTIAL;
    stk_loader *l = run_loader(dataset, &o);
    stk_batch *b;
    CHECK_OK(stk_loader_next(l, -1, &b, &error));
    stk_image_request request;
    stk_image_request_init(&request);
    request.out_width = request.out_height = 12;
    stk_buffer image = {0};
    for (uint32_t i = 0; i < N; i++) {
        uint32_t w, h, c;
        CHECK_OK(stk_dataset_image(dataset, i, &request, &image, &w, &h, &c, &error));
        CHECK(w == 12 && h == 12 && c == 3 && image.n_bytes == b->sample_bytes);
        CHECK(memcmp(image.data, (uint8_t *)b->data + i * b->sample_bytes, image.n_bytes) == 0);
        CHECK_EQ(b->labels[i], i % 10);
        CHECK_EQ(b->ids[i], i);
    }
    stk_buffer_free(&image);
    stk_batch_release(b);
    stk_loader_close(&l);
}

static bool same_entry(const run_entry *a, const run_entry *b)
{
    return a->id == b->id && a->pixels == b->pixels && a->occurrence == b->occurrence && a->valid == b->valid;
}

/* Stop after k batches, save, restore in a new loader: it delivers exactly what the first would have. */
static void resume_everywhere(void)
{
    stk_loader_options o = options_for(20, 2);
    stk_loader *whole = run_loader(dataset, &o);
    run_log all = {0};
    CHECK(run_batches(whole, &all, UINT64_MAX));
    CHECK(run_batches(whole, &all, UINT64_MAX));
    stk_loader_close(&whole);
    uint64_t per_epoch = (N + 19) / 20;
    for (uint64_t stop = 0; stop <= 2 * per_epoch; stop++) {
        char state[STK_STATE_BYTES];
        stk_loader *first = run_loader(dataset, &o), *second = run_loader(dataset, &o);
        run_log log = {0};
        for (uint64_t left = stop; left > 0;) {
            uint64_t before = log.batches;
            bool ended = run_batches(first, &log, left);
            left -= log.batches - before;
            if (ended) continue;
        }
        CHECK_OK(stk_loader_state(first, state, &error));
        stk_loader_close(&first);
        run_batches(second, &(run_log){0}, 0);
        CHECK_OK(stk_loader_restore(second, state, &error));
        char again[STK_STATE_BYTES];
        CHECK_OK(stk_loader_state(second, again, &error));
        CHECK(strcmp(state, again) == 0);
        while (log.n < all.n) (void)run_batches(second, &log, 1);
        CHECK_EQ(log.n, all.n);
        for (size_t i = 0; i < all.n && i < log.n; i++) CHECK(same_entry(&log.entries[i], &all.entries[i]));
        run_free(&log);
        stk_loader_close(&second);
    }
    run_free(&all);
}

/* R ranks stop mid-epoch, R' go on with another batch size: every sample once. */
static void resume_on_another_world(void)
{
    for (uint32_t world = 1; world <= 4; world++) {
        for (uint32_t other = 1; other <= 4; other++) {
            uint32_t seen[N] = {0};
            char state[STK_STATE_BYTES];
            for (int phase = 0; phase < 2; phase++) {
                uint32_t n_ranks = phase == 0 ? world : other;
                for (uint32_t r = 0; r < n_ranks; r++) {
                    stk_loader_options o = options_for(phase == 0 ? 11 : 9, 1);
                    o.rank = r;
                    o.world = n_ranks;
                    stk_loader *l = run_loader(dataset, &o);
                    if (phase == 1) CHECK_OK(stk_loader_restore(l, state, &error));
                    run_log log = {0};
                    bool ended = run_batches(l, &log, phase == 0 ? 3 : UINT64_MAX);
                    CHECK_EQ(ended, phase == 1);
                    /* All ranks have the same state. */
                    char mine[STK_STATE_BYTES];
                    CHECK_OK(stk_loader_state(l, mine, &error));
                    if (phase == 0 && r > 0) CHECK(strcmp(mine, state) == 0);
                    if (phase == 0) memcpy(state, mine, sizeof state);
                    for (size_t i = 0; i < log.n; i++) seen[log.entries[i].id] += log.entries[i].valid;
                    run_free(&log);
                    stk_loader_close(&l);
                }
            }
            for (int i = 0; i < N; i++) CHECK_EQ(seen[i], 1);
        }
    }
}

static void refuse_other_state(const char *state, void (*change)(stk_loader_options *), const char *word)
{
    stk_loader_options o = options_for(20, 1);
    if (change != NULL) change(&o);
    stk_loader *l = run_loader(dataset, &o);
    CHECK_STATUS(stk_loader_restore(l, state, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, word) != NULL);
    run_log log = {0};
    CHECK(!run_batches(l, &log, 1)); /* still usable */
    run_free(&log);
    stk_loader_close(&l);
}

static void other_seed(stk_loader_options *o) { o->seed = 6; }
static void other_order(stk_loader_options *o) { o->order = STK_ORDER_SEQUENTIAL; }
static void other_repeats(stk_loader_options *o) { o->repeats = 2; }
static void other_subset(stk_loader_options *o)
{
    static uint64_t ids[N];
    for (uint64_t i = 0; i < N; i++) ids[i] = i == 0 ? 1 : i;
    o->indices = ids;
    o->n_indices = N;
}

static void refused_states(void)
{
    char state[STK_STATE_BYTES];
    stk_loader_options o = options_for(20, 1);
    stk_loader *l = run_loader(dataset, &o);
    CHECK_OK(stk_loader_state(l, state, &error));
    stk_loader_close(&l);
    refuse_other_state(state, other_seed, "seed");
    refuse_other_state(state, other_order, "order");
    refuse_other_state(state, other_repeats, "number of samples");
    refuse_other_state(state, other_subset, "subset");
    char other[STK_STATE_BYTES];
    snprintf(other, sizeof other, "%s", state);
    char *id = strstr(other, stk_dataset_id(dataset));
    CHECK(id != NULL);
    if (id != NULL) id[0] = id[0] == '0' ? '1' : '0';
    refuse_other_state(other, NULL, "another data set");
    refuse_other_state("", NULL, "not a loader's state");
    refuse_other_state("{\"version\":1}", NULL, "not a loader's state");
    refuse_other_state("[1,2]", NULL, "not a loader's state");
    l = run_loader(dataset, &o);
    CHECK_STATUS(stk_loader_restore(l, "{\"version\":99}", &error), STK_ERR_VERSION);
    stk_loader_close(&l);
}

/* Epochs follow each other; set_epoch jumps; one that is due anyway keeps what is prepared. */
static void epochs(void)
{
    stk_loader_options o = options_for(32, 2);
    stk_loader *l = run_loader(dataset, &o);
    run_log first = {0}, second = {0}, log = {0};
    CHECK(run_batches(l, &first, UINT64_MAX));
    CHECK(run_batches(l, &second, UINT64_MAX));
    CHECK_EQ(first.n, N);
    int same_place = 0;
    for (size_t i = 0; i < N; i++) same_place += first.entries[i].id == second.entries[i].id;
    CHECK(same_place < 12);
    stk_loader_close(&l);

    l = run_loader(dataset, &o);
    CHECK_OK(stk_loader_set_epoch(l, 1, &error));
    CHECK(!run_batches(l, &log, 3)); /* into the middle of epoch 1 */
    CHECK_OK(stk_loader_set_epoch(l, 0, &error));
    run_free(&log);
    CHECK(run_batches(l, &log, UINT64_MAX));
    CHECK_EQ(log.n, N);
    for (size_t i = 0; i < N; i++) CHECK(same_entry(&log.entries[i], &first.entries[i]));
    CHECK_OK(stk_loader_set_epoch(l, 1, &error)); /* as it would be anyway */
    run_free(&log);
    CHECK(run_batches(l, &log, UINT64_MAX));
    for (size_t i = 0; i < N; i++) CHECK(same_entry(&log.entries[i], &second.entries[i]));
    run_free(&log);
    /* Again and again, with workers in the middle of things. */
    for (uint64_t k = 0; k < 200; k++) {
        CHECK_OK(stk_loader_set_epoch(l, k % 2, &error));
        CHECK(!run_batches(l, &log, k % 4));
        for (size_t i = 0; i < log.n; i++)
            CHECK(same_entry(&log.entries[i], k % 2 == 0 ? &first.entries[i] : &second.entries[i]));
        run_free(&log);
    }
    /* set_epoch after the last batch, before its STK_END was fetched, takes the STK_END back. */
    CHECK_OK(stk_loader_set_epoch(l, 0, &error));
    CHECK(!run_batches(l, &log, stk_loader_len(l)));
    CHECK_OK(stk_loader_set_epoch(l, 1, &error));
    run_free(&log);
    CHECK(run_batches(l, &log, UINT64_MAX));
    CHECK_EQ(log.n, N);
    for (size_t i = 0; i < N; i++) CHECK(same_entry(&log.entries[i], &second.entries[i]));
    run_free(&log);
    run_free(&first);
    run_free(&second);
    stk_loader_close(&l);
}

static void batch_fields(void)
{
    for (int last = STK_LAST_KEEP; last <= STK_LAST_PAD; last++) {
        stk_loader_options o = options_for(50, 1);
        o.last = (stk_last)last;
        stk_loader *l = run_loader(dataset, &o);
        CHECK_EQ(stk_loader_len(l), last == STK_LAST_DROP ? 4 : 5);
        for (uint64_t epoch = 0; epoch < 2; epoch++) {
            uint64_t first_ids[50];
            for (uint64_t k = 0; k < stk_loader_len(l); k++) {
                stk_batch *b;
                CHECK_OK(stk_loader_next(l, -1, &b, &error));
                CHECK_EQ(b->epoch, epoch);
                CHECK_EQ(b->index, k);
                CHECK_EQ(b->n, k == 4 && last == STK_LAST_KEEP ? 3 : 50);
                CHECK_EQ(b->n_valid, k == 4 ? 3 : 50);
                CHECK(b->width == 12 && b->height == 12 && b->channels == 3 && b->sample_bytes == 432);
                CHECK((uintptr_t)b->data % 64 == 0);
                if (k == 0) memcpy(first_ids, b->ids, sizeof first_ids);
                for (uint32_t i = b->n_valid; i < b->n; i++) CHECK_EQ(b->ids[i], first_ids[i - 3]);
                stk_batch_release(b);
            }
            stk_batch *b;
            CHECK_STATUS(stk_loader_next(l, -1, &b, &error), STK_END);
            CHECK(b == NULL);
        }
        stk_loader_close(&l);
    }
}

static void views_and_repeats(void)
{
    stk_loader_options o = options_for(10, 2);
    o.n_views = 2;
    o.repeats = 3;
    stk_loader *l = run_loader(dataset, &o);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    CHECK_EQ(log.n, N * 2 * 3);
    uint32_t seen[N] = {0};
    int same_pixels = 0;
    for (size_t i = 0; i < log.n; i += 2) {
        CHECK_EQ(log.entries[i].id, log.entries[i + 1].id);
        CHECK_EQ(log.entries[i].occurrence, log.entries[i + 1].occurrence);
        same_pixels += log.entries[i].pixels == log.entries[i + 1].pixels;
        seen[log.entries[i].id] |= 1u << log.entries[i].occurrence;
    }
    CHECK(same_pixels < 10);
    for (int i = 0; i < N; i++) CHECK_EQ(seen[i], 7);
    run_free(&log);
    stk_loader_close(&l);
}

/* Views 1 and 2 of four are those that a loader of these two alone makes. */
static void further_views(void)
{
    stk_loader_options o = options_for(10, 2), part = options_for(10, 1);
    o.n_views = 4;
    part.n_views = 2;
    part.first_view = 1;
    stk_loader *all = run_loader(dataset, &o), *some = run_loader(dataset, &part);
    run_log log = {0}, part_log = {0};
    CHECK(run_batches(all, &log, UINT64_MAX));
    CHECK(run_batches(some, &part_log, UINT64_MAX));
    CHECK_EQ(log.n, (size_t)N * 4);
    CHECK_EQ(part_log.n, (size_t)N * 2);
    int same_as_first = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t v = 0; v < 2; v++) {
            const run_entry *want = &log.entries[4 * i + 1 + v], *got = &part_log.entries[2 * i + v];
            CHECK(got->id == want->id && got->pixels == want->pixels);
            same_as_first += got->pixels == log.entries[4 * i + v].pixels;
        }
    CHECK(same_as_first < 10);
    run_free(&log);
    run_free(&part_log);
    stk_loader_close(&all);
    stk_loader_close(&some);

    part.first_view = UINT32_MAX / 2;
    CHECK_STATUS(stk_loader_open(dataset, &part, &some, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "first_view") != NULL);
}

static void columns(void)
{
    static const uint32_t wanted[] = {IMAGE_COLUMN_NUMBER, IMAGE_COLUMN_SCORE, IMAGE_COLUMN_BOX};
    stk_loader_options o = options_for(32, 2);
    o.columns = wanted;
    o.n_columns = 3;
    o.n_views = 2;
    stk_loader *l = run_loader(dataset, &o);
    stk_batch *b;
    stk_status status;
    while ((status = stk_loader_next(l, -1, &b, &error)) == STK_OK) {
        CHECK_EQ(b->n_columns, 3);
        const uint32_t *numbers = b->columns[0];
        const float *scores = b->columns[1];
        const int32_t *box = b->columns[2];
        for (uint32_t e = 0; e < b->n; e++) {
            uint64_t id = b->ids[e];
            CHECK_EQ(numbers[e], id);
            CHECK(id % 5 == 3 ? scores[e] != scores[e] : scores[e] == (float)id / 4);
            for (uint32_t k = 0; k < 4; k++) CHECK_EQ(box[e * 4 + k], id + k);
            CHECK_EQ(b->labels[e], id % 10);
        }
        stk_batch_release(b);
    }
    CHECK_EQ(status, STK_END);
    stk_loader_close(&l);
    static const uint32_t text[] = {IMAGE_COLUMN_PATH};
    o.columns = text;
    o.n_columns = 1;
    CHECK_STATUS(stk_loader_open(dataset, &o, &l, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "path") != NULL);
}

/* Floats and planes hold the same pixels as bytes do. */
static void layouts(void)
{
    stk_loader_options o = options_for(N, 2);
    stk_loader *l = run_loader(dataset, &o);
    stk_batch *bytes, *b;
    CHECK_OK(stk_loader_next(l, -1, &bytes, &error));
    for (int k = 0; k < 3; k++) {
        stk_loader_options other = o;
        other.dtype = k == 0 ? STK_DTYPE_U8 : STK_DTYPE_F32;
        other.layout = k == 2 ? STK_LAYOUT_NHWC : STK_LAYOUT_NCHW;
        stk_loader *m = run_loader(dataset, &other);
        CHECK_OK(stk_loader_next(m, -1, &b, &error));
        CHECK_EQ(b->sample_bytes, k == 0 ? 432 : 4 * 432);
        for (uint32_t e = 0; e < N; e++) {
            CHECK_EQ(b->ids[e], bytes->ids[e]);
            const uint8_t *source = (const uint8_t *)bytes->data + e * bytes->sample_bytes;
            for (uint32_t p = 0; p < 144; p++) {
                for (uint32_t c = 0; c < 3; c++) {
                    uint8_t v = source[p * 3 + c];
                    uint32_t at = k == 2 ? p * 3 + c : c * 144 + p;
                    const uint8_t *place = (const uint8_t *)b->data + e * b->sample_bytes;
                    float want = ((float)v / 255.0f - o.mean[c]) / o.std[c];
                    CHECK(k == 0 ? place[at] == v : ((const float *)(const void *)place)[at] == want);
                }
            }
        }
        stk_batch_release(b);
        stk_loader_close(&m);
    }
    stk_batch_release(bytes);
    stk_loader_close(&l);
}

static void weighted(void)
{
    double weights[N];
    for (int i = 0; i < N; i++) weights[i] = i % 2;
    stk_loader_options o = options_for(50, 2);
    o.order = STK_ORDER_WEIGHTED;
    o.weights = weights;
    o.n_draws = 1000;
    stk_loader *l = run_loader(dataset, &o);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    CHECK_EQ(log.n, 1000);
    for (size_t i = 0; i < log.n; i++) {
        CHECK_EQ(log.entries[i].id % 2, 1);
        CHECK_EQ(log.entries[i].occurrence, i);
    }
    /* The same record drawn twice is cropped twice, differently. */
    int pairs = 0, equal = 0;
    for (size_t i = 0; i < log.n; i++)
        for (size_t j = i + 1; j < log.n; j++)
            if (log.entries[i].id == log.entries[j].id) {
                pairs++;
                equal += log.entries[i].pixels == log.entries[j].pixels;
            }
    CHECK(pairs > 1000 && equal * 100 < pairs);
    run_free(&log);
    stk_loader_close(&l);
}

static void sizes_without_transform(void)
{
    const char *path = temporary("mixed.stk");
    stk_shard_writer *writer = image_shard_begin(path);
    static uint8_t payload[64 * 64 * 3];
    for (uint64_t i = 0; i < 40; i++) {
        uint32_t side = i < 20 ? 16 : 24;
        image_fill(i, side, side, 3, payload);
        image_add(writer, i, side, side, 3, STK_ENCODING_RAW, payload, (size_t)side * side * 3);
    }
    image_shard_end(writer);
    stk_dataset *d = run_open(path);
    stk_loader_options o = options_for(20, 1);
    stk_transform_init(&o.transform, STK_TRANSFORM_NONE);
    o.order = STK_ORDER_SEQUENTIAL;
    stk_loader *l = run_loader(d, &o);
    for (uint32_t k = 0; k < 2; k++) {
        stk_batch *b;
        CHECK_OK(stk_loader_next(l, -1, &b, &error));
        CHECK_EQ(b->width, k == 0 ? 16 : 24);
        for (uint32_t e = 0; e < 20; e++) {
            image_fill(b->ids[e], b->width, b->height, 3, payload);
            CHECK(memcmp(payload, (uint8_t *)b->data + e * b->sample_bytes, b->sample_bytes) == 0);
        }
        stk_batch_release(b);
    }
    stk_loader_close(&l);
    o.batch_size = 30;
    l = run_loader(d, &o);
    stk_batch *b;
    CHECK_STATUS(stk_loader_next(l, -1, &b, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "record 20 (class0/image20.png)") != NULL && strstr(error.text, "24x24") != NULL);
    stk_loader_close(&l);
    stk_dataset_close(&d);
}

static void refused_options(void)
{
    stk_loader *l;
    stk_loader_options o = options_for(N + 1, 1);
    CHECK_STATUS(stk_loader_open(dataset, &o, &l, &error), STK_ERR_ARGUMENT);
    o = options_for(0, 1);
    CHECK_STATUS(stk_loader_open(dataset, &o, &l, &error), STK_ERR_ARGUMENT);
    o = options_for(N, 1);
    o.world = 2;
    o.last = STK_LAST_DROP;
    CHECK_STATUS(stk_loader_open(dataset, &o, &l, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "last=drop") != NULL);
    o = options_for(10, 1);
    o.rank = 1;
    CHECK_STATUS(stk_loader_open(dataset, &o, &l, &error), STK_ERR_ARGUMENT);
    o = options_for(10, 1);
    o.struct_size = 8;
    CHECK_STATUS(stk_loader_open(dataset, &o, &l, &error), STK_ERR_ARGUMENT);
    CHECK(l == NULL);
}

int main(void)
{
    const char *path = temporary("images.stk");
    image_shard(path, N, SIDE, SIDE, 3);
    dataset = run_open(path);
    RUN(same_pixels_everywhere);
    RUN(equals_reference);
    RUN(resume_everywhere);
    RUN(resume_on_another_world);
    RUN(refused_states);
    RUN(epochs);
    RUN(batch_fields);
    RUN(views_and_repeats);
    RUN(further_views);
    RUN(columns);
    RUN(layouts);
    RUN(weighted);
    RUN(sizes_without_transform);
    RUN(refused_options);
    stk_dataset_close(&dataset);
    return check_exit();
}
