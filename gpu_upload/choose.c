/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/choose.h"

#include <stdio.h>

#include <stoker/cpu.h>

#include "gpu_upload/uploader_internal.h"

enum { SAMPLED_RECORDS = 256, MEASURED_BATCH = 128, MEASURED_BATCHES = 2 };

/* Uploads and kernels of the GPU's side run beside each other, those of the CPU's side beside its threads: a CPU that is
 * hardly quicker is not worth the cores and the larger upload. */
static const double margin = 0.8;

bool stk_choose_side(const stk_gpu_costs *c, char *text, size_t text_size)
{
    double threads = c->n_threads > 0 ? c->n_threads : 1;
    double cpu = c->cpu_ns / threads + c->cpu_upload_ns, gpu = c->gather_ns / threads + c->gather_upload_ns + c->gpu_ns;
    bool gather = !(cpu < gpu * margin);
    snprintf(text, text_size,
             "%s: an image takes %.2f us there (%.2f of a thread's time, %.2f to upload, %.2f of the GPU's) and %.2f us on the "
             "CPU (%.2f, %.2f), with %u threads",
             gather ? "gpu" : "cpu", gpu * 1e-3, c->gather_ns * 1e-3, c->gather_upload_ns * 1e-3, c->gpu_ns * 1e-3, cpu * 1e-3,
             c->cpu_ns * 1e-3, c->cpu_upload_ns * 1e-3, c->n_threads);
    return gather;
}

/* Steps and mixing have kernels, whose arithmetic and whose own code are tested without a device, but no device has run
 * them yet (docs/gpu.md): until then decode=auto leaves such transforms to the CPU. */
static const bool auto_takes_steps = false;

/* ---- By records. */

/* Records that the device can decode? The first ones tell: a data set is packed in one way. */
static bool device_can_decode(const stk_dataset *dataset)
{
    uint64_t n = stk_dataset_len(dataset);
    for (uint64_t i = 0; i < n && i < SAMPLED_RECORDS; i++) {
        stk_record_info r;
        if (stk_dataset_record(dataset, i, &r, NULL) != STK_OK) continue;
        if (r.encoding == STK_ENCODING_TILES || r.encoding == STK_ENCODING_RAW) return true;
    }
    return false;
}

bool stk_transform_has_steps(const stk_transform *t)
{
    return t->n_steps > 0 || t->mix.mixup_alpha > 0 || t->mix.cutmix_alpha > 0;
}

/* As the loader decides: the selection's first record that can be looked at tells. */
static bool begins_with_array(const stk_dataset *dataset, const stk_loader_options *o)
{
    uint64_t n = o->indices != NULL ? o->n_indices : stk_dataset_len(dataset);
    for (uint64_t i = 0; i < n && i < SAMPLED_RECORDS; i++) {
        stk_record_info r;
        if (stk_dataset_record(dataset, o->indices != NULL ? o->indices[i] : i, &r, NULL) != STK_OK) continue;
        return r.encoding == STK_ENCODING_ARRAY;
    }
    return false;
}

void stk_choose_by_records(stk_uploader *u)
{
    if (begins_with_array(u->dataset, &u->loader_options)) {
        snprintf(u->decode_text, sizeof u->decode_text, "none: arrays are copied as they are");
        return; /* nothing to gather, nothing to measure */
    }
    bool can = device_can_decode(u->dataset);
    const bool unasked = u->options.decode == STK_DECODE_AUTO && !auto_takes_steps &&
                         stk_transform_has_steps(&u->loader_options.transform);
    u->gather = u->options.decode != STK_DECODE_CPU && !unasked && (can || u->options.decode == STK_DECODE_GPU);
    u->measures = u->options.decode == STK_DECODE_AUTO && !unasked && can;
    const char *text = can && unasked ? "cpu: steps on the GPU are asked for by decode=gpu (not yet run on a real device)"
                       : u->gather ? can ? "gpu: asked for" : "gpu: but no record is tiles or raw, so the CPU decodes them"
                       : can     ? "cpu: asked for"
                                 : "cpu: no tiles or raw records";
    snprintf(u->decode_text, sizeof u->decode_text, "%s", text);
}

