#include "common/dense_rows.h"

#include <algorithm>
#include <cmath>

#include "common/vec8.h"

namespace doppler {
namespace {

constexpr float kNormEpsilon = 1e-5F;

// out += x matrix, kVectors * 8 columns of it.
template <std::size_t kVectors>
void add_columns(const float* x, std::size_t inputs, const float* matrix, std::size_t outputs,
                 float* out) {
  Vec8 sums[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) sums[v] = load8(out + 8 * v);
  for (std::size_t i = 0; i < inputs; ++i) {
    const Vec8 factor = broadcast8(x[i]);
    const float* row = matrix + i * outputs;
    for (std::size_t v = 0; v < kVectors; ++v) sums[v] += factor * load8(row + 8 * v);
  }
  for (std::size_t v = 0; v < kVectors; ++v) store8(out + 8 * v, sums[v]);
}

}  // namespace

void add_product(const float* x, std::size_t inputs, const float* matrix, std::size_t outputs,
                 float* out) {
  std::size_t at = 0;
  for (; at + 32 <= outputs; at += 32) add_columns<4>(x, inputs, matrix + at, outputs, out + at);
  for (; at < outputs; at += 8) add_columns<1>(x, inputs, matrix + at, outputs, out + at);
}

float dot(const float* a, const float* b, std::size_t count) {
  Vec8 sum{};
  for (std::size_t i = 0; i < count; i += 8) sum += load8(a + i) * load8(b + i);
  return sum8(sum);
}

void add_scaled(float* sum, const float* values, float factor, std::size_t count) {
  const Vec8 scale = broadcast8(factor);
  for (std::size_t i = 0; i < count; i += 8) {
    store8(sum + i, load8(sum + i) + scale * load8(values + i));
  }
}

void add_row(float* sum, const float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 8) store8(sum + i, load8(sum + i) + load8(values + i));
}

void reverse_product(const float* x, std::size_t inputs, const float* transposed,
                     std::size_t outputs, const float* out_gradient, float* x_gradient,
                     float* matrix_gradient) {
  std::fill(x_gradient, x_gradient + inputs, 0.0F);
  add_product(out_gradient, outputs, transposed, inputs, x_gradient);
  for (std::size_t i = 0; i < inputs; ++i) {
    if (x[i] != 0) add_scaled(matrix_gradient + i * outputs, out_gradient, x[i], outputs);
  }
}

void transpose(const float* matrix, std::size_t rows, std::size_t columns, float* into) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) into[c * rows + r] = matrix[r * columns + c];
  }
}

bool all_zero(const float* values, std::size_t count) {
  return std::all_of(values, values + count, [](float value) { return value == 0; });
}

void rectify(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 8) {
    store8(values + i, positive_part(load8(values + i)));
  }
}

void mask_gradient(const float* rectified, float* gradient, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 8) {
    const Vec8 passed = load8(rectified + i) > 0 ? load8(gradient + i) : Vec8{};
    store8(gradient + i, passed);
  }
}

Moments moments_of(const float* values, std::size_t count) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += values[i];
  const float mean = sum / static_cast<float>(count);
  float squares = 0;
  for (std::size_t i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
  return {mean, 1.0F / std::sqrt(squares / static_cast<float>(count) + kNormEpsilon)};
}

}  // namespace doppler
