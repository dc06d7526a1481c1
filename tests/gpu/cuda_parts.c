/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_parts DRIVER.so PART13.so PART12.so PART11.so: which CUDA part is taken, by driver, device and what is there. The
 * driver is a fake that is loaded first: whoever opens libcuda.so.1 afterwards gets it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_upload/backend.h"
#include "support/check.h"
#include "support/temporary.h"

enum { P13 = 1, P12 = 2, P11 = 4 };

static char *const *files; /* of the parts, by falling version */

/* A folder with the parts asked for, under the names that they have when installed. */
static const char *folder_of(int parts)
{
    static const char *const names[] = {"libstoker_cuda13.so", "libstoker_cuda.so", "libstoker_cuda11.so"};
    static char folder[4096];
    static int n;
    char name[32];
    snprintf(name, sizeof name, "parts%d", n++);
    snprintf(folder, sizeof folder, "%s", temporary(name));
    CHECK(mkdir(folder, 0777) == 0);
    for (int i = 0; i < 3; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (parts >> i & 1) CHECK(symlink(files[i], path) == 0);
    }
    return folder;
}

static void told(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

static stk_status ask(int driver, int compute, int parts, const stk_gpu_backend **out, stk_error *error)
{
    told("FAKE_DRIVER", driver);
    told("FAKE_COMPUTE", compute);
    told("FAKE_DEVICES", 1);
    setenv("STOKER_CUDA_PATH", folder_of(parts), 1);
    return stk_gpu_cuda_backend(0, out, error);
}

static void the_newest_that_driver_and_device_can_run(void)
{
    const struct {
        int driver, compute, parts;
        const char *want; /* NULL: none */
    } cases[] = {
        {13000, 90, P13 | P11, "13"},  {13000, 75, P13 | P11, "13"},       {13010, 120, P13 | P11, "13"},
        {12080, 90, P13 | P11, "11"},  {12080, 90, P13 | P12 | P11, "12"}, {12080, 60, P13 | P12 | P11, "12"},
        {11040, 80, P13 | P11, "11"},  {11040, 80, P13 | P12 | P11, "11"}, {11040, 61, P13 | P11, "11"},
        {13000, 70, P13 | P11, "11"}, /* a driver that is new enough, a device that CUDA 13 has dropped */
        {13000, 90, P11, "11"},        {12080, 90, P13, NULL},             {13000, 70, P13, NULL},
        {10020, 75, P13 | P11, NULL},  {13000, 52, P13 | P12 | P11, NULL}, {13000, 90, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const stk_gpu_backend *b = NULL;
        stk_error error = {0};
        stk_status status = ask(cases[i].driver, cases[i].compute, cases[i].parts, &b, &error);
        if (cases[i].want == NULL) {
            char version[32], compute[32];
            snprintf(version, sizeof version, "CUDA %d.%d", cases[i].driver / 1000, cases[i].driver % 1000 / 10);
            snprintf(compute, sizeof compute, "%d.%d is not there", cases[i].compute / 10, cases[i].compute % 10);
            CHECK_EQ(status, STK_ERR_UNSUPPORTED);
            CHECK(b == NULL && strstr(error.text, version) != NULL && strstr(error.text, compute) != NULL &&
                  strstr(error.text, "device=\"cpu\"") != NULL);
        } else {
            CHECK_EQ(status, STK_OK);
            CHECK(b != NULL && strcmp(b->name, cases[i].want) == 0);
        }
    }
}

static void a_part_that_is_named_is_taken_as_it_is(void)
{
    const stk_gpu_backend *b = NULL;
    stk_error error = {0};
    told("FAKE_DRIVER", 11040);
    told("FAKE_DEVICES", 1);
    setenv("STOKER_CUDA_PATH", files[0], 1);
    CHECK_OK(stk_gpu_cuda_backend(0, &b, &error));
    CHECK(strcmp(b->name, "13") == 0);
}

static void a_driver_without_a_device_or_an_answer(void)
{
    const stk_gpu_backend *b = NULL;
    stk_error error = {0};
    told("FAKE_DEVICES", 0);
    CHECK_EQ(stk_gpu_cuda_backend(0, &b, &error), STK_ERR_UNSUPPORTED);
    CHECK(b == NULL && strstr(error.text, "no GPU") != NULL);
    told("FAKE_ERROR", 100); /* as a driver without a device says it */
    CHECK_EQ(stk_gpu_cuda_backend(0, &b, &error), STK_ERR_UNSUPPORTED);
    told("FAKE_ERROR", 999);
    CHECK_EQ(stk_gpu_cuda_backend(0, &b, &error), STK_ERR_DEVICE);
    CHECK(strstr(error.text, "999") != NULL && strstr(error.text, "nvidia-smi") != NULL);
    told("FAKE_ERROR", 0);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "cuda_parts: usage: cuda_parts DRIVER.so PART13.so PART12.so PART11.so\n");
        return 64;
    }
    files = argv + 2;
    if (dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == NULL) {
        fprintf(stderr, "cuda_parts: %s\n", dlerror());
        return 1;
    }
    RUN(the_newest_that_driver_and_device_can_run);
    RUN(a_part_that_is_named_is_taken_as_it_is);
    RUN(a_driver_without_a_device_or_an_answer);
    return check_exit();
}
