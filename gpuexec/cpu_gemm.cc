#include "gpuexec/cpu_gemm.h"

#include <algorithm>
#include <array>

#ifdef DP_HAVE_OPENBLAS
// Debian's runtime package has the library but no header; these are CBLAS and OpenBLAS's own.
extern "C" {
void openblas_set_num_threads(int count);
// NOLINTNEXTLINE(readability-identifier-naming)
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
}
#endif

namespace doppler {
namespace {

constexpr std::int64_t kRowsAtOnce = 4;
constexpr std::int64_t kColumnsAtOnce = 16;
constexpr std::int64_t kInnerBlock = 256;
constexpr std::int64_t kColumnBlock = 512;

// c[4, 16] += scale * a[4, inner] b[inner, 16].
void multiply_tile(std::int64_t inner, float scale, const float* a, std::int64_t a_stride,
                   const float* b, std::int64_t b_stride, float* c, std::int64_t c_stride) {
  std::array<std::array<float, kColumnsAtOnce>, kRowsAtOnce> sums{};
  for (std::int64_t k = 0; k < inner; ++k) {
    const float* row = b + k * b_stride;
    for (std::size_t i = 0; i < kRowsAtOnce; ++i) {
      const float factor = a[static_cast<std::int64_t>(i) * a_stride + k];
      for (std::size_t j = 0; j < kColumnsAtOnce; ++j) sums[i][j] += factor * row[j];
    }
  }
  for (std::size_t i = 0; i < kRowsAtOnce; ++i) {
    float* target = c + static_cast<std::int64_t>(i) * c_stride;
    for (std::size_t j = 0; j < kColumnsAtOnce; ++j) target[j] += scale * sums[i][j];
  }
}

void multiply_edge(std::int64_t rows, std::int64_t columns, std::int64_t inner, float scale,
                   const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                   float* c, std::int64_t c_stride) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < inner; ++k) {
      const float factor = scale * a[i * a_stride + k];
      for (std::int64_t j = 0; j < columns; ++j)
        c[i * c_stride + j] += factor * b[k * b_stride + j];
    }
  }
}

}  // namespace

void multiply_matrices_blocked(std::int64_t rows, std::int64_t columns, std::int64_t inner,
                               float scale, const float* a, const float* b, float* c) {
  std::fill(c, c + rows * columns, 0.0F);
  for (std::int64_t k = 0; k < inner; k += kInnerBlock) {
    const std::int64_t depth = std::min(kInnerBlock, inner - k);
    for (std::int64_t block = 0; block < columns; block += kColumnBlock) {
      const std::int64_t block_end = std::min(columns, block + kColumnBlock);
      for (std::int64_t i = 0; i < rows; i += kRowsAtOnce) {
        const std::int64_t height = std::min(kRowsAtOnce, rows - i);
        for (std::int64_t j = block; j < block_end; j += kColumnsAtOnce) {
          const std::int64_t width = std::min(kColumnsAtOnce, block_end - j);
          const float* left = a + i * inner + k;
          const float* right = b + k * columns + j;
          float* target = c + i * columns + j;
          if (height == kRowsAtOnce && width == kColumnsAtOnce) {
            multiply_tile(depth, scale, left, inner, right, columns, target, columns);
          } else {
            multiply_edge(height, width, depth, scale, left, inner, right, columns, target,
                          columns);
          }
        }
      }
    }
  }
}

void multiply_matrices(std::int64_t rows, std::int64_t columns, std::int64_t inner, float scale,
                       const float* a, const float* b, float* c) {
#ifdef DP_HAVE_OPENBLAS
  static const bool one_thread = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(one_thread);
  constexpr int kRowMajor = 101;
  constexpr int kNoTranspose = 111;
  constexpr std::int64_t kLargest = INT32_MAX;
  if (rows <= kLargest && columns <= kLargest && inner <= kLargest) {
    const int m = static_cast<int>(rows);
    const int n = static_cast<int>(columns);
    const int k = static_cast<int>(inner);
    cblas_sgemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, scale, a, k, b, n, 0.0F, c, n);
    return;
  }
#endif
  multiply_matrices_blocked(rows, columns, inner, scale, a, b, c);
}

}  // namespace doppler
