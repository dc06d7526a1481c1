/* SPDX-License-Identifier: Apache-2.0
 *
 * What NVIDIA's driver says of itself and of a device, asked of libcuda.so.1 without CUDA's headers or runtime: it is
 * needed before it is known which of our CUDA parts can run here. */
#ifndef STK_GPU_CUDA_DRIVER_H
#define STK_GPU_CUDA_DRIVER_H

#include <stoker/status.h>

typedef struct stk_cuda_facts {
    int driver; /* the newest CUDA that it runs, as CUDA numbers them: 11080 is 11.8 */
    int compute; /* of the device: 90 is 9.0; 0: there is no such device */
    int n_devices;
} stk_cuda_facts;

/* Errors: STK_ERR_UNSUPPORTED (no driver), STK_ERR_DEVICE (it does not answer). Any thread. */
stk_status stk_cuda_driver_ask(int device, stk_cuda_facts *facts, stk_error *error);

#endif
