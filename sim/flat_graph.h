// FlatGraph: a graph as the arrays that a simulator walks for every event.
#ifndef DOPPLER_SIM_FLAT_GRAPH_H_
#define DOPPLER_SIM_FLAT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "common/graph.h"

namespace doppler {

// Immutable; any number of threads may read it.
struct FlatGraph {
  explicit FlatGraph(const Graph& graph);

  std::vector<std::int32_t> out_offsets;   // [operations + 1], first out edge of each
  std::vector<std::int32_t> destinations;  // [edges], in edge order
  std::vector<std::int32_t> in_degree;     // [operations]
  std::vector<std::int32_t> entries;       // operations without inputs, by id
};

}  // namespace doppler

#endif  // DOPPLER_SIM_FLAT_GRAPH_H_
