/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA part that has nothing but a name: which of them is loaded is all that cuda_parts wants to know. */
#include "gpu_upload/backend.h"

__attribute__((visibility("default"))) const stk_gpu_backend *stk_gpu_cuda_table(void);

const stk_gpu_backend *stk_gpu_cuda_table(void)
{
    static const stk_gpu_backend table = {.version = STK_GPU_BACKEND_VERSION, .struct_size = sizeof(stk_gpu_backend), .name = PART};
    return &table;
}