/* ---- By measuring. */

typedef struct side_times {
    double host_ns, upload_ns, run_ns; /* an image */
} side_times;

/* The loader's own batches, but small, and without a word. */
static void measuring_options(const stk_uploader *u, stk_loader_options *o)
{
    *o = u->loader_options;
    if (o->batch_size > MEASURED_BATCH) o->batch_size = MEASURED_BATCH;
    o->gather = u->gather;
    o->on_bad = STK_ON_BAD_SKIP;
    o->log = NULL;
    o->allocator = stk_upload_allocator(u);
}

/* One batch through the device; the job's events say how long it took. */
static stk_status time_batch(stk_uploader *u, stk_batch *source, side_times *t, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    stk_job *job = NULL;
    float up = 0, run = 0;
    double n = source->n;
    stk_status status = stk_job_get(u->pool, &job, error);
    if (status != STK_OK) {
        stk_batch_release(source);
        return status;
    }
    status = stk_upload_batch(u, source, job, error);
    stk_upload_release_source(u, job);
    if (status == STK_OK) status = k->event_sync(u->share->device, job->done, error);
    if (status == STK_OK) status = k->event_ms(u->share->device, job->copy_begun, job->copied, &up, error);
    if (status == STK_OK) status = k->event_ms(u->share->device, job->run_begun, job->done, &run, error);
    t->upload_ns = (double)up * 1e6 / n;
    t->run_ns = (double)run * 1e6 / n;
    job->counted = true; /* not a batch of the loader's */
    stk_job_put(job);
    return status;
}

/* Of the side that u->gather names. The first batch warms kernels and memory up. */
static stk_status time_side(stk_uploader *u, side_times *t, stk_error *error)
{
    stk_loader_options o;
    stk_loader *loader = NULL;
    stk_loader_stats stats;
    stk_status status = STK_OK;
    *t = (side_times){0};
    measuring_options(u, &o);
    stk_status opened = stk_loader_open(u->dataset, &o, &loader, error);
    if (opened != STK_OK) return opened;
    for (int i = 0; i < MEASURED_BATCHES && status == STK_OK; i++) {
        stk_batch *b = NULL;
        status = stk_loader_next(loader, -1, &b, error);
        if (status == STK_END) status = stk_loader_next(loader, -1, &b, error);
        if (status == STK_OK) status = time_batch(u, b, t, error);
    }
    stk_loader_get_stats(loader, &stats);
    stk_loader_close(&loader);
    uint64_t views = stats.samples * (o.n_views > 0 ? o.n_views : 1);
    t->host_ns = views > 0 ? (double)stats.decode_ns / (double)views : 0;
    return status;
}

/* As many as the loader will start; those of the measuring one may not all have begun yet. */
static uint32_t loader_threads(const stk_loader_options *o)
{
    int n = o->n_threads != 0 ? (int)o->n_threads : stk_cpu_usable_threads() - 1;
    return n > 1 ? (uint32_t)n : 1;
}

void stk_choose_by_measuring(stk_uploader *u)
{
    side_times cpu, gpu;
    stk_error error = {0};
    snprintf(u->decode_text, sizeof u->decode_text, "gpu: not measured");
    stk_status status = time_side(u, &gpu, &error);
    u->gather = false;
    if (status == STK_OK) status = time_side(u, &cpu, &error);
    u->gather = true;
    stk_gpu_pinned_forget(u->share); /* the CPU's finished images are larger than what is gathered */
    if (status != STK_OK) {
        snprintf(u->decode_text, sizeof u->decode_text, "gpu: measuring failed (%.120s)", error.text);
        return;
    }
    stk_gpu_costs costs = {.cpu_ns = cpu.host_ns, .cpu_upload_ns = cpu.upload_ns, .gather_ns = gpu.host_ns,
                           .gather_upload_ns = gpu.upload_ns, .gpu_ns = gpu.run_ns, .n_threads = loader_threads(&u->loader_options)};
    u->share->backend->costs(u->share->device, &costs);
    u->gather = stk_choose_side(&costs, u->decode_text, sizeof u->decode_text);
}
