// Every call of CUDA and cuBLAS goes through here; what fails throws with the call and the reason.
#ifndef DOPPLER_GPUEXEC_CUDA_CHECK_H_
#define DOPPLER_GPUEXEC_CUDA_CHECK_H_

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace doppler {

// Throws SystemError, PoisonedError where the context is lost. `call` is the text of it.
void check_cuda(cudaError_t error, const char* call, const char* file, int line);
void check_cublas(cublasStatus_t status, const char* call, const char* file, int line);

}  // namespace doppler

#define DP_CUDA(call) ::doppler::check_cuda((call), #call, __FILE__, __LINE__)
#define DP_CUBLAS(call) ::doppler::check_cublas((call), #call, __FILE__, __LINE__)

#endif  // DOPPLER_GPUEXEC_CUDA_CHECK_H_
