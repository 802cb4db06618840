#include "common/operation_lists.h"

#include "common/levels.h"

namespace doppler {

OperationLists critical_paths(const IdVector<OperationId, OperationId>& next) {
  OperationLists paths;
  for (std::size_t o = 0; o < next.size(); ++o) {
    paths.first.push_back(paths.operations.size());
    std::int64_t length = 0;
    for (OperationId at = next[OperationId(static_cast<std::int32_t>(o))];
         at.value() >= 0 && length < kPathLength; at = next[at]) {
      paths.operations.push_back(at.value());
      ++length;
    }
  }
  paths.first.push_back(paths.operations.size());
  return paths;
}

std::array<OperationLists, 3> relations(const Graph& graph) {
  const std::size_t n = graph.operation_count();
  // [n, n]: whether the column is an ancestor of the row.
  std::vector<std::uint8_t> above(n * n);
  for (OperationId o : graph.topological_order()) {
    std::uint8_t* row = above.data() + o.index() * n;
    for (OperationId p : graph.predecessors(o)) {
      const std::uint8_t* other = above.data() + p.index() * n;
      for (std::size_t i = 0; i < n; ++i) row[i] |= other[i];
      row[p.index()] = 1;
    }
  }
  std::array<OperationLists, 3> lists;
  for (std::size_t o = 0; o < n; ++o) {
    for (OperationLists& list : lists) list.first.push_back(list.operations.size());
    for (std::size_t i = 0; i < n; ++i) {
      if (i == o) continue;
      const std::size_t kind = above[o * n + i] != 0 ? 0 : above[i * n + o] != 0 ? 1 : 2;
      lists[kind].operations.push_back(static_cast<std::int32_t>(i));
    }
  }
  for (OperationLists& list : lists) list.first.push_back(list.operations.size());
  return lists;
}

}  // namespace doppler
