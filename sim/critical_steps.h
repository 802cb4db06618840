// The critical path of a schedule that was carried out: what the makespan was spent on.
#ifndef DOPPLER_SIM_CRITICAL_STEPS_H_
#define DOPPLER_SIM_CRITICAL_STEPS_H_

#include <cstdint>
#include <vector>

#include "common/executor.h"
#include "common/sim_time.h"

namespace doppler {

struct ScheduleStep {
  bool is_transfer = false;
  std::int32_t index = -1;  // an OperationId, or a position in Execution::transfers
  SimTime start;
  SimTime end;
  Wait wait;  // what it waited for, which is the step before; kNothing for the first
};

// From time 0 to the makespan without a gap: each step ends where the next starts, so the durations
// add up to the makespan. Follows Execution::wait back from the operation that ends last (of
// several, the one with the smallest id). Needs a record of the physical simulator.
std::vector<ScheduleStep> critical_steps(const Execution& execution);

}  // namespace doppler

#endif  // DOPPLER_SIM_CRITICAL_STEPS_H_
