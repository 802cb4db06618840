#include "sim/heft.h"

#include <algorithm>
#include <vector>

#include "common/levels.h"
#include "sim/device_choices.h"

namespace doppler {
namespace {

// Kahn's algorithm with a queue: entries by id, then operations in the order in which their last
// predecessor is taken.
std::vector<OperationId> breadth_first_order(const Graph& graph) {
  std::vector<OperationId> order;
  std::vector<std::size_t> missing_inputs;
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    missing_inputs.push_back(graph.in_degree(id));
    if (missing_inputs.back() == 0) order.push_back(id);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (OperationId successor : graph.successors(order[next])) {
      if (--missing_inputs[successor.index()] == 0) order.push_back(successor);
    }
  }
  return order;
}

}  // namespace

PartialSchedule heft_schedule(const CostTable& costs) {
  const Levels levels = compute_levels(costs);
  // An operation ranks at least as high as its successors, and the stable sort keeps it in front of
  // them on a tie. Breadth first matters: it keeps shards of one operation together, where smallest
  // id first would finish one chain after the other (on the paper's chain_mm graph that costs a
  // third of the makespan).
  std::vector<OperationId> by_rank = breadth_first_order(costs.graph());
  std::stable_sort(by_rank.begin(), by_rank.end(), [&](OperationId a, OperationId b) {
    return levels.bottom_level[a] > levels.bottom_level[b];
  });

  const DeviceChoices choices(costs);
  PartialSchedule schedule(costs);
  for (OperationId operation : by_rank) {
    DeviceId device;
    SimTime start;
    SimTime end = SimTime::max();
    for (DeviceId candidate : choices.of(operation)) {
      const SimTime candidate_start = schedule.earliest_inserted_start(operation, candidate);
      const SimTime candidate_end = candidate_start + costs.compute(operation, candidate);
      if (candidate_end < end) {
        device = candidate;
        start = candidate_start;
        end = candidate_end;
      }
    }
    schedule.place(operation, device, start);
  }
  return schedule;
}

BaselineResult heft(const CostTable& costs, Executor& executor) {
  const PartialSchedule schedule = heft_schedule(costs);
  return cost_of(executor, schedule.assignment(), schedule.order());
}

}  // namespace doppler
