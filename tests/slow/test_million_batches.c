/* SPDX-License-Identifier: Apache-2.0
 *
 * A million batches from one loader: memory, descriptors and threads are at the end what they were after the first
 * thousands. */
#include <dirent.h>
#include <unistd.h>

#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 2000, SIDE = 32, BATCH = 4, BATCHES = 1000000, WARM = 20000, MAX_GROWTH_KIB = 1024 };

static stk_error error;

static long status_value(const char *name)
{
    char line[256];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) value = strtol(line + strlen(name) + 1, NULL, 10);
    if (f != NULL) fclose(f);
    return value;
}

static int descriptors(void)
{
    int n = 0;
    DIR *stream = opendir("/proc/self/fd");
    while (stream != NULL && readdir(stream) != NULL) n++;
    if (stream != NULL) closedir(stream);
    return n;
}

static void take(stk_loader *l, uint64_t n)
{
    for (uint64_t k = 0; k < n;) {
        stk_batch *b = NULL;
        stk_status status = stk_loader_next(l, 60000, &b, &error);
        if (status == STK_END) continue;
        CHECK_EQ(status, STK_OK);
        if (status != STK_OK) exit(1);
        stk_batch_release(b);
        k++;
    }
}

static void million(void)
{
    const char *path = temporary("million.stk");
    image_shard(path, N, SIDE, SIDE, 3);
    stk_dataset *d = run_open(path);
    stk_loader_options o;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o.transform.out_width = o.transform.out_height = SIDE;
    o.batch_size = BATCH;
    o.n_threads = 2;
    stk_loader *l = run_loader(d, &o);
    take(l, WARM);
    long memory = status_value("VmRSS:"), threads = status_value("Threads:");
    int files = descriptors();
    take(l, BATCHES - WARM);
    long grown = status_value("VmRSS:") - memory;
    printf("     %d batches; memory %ld KiB after %d of them, %+ld KiB at the end; %d descriptors, %ld threads\n", BATCHES,
           memory, WARM, grown, files, threads);
    CHECK(grown < MAX_GROWTH_KIB);
    CHECK_EQ(descriptors(), files);
    CHECK_EQ(status_value("Threads:"), threads);
    stk_loader_close(&l);
    stk_dataset_close(&d);
}

int main(void)
{
    RUN(million);
    return check_exit();
}
