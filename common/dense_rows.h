// Dense layers on single rows in plain C++, forward and in reverse. Widths are multiples of 8; sums
// have one order on every machine.
#ifndef DOPPLER_COMMON_DENSE_ROWS_H_
#define DOPPLER_COMMON_DENSE_ROWS_H_

#include <cstddef>

namespace doppler {

// out += x matrix; x: [inputs], matrix: [inputs, outputs] row-major, outputs a multiple of 8.
void add_product(const float* x, std::size_t inputs, const float* matrix, std::size_t outputs,
                 float* out);
// The reverse of add_product: the gradient of x is set, that of the matrix added to. The matrix is
// given as [outputs, inputs].
void reverse_product(const float* x, std::size_t inputs, const float* transposed,
                     std::size_t outputs, const float* out_gradient, float* x_gradient,
                     float* matrix_gradient);
// into: [columns, rows]
void transpose(const float* matrix, std::size_t rows, std::size_t columns, float* into);

float dot(const float* a, const float* b, std::size_t count);
// sum += factor * values
void add_scaled(float* sum, const float* values, float factor, std::size_t count);
// sum += values
void add_row(float* sum, const float* values, std::size_t count);
// values = max(0, values)
void rectify(float* values, std::size_t count);
// gradient = 0 where the rectified value is.
void mask_gradient(const float* rectified, float* gradient, std::size_t count);
bool all_zero(const float* values, std::size_t count);

// Of a row, for layer normalisation as LibTorch has it.
struct Moments {
  float mean;
  float per_deviation;  // 1 / sqrt(variance + 1e-5)
};
Moments moments_of(const float* values, std::size_t count);

}  // namespace doppler

#endif  // DOPPLER_COMMON_DENSE_ROWS_H_
