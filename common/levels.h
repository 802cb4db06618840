// Levels: how far each operation lies from the start and from the end of the graph, along its
// longest paths.
//
// A path costs the mean compute time of its operations (over devices) and the mean transfer time of
// the edges that it crosses (over pairs of different devices; 0 with a single device). Computed by
// dynamic programming in topological order: linear in operations + edges. Source: semantics of the
// static features Z of the paper (section 4.2).
#ifndef DOPPLER_COMMON_LEVELS_H_
#define DOPPLER_COMMON_LEVELS_H_

#include <cstdint>
#include <vector>

#include "common/cost_table.h"
#include "common/graph.h"
#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

struct Levels {
  // The longest path that ends where the operation starts; its own compute time is not in it. 0 for
  // entries.
  IdVector<OperationId, SimTime> top_level;  // [operations]
  // The longest path from the start of the operation to the end of the graph; its own compute time
  // is in it.
  IdVector<OperationId, SimTime> bottom_level;  // [operations]
  // The next operation on a longest path to an exit, and the one before on a longest path from an
  // entry. Of several, the one with the smallest id; value -1 where there is none (exits, entries).
  IdVector<OperationId, OperationId> critical_successor;    // [operations]
  IdVector<OperationId, OperationId> critical_predecessor;  // [operations]
  SimTime critical_path;                                    // the largest bottom level
};

// A policy looks as many operations ahead and back along the critical path of each.
inline constexpr std::int64_t kPathLength = 16;

Levels compute_levels(const CostTable& costs);

// The number of edges on the longest path from an entry to each operation ([operations], entries
// 0). The depth of the graph is the largest plus one: how many operations have to follow each
// other.
IdVector<OperationId, std::int32_t> operation_depths(const Graph& graph);
std::int32_t graph_depth(const Graph& graph);

}  // namespace doppler

#endif  // DOPPLER_COMMON_LEVELS_H_
