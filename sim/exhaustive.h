// Exhaustive search: the best assignment of a tiny graph, with proof that there is no better one.
#ifndef DOPPLER_SIM_EXHAUSTIVE_H_
#define DOPPLER_SIM_EXHAUSTIVE_H_

#include <cstdint>
#include <optional>
#include <stop_token>

#include "common/cost_table.h"
#include "common/executor.h"
#include "common/ids.h"
#include "sim/baseline_result.h"

namespace doppler {

struct ExhaustiveOptions {
  std::int64_t limit = 2000000;  // partial and whole assignments that may be looked at
  // Whether the executor tells devices apart by no more than the cost table does (no links that are
  // shared, no copy engines, no memory limits). Then devices that the table treats alike are
  // interchangeable, and only one of all relabellings is looked at.
  bool cost_table_tells_all = true;
  // Whether no execution is faster than the cost table's times (no noise). Then parts of the search
  // that cannot become better than the best so far are skipped.
  bool cost_table_bounds = true;
  std::stop_token stop = {};  // stops early and returns the best so far, not proven
};

// Depth first in topological order. Starts from HEFT's assignment as the best so far. Nothing if
// the limit is reached before the search is complete. The order of the result is the topological
// one, and optimal means: with this order, among assignments that are feasible if any is.
std::optional<BaselineResult> exhaustive(const CostTable& costs, Executor& executor,
                                         const ExhaustiveOptions& options);

// Devices that can be swapped without changing the cost table get the same number, 0.. by smallest
// device ([devices]).
IdVector<DeviceId, std::int32_t> interchangeable_devices(const CostTable& costs);

}  // namespace doppler

#endif  // DOPPLER_SIM_EXHAUSTIVE_H_
