// Products of matrices of floats in the calling thread alone.
#ifndef DOPPLER_GPUEXEC_CPU_GEMM_H_
#define DOPPLER_GPUEXEC_CPU_GEMM_H_

#include <cstdint>

namespace doppler {

// c = scale * a b; a: [rows, inner], b: [inner, columns], c: [rows, columns], all row-major. By
// OpenBLAS where this was built with it, told to use one thread a caller; else by our own.
void multiply_matrices(std::int64_t rows, std::int64_t columns, std::int64_t inner, float scale,
                       const float* a, const float* b, float* c);

// Our own: blocked, vectorised by the compiler. What builds without OpenBLAS use.
void multiply_matrices_blocked(std::int64_t rows, std::int64_t columns, std::int64_t inner,
                               float scale, const float* a, const float* b, float* c);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CPU_GEMM_H_
