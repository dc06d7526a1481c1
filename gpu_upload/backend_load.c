/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the CUDA part. It is a shared object of its own, so that everything else runs where no driver is; there may be
 * several, built by different versions of CUDA, and the newest that driver and device allow is taken. Places: the file
 * or folder in STOKER_CUDA_PATH, else beside this library, else the loader's search path. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "gpu_upload/backend.h"
#include "gpu_upload/cuda_driver.h"

/* What an object asks for. CUDA's drivers run every object of their own major version and of older ones; newer devices
 * than an object was built for run its PTX. */
typedef struct cuda_object {
    const char *name;
    int driver, compute; /* at least */
} cuda_object;

static const cuda_object OBJECTS[] = {
    {"libstoker_cuda13.so", 13000, 75},
    {"libstoker_cuda.so", 12000, 60}, /* CUDA 12 */
    {"libstoker_cuda11.so", 11000, 60},
};
enum { N_OBJECTS = sizeof OBJECTS / sizeof OBJECTS[0] };

typedef const stk_gpu_backend *(*table_fn)(void);

typedef struct reason {
    char text[300];
} reason;

static const stk_gpu_backend *table_of(const char *path, reason *why)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        const char *text = dlerror();
        snprintf(why->text, sizeof why->text, "%s", text != NULL ? text : path);
        return NULL;
    }
    table_fn table;
    void *symbol = dlsym(object, "stk_gpu_cuda_table");
    memcpy(&table, &symbol, sizeof table); /* ISO C has no cast from an object to a function pointer */
    const stk_gpu_backend *b = symbol != NULL ? table() : NULL;
    if (b == NULL || b->version != STK_GPU_BACKEND_VERSION || b->struct_size != sizeof *b) {
        snprintf(why->text, sizeof why->text, "%s is of another version of stoker", path);
        dlclose(object);
        return NULL;
    }
    return b; /* stays loaded: batches may be released until the very end of the process */
}

/* folder "": the loader's search path. */
static const stk_gpu_backend *try_folder(const char *folder, const stk_cuda_facts *facts, reason *why)
{
    for (int i = 0; i < N_OBJECTS; i++) {
        const cuda_object *o = &OBJECTS[i];
        char path[PATH_MAX];
        if (facts->driver < o->driver || (facts->compute != 0 && facts->compute < o->compute)) continue;
        int n = snprintf(path, sizeof path, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", o->name);
        if (n < 0 || (size_t)n >= sizeof path) continue;
        const stk_gpu_backend *b = table_of(path, why);
        if (b != NULL) return b;
    }
    return NULL;
}

static const stk_gpu_backend *beside_us(const stk_cuda_facts *facts, reason *why)
{
    Dl_info info;
    char folder[PATH_MAX];
    if (dladdr((const void *)&stk_gpu_dummy_backend, &info) == 0 || info.dli_fname == NULL) return NULL;
    snprintf(folder, sizeof folder, "%s", info.dli_fname);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) return NULL;
    *slash = '\0';
    return try_folder(folder, facts, why);
}

static const stk_gpu_backend *look(const stk_cuda_facts *facts, reason *why)
{
    const char *forced = getenv("STOKER_CUDA_PATH");
    if (forced != NULL && forced[0] != '\0')
        return strstr(forced, ".so") != NULL ? table_of(forced, why) : try_folder(forced, facts, why);
    const stk_gpu_backend *b = beside_us(facts, why);
    return b != NULL ? b : try_folder("", facts, why);
}

stk_status stk_gpu_cuda_backend(int device, const stk_gpu_backend **out, stk_error *error)
{
    stk_cuda_facts facts;
    reason why = {"none is old enough"};
    *out = NULL;
    STK_TRY(stk_cuda_driver_ask(device, &facts, error));
    *out = look(&facts, &why);
    if (*out != NULL) return STK_OK;
    return stk_fail(error, STK_ERR_UNSUPPORTED,
                    "the CUDA part of stoker for a driver of CUDA %d.%d and a GPU of compute capability %d.%d is not there "
                    "(%.200s); batches can be decoded on the CPU: device=\"cpu\"",
                    facts.driver / 1000, facts.driver % 1000 / 10, facts.compute / 10, facts.compute % 10, why.text);
}
