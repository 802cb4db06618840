// EnumOpt, the enumerative baseline of the paper: group by group, the assignment of its shards to
// devices that transfers least.
#ifndef DOPPLER_SIM_ENUM_OPT_H_
#define DOPPLER_SIM_ENUM_OPT_H_

#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/executor.h"
#include "common/ids.h"
#include "sim/baseline_result.h"

namespace doppler {

struct EnumOptPlan {
  Assignment assignment;           // [operations]
  std::vector<OperationId> order;  // [operations], group by group
};

// Walks the groups (operation_groups.h: as stated in the file, else symmetry classes and depths) in
// topological order. The shards of a group are dealt out evenly, every device getting
// floor(shards / devices) of them or one more, as the paper's groups have a shard for each device;
// without that, everything would end up on one device, where nothing is transferred. Of all such
// assignments it keeps one with the least transfer time: the sum over the inputs of all shards.
// What it enumerates in effect is solved exactly for groups of any size (least_transfer_dealing.h).
// Ties go to the devices with the least to compute so far.
EnumOptPlan enum_opt_plan(const CostTable& costs);

BaselineResult enum_opt(const CostTable& costs, Executor& executor);

}  // namespace doppler

#endif  // DOPPLER_SIM_ENUM_OPT_H_
