#include "sim/critical_operations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>

namespace doppler {
namespace {

// Who was on the device of each operation just before it; no id for the first.
IdVector<OperationId, OperationId> previous_on_device(const CostTable& costs,
                                                      const Assignment& assignment,
                                                      const Execution& execution) {
  const std::size_t n = assignment.size();
  std::vector<OperationId> by_start;
  by_start.reserve(n);
  for (std::size_t i = 0; i < n; ++i) by_start.emplace_back(static_cast<std::int32_t>(i));
  std::sort(by_start.begin(), by_start.end(), [&](OperationId a, OperationId b) {
    return std::tuple(execution.start[a], execution.end[a], a) <
           std::tuple(execution.start[b], execution.end[b], b);
  });
  IdVector<OperationId, OperationId> previous(n);
  IdVector<DeviceId, OperationId> last(static_cast<std::size_t>(costs.device_count()));
  for (OperationId operation : by_start) {
    OperationId& on_device = last[assignment[operation]];
    previous[operation] = on_device;
    on_device = operation;
  }
  return previous;
}

}  // namespace

std::vector<OperationId> critical_operations(const CostTable& costs, const Assignment& assignment,
                                             const Execution& execution) {
  const Graph& graph = costs.graph();
  const IdVector<OperationId, OperationId> previous =
      previous_on_device(costs, assignment, execution);
  OperationId at(0);
  for (std::size_t i = 1; i < assignment.size(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    if (execution.end[id] > execution.end[at]) at = id;
  }
  std::vector<OperationId> path;
  while (at.value() >= 0 && path.size() < assignment.size()) {
    path.push_back(at);
    OperationId blocker = previous[at];
    SimTime latest = blocker.value() < 0 ? SimTime(-1) : execution.end[blocker];
    const auto predecessors = graph.predecessors(at);
    const auto edges = graph.in_edges(at);
    for (std::size_t i = 0; i < predecessors.size(); ++i) {
      const OperationId from = predecessors[i];
      const SimTime arrival =
          execution.end[from] + costs.transfer(edges[i], assignment[from], assignment[at]);
      if (arrival <= latest) continue;
      latest = arrival;
      blocker = from;
    }
    at = blocker;
  }
  return path;
}

}  // namespace doppler
