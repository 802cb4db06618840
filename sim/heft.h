// HEFT with insertion (Topcuoglu, Hariri, Wu 2002): operations by decreasing upward rank (the
// bottom level), each on the device where it ends earliest, in a gap if one is long enough.
#ifndef DOPPLER_SIM_HEFT_H_
#define DOPPLER_SIM_HEFT_H_

#include "common/cost_table.h"
#include "common/executor.h"
#include "sim/baseline_result.h"
#include "sim/partial_schedule.h"

namespace doppler {

// Deterministic: equal ranks in breadth-first topological order, equal ends on the device with the
// smallest id.
PartialSchedule heft_schedule(const CostTable& costs);

BaselineResult heft(const CostTable& costs, Executor& executor);

}  // namespace doppler

#endif  // DOPPLER_SIM_HEFT_H_
