// The kernels of the cpu backend: carry an OperationWork out in the calling thread.
#ifndef DOPPLER_GPUEXEC_CPU_KERNELS_H_
#define DOPPLER_GPUEXEC_CPU_KERNELS_H_

#include <cstdint>
#include <span>

#include "gpuexec/operation_work.h"

namespace doppler {

// `reads` point to the operands, as many as work.read_elements; `output` takes `capacity` elements,
// those beyond work.output_elements become 0; `scratch` has room for work.scratch_elements. None
// overlap. The same bits whenever and wherever it is called.
void run_work(const OperationWork& work, std::span<const float* const> reads, float* output,
              std::int64_t capacity, float* scratch);

// What tensors hold that are there from the start: numbers between -1 and 1, another sequence for
// each `tensor`.
void fill_tensor(std::uint64_t tensor, float* output, std::int64_t count);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CPU_KERNELS_H_
