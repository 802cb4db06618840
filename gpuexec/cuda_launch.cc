#include "gpuexec/cuda_launch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gpuexec/cublas_library.h"
#include "gpuexec/cuda_check.h"
#include "gpuexec/cuda_kernels.h"

namespace doppler {
namespace {

constexpr std::int64_t kFloatBytes = sizeof(float);

// As gather_operand() of cpu_kernels.cc.
const float* gather_operand(cudaStream_t stream, const OperationWork& work,
                            std::span<const float* const> reads, std::size_t first,
                            std::size_t last, float*& scratch) {
  if (last - first == 1 && work.expansion == 1) return reads[first];
  const float* operand = scratch;
  for (int e = 0; e < work.expansion; ++e) {
    for (std::size_t r = first; r < last; ++r) {
      DP_CUDA(cudaMemcpyAsync(scratch, reads[r],
                              static_cast<std::size_t>(work.read_elements[r] * kFloatBytes),
                              cudaMemcpyDeviceToDevice, stream));
      scratch += work.read_elements[r];
    }
  }
  return operand;
}

void launch_product(cublasHandle_t cublas, cudaStream_t stream, const OperationWork& work,
                    std::span<const float* const> reads, float* output, float* scratch) {
  const float* left = gather_operand(stream, work, reads, 0, work.left_reads, scratch);
  const float* right = gather_operand(stream, work, reads, work.left_reads, reads.size(), scratch);
  float* target = work.expansion == 1 ? output : scratch;
  const auto alpha = static_cast<float>(1 / std::sqrt(static_cast<double>(work.inner)));
  const float beta = 0;
  const auto m = static_cast<int>(work.rows);
  const auto n = static_cast<int>(work.columns);
  const auto k = static_cast<int>(work.inner);
  // cuBLAS is column-major: the transposes, in the other order.
  DP_CUBLAS(cublas_library().sgemm_strided_batched(
      cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &alpha, right, n, work.inner * work.columns, left,
      k, work.rows * work.inner, &beta, target, n, work.rows * work.columns,
      static_cast<int>(work.batch)));
  if (work.expansion > 1) {
    launch_fold(stream, target, output, work.output_elements, work.expansion);
  }
}

void launch_pieces(cudaStream_t stream, const OperationWork& work,
                   std::span<const float* const> reads, float* output) {
  for (std::size_t first = 0; first < work.pieces.size(); first += kMostPieces) {
    const std::size_t last = std::min(work.pieces.size(), first + kMostPieces);
    PieceList list;
    list.continues = first > 0;
    for (std::size_t p = first; p < last; ++p) {
      const OperandPiece& piece = work.pieces[p];
      list.pieces[list.count++] = {.source = reads[piece.read] + piece.source,
                                   .target = piece.target,
                                   .length = piece.length,
                                   .period = piece.period,
                                   .first = piece.first};
    }
    const Function function = last == work.pieces.size() ? work.function : Function::kNone;
    launch_combine(stream, list, work.combination, function, output, work.output_elements);
  }
}

void launch_synthetic(cudaStream_t stream, const OperationWork& work,
                      std::span<const float* const> reads, float* output, float* scratch) {
  const float share = 1.0F / static_cast<float>(std::max<std::size_t>(1, reads.size()));
  if (reads.empty()) {
    DP_CUDA(cudaMemsetAsync(output, 0, static_cast<std::size_t>(work.output_elements * kFloatBytes),
                            stream));
  }
  for (std::size_t r = 0; r < reads.size(); ++r) {
    launch_gather_share(stream, reads[r], work.read_elements[r], share, r == 0, output,
                        work.output_elements);
  }
  const auto turns = static_cast<std::int64_t>(work.flops_per_element / 2 + 0.5);
  if (turns > 0) launch_turns(stream, output, work.output_elements, turns);
  for (std::size_t r = 0; r < reads.size(); ++r) {
    const std::int64_t more = work.read_elements[r] - work.output_elements;
    if (more <= 0) continue;
    launch_add_sum(stream, reads[r] + work.output_elements, more, scratch, output);
  }
}

}  // namespace

void launch_operation(cudaStream_t stream, cublasHandle_t cublas, const OperationWork& work,
                      std::span<const float* const> reads, float* output, float* scratch) {
  switch (work.kind) {
    case WorkKind::kProduct:
      launch_product(cublas, stream, work, reads, output, scratch);
      break;
    case WorkKind::kCombine:
    case WorkKind::kCopy:
      launch_pieces(stream, work, reads, output);
      break;
    case WorkKind::kSoftmax:
      launch_softmax(stream, reads[0], output, work.output_elements / work.axis, work.axis);
      break;
    case WorkKind::kNormalise:
      launch_normalise(stream, reads[0], output, work.output_elements / work.axis, work.axis);
      break;
    case WorkKind::kSynthetic:
      launch_synthetic(stream, work, reads, output, scratch);
      break;
  }
  DP_CUDA(cudaGetLastError());
}

}  // namespace doppler
