#include "sim/etf.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "common/levels.h"
#include "sim/device_choices.h"

namespace doppler {

PartialSchedule etf_schedule(const CostTable& costs) {
  const Graph& graph = costs.graph();
  const Levels levels = compute_levels(costs);
  const DeviceChoices choices(costs);
  PartialSchedule schedule(costs);
  std::vector<std::size_t> missing_inputs;
  std::vector<OperationId> ready;
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    missing_inputs.push_back(graph.in_degree(id));
    if (missing_inputs.back() == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    // Start, bottom level (the largest first), operation, device: the smallest tuple wins.
    using Candidate = std::tuple<SimTime, SimTime, OperationId, DeviceId>;
    Candidate best(SimTime::max(), SimTime(0), OperationId(), DeviceId());
    for (OperationId operation : ready) {
      for (DeviceId device : choices.of(operation)) {
        best = std::min(best,
                        Candidate(schedule.earliest_start(operation, device),
                                  SimTime(0) - levels.bottom_level[operation], operation, device));
      }
    }
    const auto& [start, level, operation, device] = best;
    schedule.place(operation, device, start);
    ready.erase(std::find(ready.begin(), ready.end(), operation));
    for (OperationId successor : graph.successors(operation)) {
      if (--missing_inputs[successor.index()] == 0) ready.push_back(successor);
    }
  }
  return schedule;
}

BaselineResult etf(const CostTable& costs, Executor& executor) {
  const PartialSchedule schedule = etf_schedule(costs);
  return cost_of(executor, schedule.assignment(), schedule.order());
}

}  // namespace doppler
