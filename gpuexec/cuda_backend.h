// The cuda backend: devices are GPUs, or shares of one.
//
// Device d of the topology is GPU d modulo the number of GPUs, so that several devices may share
// one (for tests). Each has an arena, a compute stream, a stream for its outgoing copies and a
// cuBLAS handle with a workspace of its own. Operations start when the host has seen the end of
// what they wait for; one host thread launches and polls events. Copies go from GPU to GPU directly
// where that is possible, else through pinned host memory. Nothing is allocated while a run goes
// on.
//
// Errors of the driver throw SystemError; those that spoil the context for good (a fault in a
// kernel, a kernel that does not end) PoisonedError: the process must be replaced.
//
// No CUDA header is needed to use this. Not thread-safe.
#ifndef DOPPLER_GPUEXEC_CUDA_BACKEND_H_
#define DOPPLER_GPUEXEC_CUDA_BACKEND_H_

#include <cstdint>
#include <memory>

#include "common/topology.h"
#include "gpuexec/backend.h"

namespace doppler {

// How many GPUs this process may use; 0 without a driver.
int cuda_gpu_count();

struct CudaOptions {
  bool peer_copies = true;  // false: all copies go through host memory, for tests of that path
};

// As many devices as `topology` has, which must outlive it. Throws SystemError without a GPU.
std::unique_ptr<Backend> make_cuda_backend(const Topology& topology,
                                           const CudaOptions& options = {});

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CUDA_BACKEND_H_
