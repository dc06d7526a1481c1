/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/cuda_driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "common/fail.h"

/* cuda.h: CUresult is an int, 0 when good; CUdevice is an int. */
enum { MAJOR = 75, MINOR = 76, NO_DEVICE = 100 };

typedef struct driver {
    int (*init)(unsigned flags);
    int (*version)(int *version);
    int (*count)(int *n);
    int (*device)(int *device, int number);
    int (*attribute)(int *value, int attribute, int device);
} driver;

static int find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol); /* ISO C has no cast from an object to a function pointer */
    return symbol != NULL;
}

static stk_status ask(const driver *d, int device, stk_cuda_facts *facts, stk_error *error)
{
    int number = 0, major = 0, minor = 0, rc = d->init(0);
    if (rc == 0) rc = d->version(&facts->driver);
    if (rc == 0) rc = d->count(&facts->n_devices);
    if (rc == NO_DEVICE || (rc == 0 && facts->n_devices == 0))
        return stk_fail(error, STK_ERR_UNSUPPORTED, "NVIDIA's driver sees no GPU here; batches can be decoded on the CPU: device=\"cpu\"");
    if (rc == 0 && device >= 0 && device < facts->n_devices) {
        rc = d->device(&number, device);
        if (rc == 0) rc = d->attribute(&major, MAJOR, number);
        if (rc == 0) rc = d->attribute(&minor, MINOR, number);
        facts->compute = major * 10 + minor;
    }
    if (rc == 0) return STK_OK;
    return stk_fail(error, STK_ERR_DEVICE, "NVIDIA's driver does not answer (CUDA error %d); see nvidia-smi", rc);
}

stk_status stk_cuda_driver_ask(int device, stk_cuda_facts *facts, stk_error *error)
{
    driver d;
    *facts = (stk_cuda_facts){0};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* stays: the CUDA part uses it too */
    if (library == NULL)
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "there is no NVIDIA driver here (libcuda.so.1); batches can be decoded on the CPU: device=\"cpu\"");
    if (find(library, "cuInit", &d.init) && find(library, "cuDriverGetVersion", &d.version) &&
        find(library, "cuDeviceGetCount", &d.count) && find(library, "cuDeviceGet", &d.device) &&
        find(library, "cuDeviceGetAttribute", &d.attribute))
        return ask(&d, device, facts, error);
    return stk_fail(error, STK_ERR_UNSUPPORTED, "libcuda.so.1 is not NVIDIA's driver");
}
