#include "common/levels.h"

#include <algorithm>

namespace doppler {

Levels compute_levels(const CostTable& costs) {
  const Graph& graph = costs.graph();
  const std::size_t n = graph.operation_count();
  Levels levels;
  levels.top_level.assign(n, SimTime(0));
  levels.bottom_level.assign(n, SimTime(0));
  levels.critical_successor.assign(n, OperationId());
  levels.critical_predecessor.assign(n, OperationId());

  // A candidate replaces the longest path so far if it is longer, or as long through a smaller id.
  // The first candidate always does, so that a path of zero length has a successor too.
  const auto improves = [](SimTime length, OperationId through, SimTime best, OperationId current) {
    return current.value() < 0 || length > best || (length == best && through < current);
  };

  for (OperationId id : graph.topological_order()) {
    SimTime best;
    OperationId& critical = levels.critical_predecessor[id];
    const auto predecessors = graph.predecessors(id);
    const auto edges = graph.in_edges(id);
    for (std::size_t i = 0; i < predecessors.size(); ++i) {
      const OperationId from = predecessors[i];
      const SimTime length =
          levels.top_level[from] + costs.mean_compute(from) + costs.mean_transfer(edges[i]);
      if (improves(length, from, best, critical)) {
        best = length;
        critical = from;
      }
    }
    levels.top_level[id] = best;
  }

  const std::vector<OperationId>& order = graph.topological_order();
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const OperationId id = *at;
    SimTime best;
    OperationId& critical = levels.critical_successor[id];
    const auto successors = graph.successors(id);
    const std::int32_t first_edge = graph.first_out_edge(id).value();
    for (std::size_t i = 0; i < successors.size(); ++i) {
      const EdgeId edge(first_edge + static_cast<std::int32_t>(i));
      const SimTime length = levels.bottom_level[successors[i]] + costs.mean_transfer(edge);
      if (improves(length, successors[i], best, critical)) {
        best = length;
        critical = successors[i];
      }
    }
    levels.bottom_level[id] = best + costs.mean_compute(id);
    levels.critical_path = std::max(levels.critical_path, levels.bottom_level[id]);
  }
  return levels;
}

IdVector<OperationId, std::int32_t> operation_depths(const Graph& graph) {
  IdVector<OperationId, std::int32_t> depths(graph.operation_count(), 0);
  for (OperationId id : graph.topological_order()) {
    for (OperationId successor : graph.successors(id)) {
      depths[successor] = std::max(depths[successor], depths[id] + 1);
    }
  }
  return depths;
}

std::int32_t graph_depth(const Graph& graph) {
  const IdVector<OperationId, std::int32_t> depths = operation_depths(graph);
  return *std::max_element(depths.begin(), depths.end()) + 1;
}

}  // namespace doppler
