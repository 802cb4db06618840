// What checks of a GPU machine need beside the backend. No CUDA header is needed to use this.
#ifndef DOPPLER_GPUEXEC_CUDA_PROBE_H_
#define DOPPLER_GPUEXEC_CUDA_PROBE_H_

#include <cstdint>

namespace doppler {

// Seconds that cuBLAS takes for one product of n x n matrices, called by itself many times in a
// row; what the executor's products are compared with.
double time_plain_cublas(std::int64_t n);

// Runs a kernel that writes to an address that does not exist, so that tests see what becomes of
// it. The process has no use for CUDA afterwards. Throws PoisonedError.
void poison_cuda_context();

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CUDA_PROBE_H_
