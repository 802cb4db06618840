// Placements that look at no costs. Whatever learns should beat them.
#ifndef DOPPLER_SIM_SIMPLE_PLACEMENTS_H_
#define DOPPLER_SIM_SIMPLE_PLACEMENTS_H_

#include <cstdint>

#include "common/cost_table.h"
#include "common/executor.h"
#include "sim/baseline_result.h"
#include "sim/try_monitor.h"

namespace doppler {

// Everything on device 0, but for what may not be there: that goes to the first device it may run
// on.
BaselineResult one_device(const CostTable& costs, Executor& executor);

// Operation id modulo devices; or its position in the topological order modulo devices. The devices
// are those that the operation may run on.
BaselineResult round_robin_by_id(const CostTable& costs, Executor& executor);
BaselineResult round_robin_topological(const CostTable& costs, Executor& executor);

// The best and the mean of `samples` (>= 1) uniform assignments, or of those before `monitor` stops
// them.
BaselineResult random_placement(const CostTable& costs, Executor& executor, std::uint64_t seed,
                                std::int64_t samples, const TryMonitor& monitor = {});

}  // namespace doppler

#endif  // DOPPLER_SIM_SIMPLE_PLACEMENTS_H_
