// What an operation does on a GPU: its kernels, put on a stream.
#ifndef DOPPLER_GPUEXEC_CUDA_LAUNCH_H_
#define DOPPLER_GPUEXEC_CUDA_LAUNCH_H_

#include <span>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "gpuexec/operation_work.h"

namespace doppler {

// Puts the kernels of `work` on `stream` of the current GPU, with which `cublas` must work. `reads`
// are the addresses of what it reads, in the order of the plan; `output` has room for
// work.output_elements, `scratch` for work.scratch_elements and kPartialSums. Returns at once.
// Throws what DP_CUDA throws.
void launch_operation(cudaStream_t stream, cublasHandle_t cublas, const OperationWork& work,
                      std::span<const float* const> reads, float* output, float* scratch);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CUDA_LAUNCH_H_
