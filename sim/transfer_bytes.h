// TransferBytes: what one transfer of an operation's output to a device moves: the most that its
// edges there state.
#ifndef DOPPLER_SIM_TRANSFER_BYTES_H_
#define DOPPLER_SIM_TRANSFER_BYTES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/graph.h"
#include "common/ids.h"

namespace doppler {

// Immutable; any number of threads may read it. The graph must outlive it.
class TransferBytes {
 public:
  explicit TransferBytes(const Graph& graph) : graph_(&graph) {
    for (std::size_t i = 0; i < graph.operation_count(); ++i) {
      const OperationId id(static_cast<std::int32_t>(i));
      const std::int32_t first = graph.first_out_edge(id).value();
      bool equal = true;
      for (std::size_t e = 1; e < graph.out_degree(id); ++e) {
        equal = equal && graph.edge_bytes(EdgeId(first + static_cast<std::int32_t>(e))) ==
                             graph.edge_bytes(EdgeId(first));
      }
      equal_.push_back(equal ? 1 : 0);
    }
  }

  // Whether all edges of the operation carry as many, so that any of them speaks for a transfer.
  bool equal(std::int32_t operation) const {
    return equal_[static_cast<std::size_t>(operation)] != 0;
  }

  // first_edge: the operation's first to the device `to`; devices [operations]: where each runs.
  std::int64_t of(std::int32_t operation, std::int32_t first_edge, std::int32_t to,
                  const DeviceId* devices) const {
    std::int64_t bytes = graph_->edge_bytes(EdgeId(first_edge));
    if (equal(operation)) return bytes;
    std::int32_t edge = graph_->first_out_edge(OperationId(operation)).value();
    for (OperationId successor : graph_->successors(OperationId(operation))) {
      if (edge > first_edge && devices[successor.index()].value() == to) {
        bytes = std::max(bytes, graph_->edge_bytes(EdgeId(edge)));
      }
      ++edge;
    }
    return bytes;
  }

 private:
  const Graph* graph_;
  std::vector<std::uint8_t> equal_;  // [operations]
};

}  // namespace doppler

#endif  // DOPPLER_SIM_TRANSFER_BYTES_H_
