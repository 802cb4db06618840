#include "sim/enum_opt.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/device_choices.h"
#include "sim/least_transfer_dealing.h"
#include "sim/operation_groups.h"

namespace doppler {

EnumOptPlan enum_opt_plan(const CostTable& costs) {
  const Graph& graph = costs.graph();
  const DeviceChoices choices(costs);
  Assignment assignment(graph.operation_count());
  std::vector<OperationId> order;
  IdVector<DeviceId, std::int64_t> load_ticks(static_cast<std::size_t>(costs.device_count()), 0);
  std::vector<std::vector<DealingOption>> options;
  for (const std::vector<OperationId>& group : stated_groups(graph)) {
    options.clear();
    for (OperationId operation : group) {
      const auto predecessors = graph.predecessors(operation);
      const auto edges = graph.in_edges(operation);
      std::vector<DealingOption>& places = options.emplace_back();
      for (DeviceId device : choices.of(operation)) {
        DealingOption place{
            .device = device,
            .load_ticks = load_ticks[device] + costs.compute(operation, device).ticks()};
        for (std::size_t i = 0; i < predecessors.size(); ++i) {
          place.transfer_ticks +=
              costs.transfer(edges[i], assignment[predecessors[i]], device).ticks();
        }
        places.push_back(place);
      }
    }
    const std::vector<DeviceId> devices = deal_with_least_transfer(options, costs.device_count());
    for (std::size_t i = 0; i < group.size(); ++i) {
      assignment[group[i]] = devices[i];
      load_ticks[devices[i]] += costs.compute(group[i], devices[i]).ticks();
      order.push_back(group[i]);
    }
  }
  return {std::move(assignment), std::move(order)};
}

BaselineResult enum_opt(const CostTable& costs, Executor& executor) {
  EnumOptPlan plan = enum_opt_plan(costs);
  return cost_of(executor, std::move(plan.assignment), std::move(plan.order));
}

}  // namespace doppler
