#include "sim/flat_graph.h"

namespace doppler {

FlatGraph::FlatGraph(const Graph& graph) {
  out_offsets.push_back(0);
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    for (OperationId successor : graph.successors(id)) destinations.push_back(successor.value());
    out_offsets.push_back(static_cast<std::int32_t>(destinations.size()));
    in_degree.push_back(static_cast<std::int32_t>(graph.in_degree(id)));
    if (in_degree.back() == 0) entries.push_back(id.value());
  }
}

}  // namespace doppler
