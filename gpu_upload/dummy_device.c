/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/dummy_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fail.h"

enum { DEFAULT_DEVICES = 4, ALIGN = 256, LONGEST_NAME = 16 };

static uint64_t *field(stk_dummy_faults *f, const char *name)
{
    const struct {
        const char *name;
        uint64_t *value;
    } all[] = {{"devices", &f->devices}, {"memory", &f->memory},   {"pinned", &f->pinned},
               {"lost", &f->lost},       {"idle", &f->idle},       {"free_us", &f->free_us},
               {"cpu_ns", &f->cpu_ns},   {"gather_ns", &f->gather_ns}, {"gpu_ns", &f->gpu_ns}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, name) == 0) return all[i].value;
    return NULL;
}

static stk_status parse(const char *options, stk_dummy_faults *f, stk_error *error)
{
    *f = (stk_dummy_faults){.devices = DEFAULT_DEVICES};
    for (const char *at = options; at != NULL && *at != '\0';) {
        char name[LONGEST_NAME + 1] = "";
        unsigned long long value = 0;
        int used = 0;
        if (sscanf(at, "%16[a-z_]=%llu%n", name, &value, &used) != 2 || field(f, name) == NULL ||
            (at[used] != ',' && at[used] != '\0'))
            return stk_fail(error, STK_ERR_ARGUMENT, "back end 'dummy:%s': not understood from '%s' on", options, at);
        *field(f, name) = value;
        at += used + (at[used] == ',');
    }
    return STK_OK;
}

stk_status stk_dummy_open(const char *options, int device, struct stk_gpu_device **out, stk_gpu_device_info *info,
                          stk_error *error)
{
    const uint64_t memory = (uint64_t)1 << 33;
    stk_dummy_faults f;
    *out = NULL;
    STK_TRY(parse(options, &f, error));
    if (device < 0 || (uint64_t)device >= f.devices)
        return stk_fail(error, STK_ERR_ARGUMENT, "dummy device %d: there are %d", device, (int)f.devices);
    struct stk_gpu_device *d = calloc(1, sizeof *d);
    if (d == NULL) return stk_fail_memory(error, "a dummy device");
    d->number = device;
    d->faults = f;
    pthread_mutex_init(&d->lock, NULL);
    *info = (stk_gpu_device_info){.name = "dummy (host memory)", .number = device,
                                  .memory_bytes = f.memory != 0 ? f.memory : memory,
                                  .free_bytes = f.memory != 0 ? f.memory : memory};
    *out = d;
    return STK_OK;
}

void stk_dummy_close(struct stk_gpu_device *device)
{
    pthread_mutex_destroy(&device->lock);
    free(device);
}

stk_status stk_dummy_alive(struct stk_gpu_device *d, stk_error *error)
{
    if (d == NULL || d->faults.lost == 0 || atomic_load(&d->groups_run) < d->faults.lost) return STK_OK;
    return stk_fail(error, STK_ERR_DEVICE, "the dummy device is lost");
}

stk_status stk_dummy_owns(struct stk_gpu_device *d, const void *handle, stk_error *error)
{
    STK_TRY(stk_dummy_alive(d, error));
    if (handle == NULL || ((const stk_dummy_handle *)handle)->device == d) return STK_OK;
    return stk_fail(error, STK_ERR_INTERNAL, "a stream or an event of another device");
}

stk_status stk_dummy_alloc(struct stk_gpu_device *d, size_t n_bytes, void **out, stk_error *error)
{
    *out = NULL;
    STK_TRY(stk_dummy_alive(d, error));
    stk_dummy_memory *m = malloc(sizeof *m);
    if (m == NULL || n_bytes > SIZE_MAX - ALIGN) {
        free(m);
        return stk_fail_memory(error, "dummy device memory");
    }
    pthread_mutex_lock(&d->lock);
    bool fits = d->faults.memory == 0 || n_bytes <= d->faults.memory - d->held;
    if (fits) *out = aligned_alloc(ALIGN, (n_bytes + ALIGN) / ALIGN * ALIGN);
    if (*out != NULL) {
        *m = (stk_dummy_memory){.next = d->memory, .memory = *out, .n_bytes = n_bytes};
        d->memory = m;
        d->held += n_bytes;
    }
    pthread_mutex_unlock(&d->lock);
    if (*out != NULL) return STK_OK;
    free(m);
    return stk_fail(error, STK_ERR_MEMORY, "%zu bytes of dummy device memory could not be had", n_bytes);
}

void stk_dummy_free(struct stk_gpu_device *d, void *memory)
{
    pthread_mutex_lock(&d->lock);
    stk_dummy_memory **link = &d->memory, *m;
    while (*link != NULL && (*link)->memory != memory) link = &(*link)->next;
    m = *link;
    if (m != NULL) {
        d->held -= m->n_bytes;
        *link = m->next;
    }
    pthread_mutex_unlock(&d->lock);
    if (d->faults.free_us > 0) usleep((useconds_t)d->faults.free_us);
    if (m != NULL) free(memory);
    free(m);
}

stk_status stk_dummy_pinned_alloc(struct stk_gpu_device *d, size_t n_bytes, void **out, stk_error *error)
{
    *out = NULL;
    STK_TRY(stk_dummy_alive(d, error));
    uint64_t asked = atomic_fetch_add(&d->pinned_asked, 1) + 1;
    if (d->faults.pinned != 0 && asked >= d->faults.pinned)
        return stk_fail(error, STK_ERR_MEMORY, "no pinned memory on the dummy device");
    if (n_bytes <= SIZE_MAX - ALIGN) *out = aligned_alloc(ALIGN, (n_bytes + ALIGN) / ALIGN * ALIGN);
    return *out != NULL ? STK_OK : stk_fail_memory(error, "pinned memory");
}

void stk_dummy_pinned_free(struct stk_gpu_device *d, void *memory)
{
    (void)d;
    free(memory);
}
