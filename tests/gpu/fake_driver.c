/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcuda.so.1 that says what the environment tells it: FAKE_DRIVER (11080 is CUDA 11.8), FAKE_COMPUTE (70 is 7.0),
 * FAKE_DEVICES, FAKE_ERROR. For cuda_parts. */
#include <stdlib.h>

#pragma GCC visibility push(default)
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *n);
int cuDeviceGet(int *device, int number);
int cuDeviceGetAttribute(int *value, int attribute, int device);
#pragma GCC visibility pop

static int told(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? atoi(text) : 0;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return told("FAKE_ERROR");
}

int cuDriverGetVersion(int *version)
{
    *version = told("FAKE_DRIVER");
    return 0;
}

int cuDeviceGetCount(int *n)
{
    *n = told("FAKE_DEVICES");
    return 0;
}

int cuDeviceGet(int *device, int number)
{
    *device = number;
    return 0;
}

/* 75 and 76: the compute capability's parts. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 75 ? told("FAKE_COMPUTE") / 10 : attribute == 76 ? told("FAKE_COMPUTE") % 10 : 0;
    return 0;
}
