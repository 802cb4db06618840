#include "gpuexec/work_conservation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace doppler {

std::vector<SimTime> idle_with_ready_work(const Graph& graph, const Assignment& assignment,
                                          const Execution& execution) {
  std::map<std::pair<OperationId, DeviceId>, SimTime> arrival;
  for (const TransferRecord& transfer : execution.transfers) {
    arrival[{transfer.producer, transfer.to}] = transfer.end;
  }
  std::vector<std::vector<std::pair<SimTime, OperationId>>> by_device(execution.device_busy.size());
  IdVector<OperationId, SimTime> ready(graph.operation_count(), SimTime(0));
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    const DeviceId device = assignment[id];
    if (graph.in_degree(id) == 0 && graph.operation(id).kind == "input") continue;
    for (OperationId predecessor : graph.predecessors(id)) {
      ready[id] = std::max(ready[id], assignment[predecessor] == device
                                          ? execution.end[predecessor]
                                          : arrival.at({predecessor, device}));
    }
    by_device[device.index()].emplace_back(execution.start[id], id);
  }
  std::vector<SimTime> idle;
  for (auto& operations : by_device) {
    std::sort(operations.begin(), operations.end());
    // The earliest time at which one of those from here on is ready.
    std::vector<SimTime> earliest(operations.size());
    SimTime least = SimTime::max();
    for (std::size_t i = operations.size(); i-- > 0;) {
      least = std::min(least, ready[operations[i].second]);
      earliest[i] = least;
    }
    SimTime free;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const SimTime since = std::max(free, earliest[i]);
      idle.push_back(std::max(SimTime(0), operations[i].first - since));
      free = execution.end[operations[i].second];
    }
  }
  return idle;
}

SimTime quantile(std::vector<SimTime> times, double fraction) {
  if (times.empty()) return SimTime(0);
  std::sort(times.begin(), times.end());
  const auto rank =
      static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(times.size())));
  return times[std::clamp<std::size_t>(rank, 1, times.size()) - 1];
}

}  // namespace doppler
