// PEFT, predict earliest finish time (Arabnejad, Barbosa 2014): HEFT that looks ahead. The
// *optimistic cost* of an operation on a device is the longest time that its successors need until
// the end, were every device free for each of them: the largest over its successors of the smallest
// over their devices of transfer + compute + optimistic cost. Transfers cost their mean, as in the
// paper.
#ifndef DOPPLER_SIM_PEFT_H_
#define DOPPLER_SIM_PEFT_H_

#include "common/cost_table.h"
#include "common/executor.h"
#include "sim/baseline_result.h"
#include "sim/partial_schedule.h"

namespace doppler {

// Of the ready operations the one with the largest mean optimistic cost, on the device where its
// end plus the optimistic cost there is smallest, with insertion. Deterministic: equal means go to
// the smaller operation id, equal sums to the smaller device id. O(edges x devices^2) besides what
// insertion takes.
PartialSchedule peft_schedule(const CostTable& costs);

BaselineResult peft(const CostTable& costs, Executor& executor);

}  // namespace doppler

#endif  // DOPPLER_SIM_PEFT_H_
