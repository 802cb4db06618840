// ETF, earliest time first (Hwang, Chow, Anger, Lee 1989): of all pairs of a ready operation and a
// device take the one that can start earliest.
#ifndef DOPPLER_SIM_ETF_H_
#define DOPPLER_SIM_ETF_H_

#include "common/cost_table.h"
#include "common/executor.h"
#include "sim/baseline_result.h"
#include "sim/partial_schedule.h"

namespace doppler {

// Deterministic: equal starts go to the larger bottom level, then to the smaller operation id, then
// to the smaller device id.
PartialSchedule etf_schedule(const CostTable& costs);

BaselineResult etf(const CostTable& costs, Executor& executor);

}  // namespace doppler

#endif  // DOPPLER_SIM_ETF_H_
