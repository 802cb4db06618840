// What CUDA hands out, owned: freed when its owner goes, silently. Each belongs to the GPU that was
// current when it was made.
#ifndef DOPPLER_GPUEXEC_CUDA_HANDLES_H_
#define DOPPLER_GPUEXEC_CUDA_HANDLES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "gpuexec/cublas_library.h"
#include "gpuexec/cuda_check.h"

namespace doppler {

struct CudaRelease {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  void operator()(cublasHandle_t handle) const { cublas_library().destroy(handle); }
};

// create() makes a new one in place of the old one.
class CudaStream {
 public:
  void create() {
    cudaStream_t stream = nullptr;
    DP_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    owned_.reset(stream);
  }
  cudaStream_t get() const { return owned_.get(); }

 private:
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, CudaRelease> owned_;
};

class CudaEvent {
 public:
  void create() {
    cudaEvent_t event = nullptr;
    DP_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    owned_.reset(event);
  }
  cudaEvent_t get() const { return owned_.get(); }
  void release() { static_cast<void>(owned_.release()); }  // it is not freed then

 private:
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, CudaRelease> owned_;
};

class CublasHandle {
 public:
  void create() {
    cublasHandle_t handle = nullptr;
    DP_CUBLAS(cublas_library().create(&handle));
    owned_.reset(handle);
  }
  cublasHandle_t get() const { return owned_.get(); }

 private:
  std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, CudaRelease> owned_;
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() { release(); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void allocate(std::size_t bytes) {
    release();
    DP_CUDA(cudaMalloc(&memory_, bytes));
    size_ = bytes;
  }
  // Whether there was room.
  [[nodiscard]] bool try_allocate(std::size_t bytes) {
    release();
    const cudaError_t error = cudaMalloc(&memory_, bytes);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      memory_ = nullptr;
      return false;
    }
    DP_CUDA(error);
    size_ = bytes;
    return true;
  }
  void release() {
    if (memory_ != nullptr) cudaFree(memory_);
    memory_ = nullptr;
    size_ = 0;
  }
  std::uint8_t* get() const { return static_cast<std::uint8_t*>(memory_); }
  std::size_t size() const { return size_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

// Of the host, that GPUs read and write without the CPU.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  ~PinnedMemory() { release(); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  void allocate(std::size_t bytes) {
    release();
    DP_CUDA(cudaMallocHost(&memory_, bytes));
    size_ = bytes;
  }
  void* get() const { return memory_; }
  std::size_t size() const { return size_; }

 private:
  void release() {
    if (memory_ != nullptr) cudaFreeHost(memory_);
    memory_ = nullptr;
    size_ = 0;
  }
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CUDA_HANDLES_H_
