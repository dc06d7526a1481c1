/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu_stress DATASET [BACKEND [BATCHES [SEED]]]: many batches with random pauses of the consumer, batches kept for a
 * while, epochs broken off, uploaders closed with batches in flight. Images are looked at by chance: their bytes must
 * be those that the same sample of the same epoch had before. Memory held must not grow. Ends with "ok" or "FAIL". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stoker/stoker.h>

enum { EPOCHS = 2, SIDE = 64, KEPT = 3, CHECKED = 4, BATCH = 16 };

typedef struct stress {
    const stk_dataset *dataset;
    const char *backend;
    uint64_t records;
    uint64_t *sums; /* [EPOCHS][records], 0 = not seen */
    uint64_t random;
    stk_device_batch *kept[KEPT];
    long batches, checked, wrong, cancelled, reopened;
} stress;

static uint32_t roll(stress *s, uint32_t below)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(s->random >> 33) % below;
}

static int fail(const char *what, const stk_error *error)
{
    printf("FAIL %s: %s\n", what, error->text);
    return 1;
}

static uint64_t sum_of(const uint8_t *p, size_t n)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h | 1;
}

/* A few images of a batch against what they were before. */
static int look(stress *s, const stk_device_batch *b, stk_error *error)
{
    static uint8_t pixels[SIDE * SIDE * 3];
    for (int k = 0; k < CHECKED; k++) {
        uint32_t i = roll(s, b->n);
        uint64_t *sum = &s->sums[(b->epoch % EPOCHS) * s->records + b->ids[i]];
        if (stk_device_batch_read(b, (const uint8_t *)b->data + (size_t)i * sizeof pixels, pixels, sizeof pixels, error) != STK_OK)
            return fail("read", error);
        uint64_t now = sum_of(pixels, sizeof pixels);
        if (*sum != 0 && *sum != now) s->wrong++;
        *sum = now;
        s->checked++;
    }
    return 0;
}

static stk_status open_uploader(stress *s, stk_uploader **u, stk_error *error)
{
    stk_loader_options o;
    stk_uploader_options uo;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o.transform.out_width = o.transform.out_height = SIDE;
    o.batch_size = s->records < BATCH ? (uint32_t)s->records : BATCH;
    o.on_bad = STK_ON_BAD_SKIP;
    o.n_threads = 1 + roll(s, 3);
    stk_uploader_options_init(&uo);
    uo.backend = s->backend;
    uo.decode = STK_DECODE_GPU;
    uo.resident = roll(s, 2) ? STK_RESIDENT_ON : STK_RESIDENT_OFF;
    uo.n_streams = 1 + roll(s, 3);
    uo.n_ahead = 1 + roll(s, 4);
    return stk_uploader_open(s->dataset, &o, &uo, u, error);
}

static void release_kept(stress *s)
{
    for (int k = 0; k < KEPT; k++) {
        stk_device_batch_release(s->kept[k], NULL);
        s->kept[k] = NULL;
    }
}

/* One uploader's life. */
static int run(stress *s, long until, uint64_t *held, stk_error *error)
{
    stk_uploader *u = NULL;
    stk_uploader_stats stats;
    if (open_uploader(s, &u, error) != STK_OK) return fail("open", error);
    int bad = 0;
    for (long n = 0; bad == 0 && s->batches < until && n < 200 + (long)roll(s, 400); n++) {
        stk_device_batch *b = NULL;
        if (roll(s, 50) == 0) {
            s->cancelled++;
            if (stk_uploader_set_epoch(u, roll(s, EPOCHS), error) != STK_OK) bad = fail("set_epoch", error);
        }
        stk_status status = bad == 0 ? stk_uploader_next(u, NULL, -1, &b, error) : STK_END;
        if (status == STK_END) {
            if (bad == 0 && stk_uploader_set_epoch(u, roll(s, EPOCHS), error) != STK_OK) bad = fail("set_epoch", error);
            continue;
        }
        if (status != STK_OK) return fail("next", error);
        s->batches++;
        if (roll(s, 8) == 0) usleep(roll(s, 3000));
        if (roll(s, 4) == 0) bad = look(s, b, error);
        int k = (int)roll(s, KEPT * 2);
        if (k < KEPT) { /* keep it, and look at the one that goes: it must still be what it was */
            if (bad == 0 && s->kept[k] != NULL) bad = look(s, s->kept[k], error);
            stk_device_batch_release(s->kept[k], NULL);
            s->kept[k] = b;
        } else {
            stk_device_batch_release(b, NULL);
        }
    }
    stk_uploader_get_stats(u, &stats);
    *held = stats.device_bytes + stats.pinned_bytes;
    s->reopened++;
    if (roll(s, 2)) release_kept(s); /* else batches outlive their uploader */
    stk_uploader_close(&u);
    release_kept(s);
    return bad;
}

static long resident_pages(void)
{
    long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL) return 0;
    if (fscanf(f, "%ld %ld", &size, &pages) != 2) pages = 0;
    fclose(f);
    return pages;
}

int main(int argc, char **argv)
{
    stk_dataset *d = NULL;
    stk_error error = {0};
    stress s = {.backend = argc > 2 ? argv[2] : "dummy", .random = argc > 4 ? strtoull(argv[4], NULL, 10) : 1};
    long until = argc > 3 ? atol(argv[3]) : 300, early_pages = 0;
    uint64_t held = 0, most_early = 0, most = 0;
    if (argc < 2 || stk_dataset_open(argv[1], NULL, &d, &error) != STK_OK) {
        fprintf(stderr, "gpu_stress: %s\n", argc < 2 ? "usage: gpu_stress DATASET [dummy|cuda [BATCHES [SEED]]]" : error.text);
        return 64;
    }
    s.dataset = d;
    s.records = stk_dataset_len(d);
    s.sums = calloc((size_t)(EPOCHS * s.records), sizeof *s.sums);
    int bad = s.sums == NULL;
    while (bad == 0 && s.batches < until) {
        bad = run(&s, until, &held, &error);
        if (s.batches <= until / 4 || most_early == 0) {
            if (held > most_early) most_early = held;
            early_pages = resident_pages();
        }
        if (held > most) most = held;
    }
    long pages = resident_pages();
    if (s.wrong > 0 || most > most_early * 3 || pages > early_pages + 65536) bad = 1;
    printf("%s %ld batches, %ld images looked at, %ld wrong, %ld epochs broken off, %ld uploaders, held %llu MB (early %llu), "
           "host %ld MB (early %ld)\n",
           bad ? "FAIL" : "ok", s.batches, s.checked, s.wrong, s.cancelled, s.reopened, (unsigned long long)most >> 20,
           (unsigned long long)most_early >> 20, pages >> 8, early_pages >> 8);
    free(s.sums);
    stk_dataset_close(&d);
    return bad;
}
