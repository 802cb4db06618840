#include "sim/lower_bounds.h"

#include <algorithm>

namespace doppler {

LowerBounds lower_bounds(const CostTable& costs) {
  const Graph& graph = costs.graph();
  LowerBounds bounds;
  std::int64_t work = 0;
  IdVector<OperationId, SimTime> start(graph.operation_count());
  for (OperationId operation : graph.topological_order()) {
    const SimTime compute = costs.least_compute(operation);
    const SimTime end = start[operation] + compute;
    for (OperationId successor : graph.successors(operation)) {
      start[successor] = std::max(start[successor], end);
    }
    bounds.critical_path = std::max(bounds.critical_path, end);
    work += compute.ticks();
  }
  const std::int64_t devices = costs.device_count();
  bounds.work = SimTime(work / devices + (work % devices == 0 ? 0 : 1));
  bounds.largest = std::max(bounds.critical_path, bounds.work);
  return bounds;
}

}  // namespace doppler
