// What the cuda backend holds for each device of the topology.
#ifndef DOPPLER_GPUEXEC_CUDA_DEVICE_H_
#define DOPPLER_GPUEXEC_CUDA_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpuexec/cuda_handles.h"

namespace doppler {

// A transfer under way.
struct CudaSent {
  std::int32_t transfer = -1;
  std::int64_t began = 0;
};

struct CudaDevice {
  int gpu = 0;
  CudaStream compute;
  CudaStream copy;
  CudaStream copy_in;  // of what comes through the host
  CudaEvent done;      // of the operation that runs
  CudaEvent staged;    // the newest tensor is in the staging buffer
  CublasHandle cublas;
  DeviceMemory workspace;
  DeviceMemory arena;
  PinnedMemory staging;  // where copies to some device go through the host
  std::int32_t operation = -1;
  std::int64_t began = 0;
  std::vector<CudaSent> sent;  // [transfers from here], in the order of the stream
  std::size_t sent_begin = 0;
  std::size_t sent_end = 0;
  std::int32_t last_staged = -1;  // the newest transfer through the staging buffer
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CUDA_DEVICE_H_
