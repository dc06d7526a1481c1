/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the CUDA part. It is a shared object of its own, so that everything else runs where no driver is. Objects are
 * tried in this order: the file or folder in STOKER_CUDA_PATH, beside this library, the loader's search path; in each
 * place the one built for new devices first (libstoker_cuda13.so), then libstoker_cuda11.so, then libstoker_cuda.so. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "gpu_upload/backend.h"

static const char *const NAMES[] = {"libstoker_cuda13.so", "libstoker_cuda11.so", "libstoker_cuda.so"};
enum { N_NAMES = sizeof NAMES / sizeof NAMES[0] };

typedef const stk_gpu_backend *(*table_fn)(void);

static const stk_gpu_backend *table_of(const char *path, char *why, size_t why_size)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        const char *text = dlerror();
        snprintf(why, why_size, "%s", text != NULL ? text : path);
        return NULL;
    }
    table_fn table;
    void *symbol = dlsym(object, "stk_gpu_cuda_table");
    memcpy(&table, &symbol, sizeof table); /* ISO C has no cast from an object to a function pointer */
    const stk_gpu_backend *b = symbol != NULL ? table() : NULL;
    if (b == NULL || b->version != STK_GPU_BACKEND_VERSION || b->struct_size != sizeof *b) {
        snprintf(why, why_size, "%s is of another version of stoker", path);
        dlclose(object);
        return NULL;
    }
    return b; /* stays loaded: batches may be released until the very end of the process */
}

static const stk_gpu_backend *try_folder(const char *folder, char *why, size_t why_size)
{
    for (int i = 0; i < N_NAMES; i++) {
        char path[PATH_MAX];
        int n = folder[0] != '\0' ? snprintf(path, sizeof path, "%s/%s", folder, NAMES[i])
                                  : snprintf(path, sizeof path, "%s", NAMES[i]);
        if (n < 0 || (size_t)n >= sizeof path) continue;
        const stk_gpu_backend *b = table_of(path, why, why_size);
        if (b != NULL) return b;
    }
    return NULL;
}

static const stk_gpu_backend *beside_us(char *why, size_t why_size)
{
    Dl_info info;
    char folder[PATH_MAX];
    if (dladdr((const void *)&stk_gpu_dummy_backend, &info) == 0 || info.dli_fname == NULL) return NULL;
    snprintf(folder, sizeof folder, "%s", info.dli_fname);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) return NULL;
    *slash = '\0';
    return try_folder(folder, why, why_size);
}

static const stk_gpu_backend *look(char *why, size_t why_size)
{
    const char *forced = getenv("STOKER_CUDA_PATH");
    if (forced != NULL && forced[0] != '\0') {
        const stk_gpu_backend *b = strstr(forced, ".so") != NULL ? table_of(forced, why, why_size)
                                                                 : try_folder(forced, why, why_size);
        return b;
    }
    const stk_gpu_backend *b = beside_us(why, why_size);
    return b != NULL ? b : try_folder("", why, why_size);
}

stk_status stk_gpu_cuda_backend(const stk_gpu_backend **out, stk_error *error)
{
    char why[300] = "not found";
    *out = look(why, sizeof why);
    if (*out != NULL) return STK_OK;
    return stk_fail(error, STK_ERR_UNSUPPORTED,
                    "the CUDA part of stoker is not there (%.200s); batches can be decoded on the CPU: device=\"cpu\"", why);
}
