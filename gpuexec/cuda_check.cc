#include "gpuexec/cuda_check.h"

#include <string>

#include "common/error.h"
#include "gpuexec/backend.h"
#include "gpuexec/cublas_library.h"

namespace doppler {
namespace {

std::string describe(const char* call, const std::string& reason, const char* file, int line) {
  return std::string(call) + ": " + reason + " (" + file + ":" + std::to_string(line) + ")";
}

// Errors that leave a context usable: what was asked for was refused. After any other, every later
// call fails too.
bool is_refusal(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidValue:
    case cudaErrorMemoryAllocation:
    case cudaErrorInitializationError:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorInvalidConfiguration:
    case cudaErrorPeerAccessUnsupported:
    case cudaErrorPeerAccessAlreadyEnabled:
    case cudaErrorPeerAccessNotEnabled:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorNotSupported:
      return true;
    default:
      return false;
  }
}

}  // namespace

void check_cuda(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  const std::string text = describe(
      call, std::string(cudaGetErrorName(error)) + ", " + cudaGetErrorString(error), file, line);
  cudaGetLastError();  // forget it, if it can be forgotten
  if (is_refusal(error)) throw SystemError(text);
  throw PoisonedError(text + "; the CUDA context is lost, start the process anew");
}

void check_cublas(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text = describe(call, cublas_library().status_string(status), file, line);
  if (status == CUBLAS_STATUS_EXECUTION_FAILED || status == CUBLAS_STATUS_INTERNAL_ERROR) {
    throw PoisonedError(text + "; the CUDA context may be lost, start the process anew");
  }
  throw SystemError(text);
}

}  // namespace doppler
