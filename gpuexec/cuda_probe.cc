#include "gpuexec/cuda_probe.h"

#include "common/sim_time.h"
#include "gpuexec/cuda_check.h"
#include "gpuexec/cuda_handles.h"
#include "gpuexec/cuda_kernels.h"
#include "gpuexec/run_core.h"

namespace doppler {

double time_plain_cublas(std::int64_t n) {
  constexpr int kCalls = 20;
  CudaStream stream;
  stream.create();
  CublasHandle cublas;
  cublas.create();
  DeviceMemory memory;
  const auto elements = static_cast<std::size_t>(n * n);
  memory.allocate(3 * elements * sizeof(float));
  auto* a = reinterpret_cast<float*>(memory.get());
  DP_CUDA(cudaMemset(a, 0, 3 * elements * sizeof(float)));
  DP_CUDA(cudaDeviceSynchronize());
  DP_CUBLAS(cublas_library().set_stream(cublas.get(), stream.get()));
  const float alpha = 1;
  const float beta = 0;
  const int size = static_cast<int>(n);
  std::int64_t began = 0;
  for (int call = -3; call < kCalls; ++call) {  // three to warm up
    if (call == 0) {
      DP_CUDA(cudaStreamSynchronize(stream.get()));
      began = now_nanoseconds();
    }
    DP_CUBLAS(cublas_library().sgemm(cublas.get(), CUBLAS_OP_N, CUBLAS_OP_N, size, size, size,
                                     &alpha, a, size, a + elements, size, &beta, a + 2 * elements,
                                     size));
  }
  DP_CUDA(cudaStreamSynchronize(stream.get()));
  return static_cast<double>(now_nanoseconds() - began) * 1e-9 / kCalls;
}

void poison_cuda_context() {
  CudaStream stream;
  stream.create();
  launch_fault(stream.get());
  DP_CUDA(cudaGetLastError());
  DP_CUDA(cudaStreamSynchronize(stream.get()));
}

}  // namespace doppler
