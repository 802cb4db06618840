// The paper's heuristic baseline and default teacher: of the ready operations take one with the
// largest bottom level, and place it where it can start earliest.
#ifndef DOPPLER_SIM_CRITICAL_PATH_H_
#define DOPPLER_SIM_CRITICAL_PATH_H_

#include <cstdint>

#include "common/cost_table.h"
#include "common/executor.h"
#include "common/levels.h"
#include "common/random.h"
#include "sim/baseline_result.h"
#include "sim/partial_schedule.h"
#include "sim/try_monitor.h"

namespace doppler {

// One schedule; ties between operations and between devices are broken at random.
PartialSchedule critical_path_schedule(const CostTable& costs, const Levels& levels,
                                       RandomStream& random);

// The best and the mean of `tries` (>= 1) schedules, or of those before `monitor` stops them.
BaselineResult critical_path(const CostTable& costs, Executor& executor, std::uint64_t seed,
                             std::int64_t tries, const TryMonitor& monitor = {});

}  // namespace doppler

#endif  // DOPPLER_SIM_CRITICAL_PATH_H_
