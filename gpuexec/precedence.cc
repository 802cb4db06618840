#include "gpuexec/precedence.h"

namespace doppler {

Precedence::Precedence(const Graph& graph) {
  if (graph.operation_count() > kLargest) return;
  words_ = (graph.operation_count() + 63) / 64;
  bits_.assign(graph.operation_count() * words_, 0);
  for (OperationId operation : graph.topological_order()) {
    std::uint64_t* own = bits_.data() + operation.index() * words_;
    for (OperationId predecessor : graph.predecessors(operation)) {
      const std::uint64_t* other = bits_.data() + predecessor.index() * words_;
      for (std::size_t w = 0; w < words_; ++w) own[w] |= other[w];
      own[predecessor.index() / 64] |= std::uint64_t{1} << (predecessor.index() % 64);
    }
  }
}

}  // namespace doppler
