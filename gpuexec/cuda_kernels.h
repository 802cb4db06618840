// The kernels of the cuda backend, as calls that put them on a stream of the current device. All
// pointers but to arguments are of device memory. Errors are left to cudaGetLastError().
#ifndef DOPPLER_GPUEXEC_CUDA_KERNELS_H_
#define DOPPLER_GPUEXEC_CUDA_KERNELS_H_

#include <cstdint>

#include <cuda_runtime_api.h>

#include "gpuexec/operation_work.h"

namespace doppler {

inline constexpr int kMostPieces = 16;    // of one launch
inline constexpr int kPartialSums = 256;  // floats of scratch for sums over long reads

struct DevicePiece {
  const float* source = nullptr;
  std::int64_t target = 0;
  std::int64_t length = 0;
  std::int64_t period = 0;  // 0: not repeated
  bool first = false;
};

struct PieceList {
  DevicePiece pieces[kMostPieces];
  int count = 0;
  bool continues = false;  // the output holds what pieces before these gave
};

// output[i] = function(combination of the pieces at i), for i below `count`.
void launch_combine(cudaStream_t stream, const PieceList& pieces, Combination combination,
                    Function function, float* output, std::int64_t count);

// Row by row of `axis` elements.
void launch_softmax(cudaStream_t stream, const float* input, float* output, std::int64_t rows,
                    std::int64_t axis);
void launch_normalise(cudaStream_t stream, const float* input, float* output, std::int64_t rows,
                      std::int64_t axis);

// output[i] = mean over e of input[i + e * count].
void launch_fold(cudaStream_t stream, const float* input, float* output, std::int64_t count,
                 int parts);

// As run_synthetic() of cpu_kernels.cc. Adds the share of one read at a time: `first` begins.
void launch_gather_share(cudaStream_t stream, const float* read, std::int64_t length, float share,
                         bool first, float* output, std::int64_t count);
// Every element x becomes a x + b, `turns` times.
void launch_turns(cudaStream_t stream, float* values, std::int64_t count, std::int64_t turns);
// values[0] += 1e-6 * the sum of `count` elements of `read`, always in the same order.
void launch_add_sum(cudaStream_t stream, const float* read, std::int64_t count, float* partial_sums,
                    float* values);

// Writes to an address that does not exist.
void launch_fault(cudaStream_t stream);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CUDA_KERNELS_H_
