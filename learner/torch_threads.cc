#include "learner/torch_threads.h"

#include <ATen/Parallel.h>

// Where LibTorch multiplies through OpenBLAS; null with another BLAS.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int count);

namespace doppler {

void limit_torch_threads(int count) {
  // OpenBLAS keeps a pool of its own, whose idle threads spin on cores that workers need.
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(count);
  at::set_num_threads(count);
  at::set_num_interop_threads(1);
}

}  // namespace doppler
