/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu_damage SHARD [BACKEND [ROUNDS [SEED]]]: copies of a shard with bytes changed by chance, read without checksums. The
 * uploader must call the same samples bad as the plain loader does, and give the same bytes: zeros for those, for all of
 * their views (one to three). In half of the rounds there are steps, and mixing, of which bad samples are left out; some
 * batches go in groups. Run it under compute-sanitizer to see that no kernel follows bad bits anywhere. Ends with "ok" or
 * "FAIL". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stoker/stoker.h>

enum { SIDE = 48, BATCH = 8, VIEWS = 3 };

static uint64_t state;

static uint32_t roll(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % below;
}

static uint8_t *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    if (f != NULL && fseek(f, 0, SEEK_END) == 0) {
        long size = ftell(f);
        rewind(f);
        data = size > 0 ? malloc((size_t)size) : NULL;
        *n = data != NULL ? fread(data, 1, (size_t)size, f) : 0;
    }
    if (f != NULL) fclose(f);
    return data;
}

/* Bytes of records only: index and metadata have checksums of their own that are always checked. */
static int write_damaged(const char *path, const uint8_t *data, size_t n, size_t records_end)
{
    FILE *f = fopen(path, "wb");
    uint8_t *copy = malloc(n);
    if (f == NULL || copy == NULL) return 1;
    memcpy(copy, data, n);
    for (uint32_t k = 1 + roll(200); k > 0; k--) {
        size_t at = 4096 + roll((uint32_t)(records_end - 4096));
        if (roll(4) == 0) /* a stretch */
            for (uint32_t i = roll(300); i > 0 && at + i < records_end; i--) copy[at + i] = (uint8_t)(roll(3) == 0 ? 0xff : roll(256));
        copy[at] ^= (uint8_t)(1u << roll(8));
    }
    int bad = fwrite(copy, 1, n, f) != n;
    free(copy);
    return fclose(f) != 0 || bad;
}

typedef struct tally {
    long good, bad, differ;
} tally;

static void compare(const stk_batch *a, const stk_device_batch *b, tally *t, stk_error *error)
{
    static uint8_t got[BATCH * VIEWS * SIDE * SIDE * 3];
    size_t image = SIDE * SIDE * 3;
    if (b->n != a->n || stk_device_batch_read(b, b->data, got, image * a->n, error) != STK_OK) {
        printf("   %s\n", error->text);
        t->differ++;
        return;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        bool good = a->statuses[i] == STK_OK, same = good == (b->statuses[i] == STK_OK);
        if (same) same = memcmp(got + i * image, (const uint8_t *)a->data + i * image, image) == 0;
        if (a->labels2 != NULL) same = same && a->labels2[i] == b->host_labels2[i] && a->shares[i] == b->host_shares[i];
        if (good) t->good++;
        else t->bad++;
        if (same) continue;
        printf("   record %llu: loader %s, uploader %s\n", (unsigned long long)a->ids[i],
               stk_status_name((stk_status)a->statuses[i]), stk_status_name((stk_status)b->statuses[i]));
        t->differ++;
    }
}

static void run_file(const char *path, const char *backend, int round, tally *t)
{
    const bool resident = round % 2 == 1, mixed = round % 4 >= 2;
    stk_step step;
    stk_error error = {0};
    stk_dataset_options dopt;
    stk_dataset *d = NULL;
    stk_loader *loader = NULL;
    stk_uploader *uploader = NULL;
    stk_loader_options o;
    stk_uploader_options uo;
    stk_dataset_options_init(&dopt);
    dopt.verify = STK_VERIFY_OFF;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o.transform.out_width = o.transform.out_height = SIDE;
    o.on_bad = STK_ON_BAD_SKIP;
    o.n_views = 1 + (uint32_t)(round % VIEWS);
    stk_step_init(&step, STK_STEP_TRIVIAL_AUGMENT);
    o.transform.steps = &step;
    o.transform.n_steps = mixed;
    if (mixed) o.transform.mix.mixup_alpha = o.transform.mix.cutmix_alpha = 1;
    o.transform.mix.mode = (stk_mix_mode)roll(3);
    stk_uploader_options_init(&uo);
    uo.backend = backend;
    uo.decode = STK_DECODE_GPU;
    if (round % 5 >= 2) uo.scratch_bytes = 1 << 19; /* a sample or a few a group */
    uo.resident = resident ? STK_RESIDENT_ON : STK_RESIDENT_OFF;
    stk_status s = stk_dataset_open(path, &dopt, &d, &error);
    if (s == STK_OK) {
        o.batch_size = stk_dataset_len(d) < BATCH ? (uint32_t)stk_dataset_len(d) : BATCH;
        s = stk_loader_open(d, &o, &loader, &error);
    }
    if (s == STK_OK) s = stk_uploader_open(d, &o, &uo, &uploader, &error);
    while (s == STK_OK) {
        stk_batch *a = NULL;
        stk_device_batch *b = NULL;
        s = stk_loader_next(loader, -1, &a, &error);
        stk_status r = stk_uploader_next(uploader, NULL, -1, &b, &error);
        if (r != s) t->differ++;
        if (r != s) printf("   loader says %s, uploader %s\n", stk_status_name(s), stk_status_name(r));
        if (s == STK_OK && r == STK_OK) compare(a, b, t, &error);
        stk_batch_release(a);
        stk_device_batch_release(b, NULL);
        if (r != STK_OK && s == STK_OK) s = r;
    }
    if (s != STK_END) {
        printf("   %s\n", error.text);
        t->differ++;
    }
    stk_uploader_close(&uploader);
    stk_loader_close(&loader);
    stk_dataset_close(&d);
}

int main(int argc, char **argv)
{
    const char *backend = argc > 2 ? argv[2] : "dummy", *tmp = getenv("TMPDIR");
    int rounds = argc > 3 ? atoi(argv[3]) : 10;
    size_t n = 0;
    char path[512];
    tally t = {0};
    state = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    uint8_t *data = argc > 1 ? read_all(argv[1], &n) : NULL;
    if (data == NULL || n < 16384) {
        fprintf(stderr, "gpu_damage: usage: gpu_damage SHARD.stk [dummy|cuda [ROUNDS [SEED]]]; SHARD of 16 KB and more\n");
        free(data);
        return 64;
    }
    snprintf(path, sizeof path, "%s/gpu_damage.%ld.stk", tmp != NULL ? tmp : "/tmp", (long)getpid());
    for (int i = 0; i < rounds; i++) {
        if (write_damaged(path, data, n, n / 10 * 8) != 0) {
            fprintf(stderr, "gpu_damage: %s cannot be written\n", path);
            t.differ++;
            break;
        }
        run_file(path, backend, i, &t);
    }
    remove(path);
    free(data);
    printf("%s %ld good and %ld bad samples, %ld differ\n", t.differ == 0 && t.bad > 0 ? "ok" : "FAIL", t.good, t.bad, t.differ);
    return t.differ != 0 || t.bad == 0;
}
