// OperationLists: for each operation of a graph a list of others that matter to it.
#ifndef DOPPLER_COMMON_OPERATION_LISTS_H_
#define DOPPLER_COMMON_OPERATION_LISTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/graph.h"
#include "common/ids.h"

namespace doppler {

struct OperationLists {
  std::vector<std::size_t> first;        // [operations + 1]
  std::vector<std::int32_t> operations;  // of all lists, one behind the other

  std::span<const std::int32_t> of(std::size_t owner) const {
    return {operations.data() + first[owner], first[owner + 1] - first[owner]};
  }
};

// Each operation's critical path by Levels::critical_successor (to the exit) or
// critical_predecessor (to the entry): itself left out, at most kPathLength (levels.h) operations.
OperationLists critical_paths(const IdVector<OperationId, OperationId>& next);

// Each operation's ancestors, its descendants, and all others but itself, by id. Memory grows with
// the square of the graph.
std::array<OperationLists, 3> relations(const Graph& graph);

}  // namespace doppler

#endif  // DOPPLER_COMMON_OPERATION_LISTS_H_
