// ArenaPlan: where in the memory of its device each buffer lies. Made before a run, so that nothing
// is allocated while it goes on.
//
// Two buffers may share memory if, by the graph alone, whoever uses the one is certain to have
// ended before the other is written: the order in which devices and links get to their work is not
// known beforehand. An output is written by its operation; a copy from the end of its producer on.
// Buffers are laid out in topological order of who writes them, each at the lowest address that is
// free of all buffers that may live at the same time. Resident buffers share nothing.
//
// Scratch: each device has one more area, for the operation that runs on it.
#ifndef DOPPLER_GPUEXEC_ARENA_PLAN_H_
#define DOPPLER_GPUEXEC_ARENA_PLAN_H_

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "gpuexec/precedence.h"
#include "gpuexec/run_plan.h"

namespace doppler {

struct ArenaPlan {
  static constexpr std::int64_t kAlignment = 256;  // bytes

  std::vector<std::int64_t> offset;          // [buffers], bytes within the device's arena
  IdVector<DeviceId, std::int64_t> scratch;  // [devices], offset of its scratch
  IdVector<DeviceId, std::int64_t> bytes;    // [devices], of the whole arena
};

// `buffer_bytes` are the sizes to plan for ([buffers] of `plan`), `scratch_bytes` [devices].
ArenaPlan plan_arena(const RunPlan& plan, const Precedence& precedence,
                     const std::vector<std::int64_t>& buffer_bytes,
                     const IdVector<DeviceId, std::int64_t>& scratch_bytes);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_ARENA_PLAN_H_
