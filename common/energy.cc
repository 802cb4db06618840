#include "common/energy.h"

#include <cmath>
#include <cstddef>

namespace doppler {

std::int64_t transfer_ticks(const CostTable& costs, const Assignment& assignment) {
  const Graph& graph = costs.graph();
  std::int64_t ticks = 0;
  for (std::size_t e = 0; e < graph.edge_count(); ++e) {
    const EdgeId id(static_cast<std::int32_t>(e));
    const Edge& edge = graph.edge(id);
    ticks += costs.transfer(id, assignment[edge.source], assignment[edge.destination]).ticks();
  }
  return ticks;
}

SimTime energy(const CostTable& costs, const Trajectory& trajectory, double transfer_weight) {
  if (transfer_weight == 0) return trajectory.makespan;
  const double transfers = static_cast<double>(transfer_ticks(costs, trajectory.assignment()));
  return trajectory.makespan +
         SimTime(std::llround(transfer_weight * transfers / costs.device_count()));
}

}  // namespace doppler
