// cuBLAS, loaded when the first GPU is used: it takes half a second to load, and machines without a
// GPU need not have it.
#ifndef DOPPLER_GPUEXEC_CUBLAS_LIBRARY_H_
#define DOPPLER_GPUEXEC_CUBLAS_LIBRARY_H_

#include <cublas_v2.h>

namespace doppler {

// The functions that are used, by their own names.
struct CublasLibrary {
  decltype(&::cublasCreate_v2) create = nullptr;
  decltype(&::cublasDestroy_v2) destroy = nullptr;
  decltype(&::cublasSetStream_v2) set_stream = nullptr;
  decltype(&::cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&::cublasSgemm_v2) sgemm = nullptr;
  decltype(&::cublasSgemmStridedBatched) sgemm_strided_batched = nullptr;
  decltype(&::cublasGetStatusString) status_string = nullptr;
};

// Of the major version that this was compiled for. Throws SystemError where there is none.
const CublasLibrary& cublas_library();

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CUBLAS_LIBRARY_H_
