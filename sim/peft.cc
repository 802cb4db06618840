#include "sim/peft.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "sim/device_choices.h"

namespace doppler {
namespace {

// [operations, devices]; what stands at a forbidden device has no meaning.
class OptimisticCosts {
 public:
  OptimisticCosts(const CostTable& costs, const DeviceChoices& choices)
      : devices_(static_cast<std::size_t>(costs.device_count())),
        values_(costs.graph().operation_count() * devices_) {
    const Graph& graph = costs.graph();
    const std::vector<OperationId>& order = graph.topological_order();
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      const std::int32_t first_edge = graph.first_out_edge(*at).value();
      const auto successors = graph.successors(*at);
      for (DeviceId device : choices.of(*at)) {
        SimTime longest;
        for (std::size_t i = 0; i < successors.size(); ++i) {
          const SimTime mean =
              costs.mean_transfer(EdgeId(first_edge + static_cast<std::int32_t>(i)));
          SimTime shortest = SimTime::max();
          for (DeviceId next : choices.of(successors[i])) {
            const SimTime transfer = next == device ? SimTime(0) : mean;
            shortest = std::min(shortest, transfer + costs.compute(successors[i], next) +
                                              (*this)(successors[i], next));
          }
          longest = std::max(longest, shortest);
        }
        values_[at->index() * devices_ + device.index()] = longest;
      }
    }
  }

  SimTime operator()(OperationId operation, DeviceId device) const {
    return values_[operation.index() * devices_ + device.index()];
  }
  // Over the devices that are allowed, rounded down.
  SimTime mean(OperationId operation, const DeviceChoices& choices) const {
    __int128 sum = 0;
    for (DeviceId device : choices.of(operation)) sum += (*this)(operation, device).ticks();
    return SimTime(
        static_cast<std::int64_t>(sum / static_cast<__int128>(choices.of(operation).size())));
  }

 private:
  std::size_t devices_;
  std::vector<SimTime> values_;
};

}  // namespace

PartialSchedule peft_schedule(const CostTable& costs) {
  const Graph& graph = costs.graph();
  const DeviceChoices choices(costs);
  const OptimisticCosts optimistic(costs, choices);
  PartialSchedule schedule(costs);
  std::vector<std::size_t> missing_inputs;
  // The largest mean first, so its negative; then the smallest id.
  std::set<std::pair<SimTime, OperationId>> ready;
  const auto add_ready = [&](OperationId operation) {
    ready.emplace(SimTime(0) - optimistic.mean(operation, choices), operation);
  };
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    missing_inputs.push_back(graph.in_degree(id));
    if (missing_inputs.back() == 0) add_ready(id);
  }
  while (!ready.empty()) {
    const OperationId operation = ready.begin()->second;
    ready.erase(ready.begin());
    DeviceId device;
    SimTime start;
    SimTime least = SimTime::max();
    for (DeviceId candidate : choices.of(operation)) {
      const SimTime candidate_start = schedule.earliest_inserted_start(operation, candidate);
      const SimTime sum =
          candidate_start + costs.compute(operation, candidate) + optimistic(operation, candidate);
      if (sum < least) {
        device = candidate;
        start = candidate_start;
        least = sum;
      }
    }
    schedule.place(operation, device, start);
    for (OperationId successor : graph.successors(operation)) {
      if (--missing_inputs[successor.index()] == 0) add_ready(successor);
    }
  }
  return schedule;
}

BaselineResult peft(const CostTable& costs, Executor& executor) {
  const PartialSchedule schedule = peft_schedule(costs);
  return cost_of(executor, schedule.assignment(), schedule.order());
}

}  // namespace doppler
