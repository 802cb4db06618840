// RunPlan: what an assignment makes of a graph, laid out for running: which transfers there are,
// who waits for whom, and which tensors lie on which device.
//
// One transfer per (tensor, destination), in the order of its first consumer edge, of the largest
// bytes that its edges there state. Operations of kind "input" without predecessors are *given*:
// there from the start, and sent like any other output. Input tensors lie on every device that
// reads them.
//
// Buffers. Every tensor has one on each device where it lies: first the outputs, by operation; then
// the copies that transfers make, by transfer; then the input tensors. A buffer is large enough for
// the largest edge that leaves it, and holds at least one float. Given outputs, input tensors and
// results (outputs that nobody reads) are *resident*: nothing may take their place.
//
// Immutable; any number of threads may read it. The graph must outlive it.
#ifndef DOPPLER_GPUEXEC_RUN_PLAN_H_
#define DOPPLER_GPUEXEC_RUN_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/assignment.h"
#include "common/graph.h"
#include "common/ids.h"

namespace doppler {

struct PlannedTransfer {
  OperationId producer;
  EdgeId first_edge;
  DeviceId from;
  DeviceId to;
  std::int64_t bytes = 0;
};

struct PlannedBuffer {
  DeviceId device;
  std::int64_t bytes = 0;
  bool resident = false;
};

// What an operation reads: the first `bytes` of a buffer on its device.
struct PlannedRead {
  std::int32_t buffer = -1;
  std::int64_t bytes = 0;
};

class RunPlan {
 public:
  // `assignment` has a device for each operation, below `device_count`.
  RunPlan(const Graph& graph, Assignment assignment, int device_count);

  const Graph& graph() const { return *graph_; }
  const Assignment& assignment() const { return assignment_; }
  int device_count() const { return device_count_; }
  std::int32_t operation_count() const { return static_cast<std::int32_t>(assignment_.size()); }
  DeviceId device_of(std::int32_t operation) const { return assignment_[OperationId(operation)]; }

  const std::vector<PlannedTransfer>& transfers() const { return transfers_; }
  // Ids of the transfers that send the output of `operation`: a range of transfers().
  std::int32_t first_transfer(std::int32_t operation) const {
    return transfer_offsets_[static_cast<std::size_t>(operation)];
  }
  std::int32_t end_transfer(std::int32_t operation) const {
    return transfer_offsets_[static_cast<std::size_t>(operation) + 1];
  }
  // Operations that read the output where it is made, and those that read what a transfer brought,
  // in edge order.
  std::span<const std::int32_t> local_consumers(std::int32_t operation) const {
    return row(local_offsets_, local_, operation);
  }
  std::span<const std::int32_t> consumers(std::int32_t transfer) const {
    return row(consumer_offsets_, consumers_, transfer);
  }
  std::int32_t in_degree(std::int32_t operation) const {
    return in_degree_[static_cast<std::size_t>(operation)];
  }
  bool is_given(std::int32_t operation) const {
    return given_[static_cast<std::size_t>(operation)] != 0;
  }
  const std::vector<std::int32_t>& entries() const { return entries_; }  // without predecessors

  const std::vector<PlannedBuffer>& buffers() const { return buffers_; }
  std::int32_t output_buffer(std::int32_t operation) const { return operation; }
  std::int32_t copy_buffer(std::int32_t transfer) const { return operation_count() + transfer; }
  // Of input tensors; input_of() is the index in Graph::inputs().
  std::int32_t first_input_buffer() const {
    return operation_count() + static_cast<std::int32_t>(transfers_.size());
  }
  std::int32_t input_of(std::int32_t buffer) const {
    return input_of_[static_cast<std::size_t>(buffer - first_input_buffer())];
  }
  // What `operation` reads: its in edges by source, then its input tensors in the graph's order.
  std::span<const PlannedRead> reads(std::int32_t operation) const {
    return row(read_offsets_, reads_, operation);
  }

 private:
  template <typename T>
  static std::span<const T> row(const std::vector<std::int32_t>& offsets,
                                const std::vector<T>& values, std::int32_t index) {
    const auto i = static_cast<std::size_t>(index);
    return {values.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  }
  void plan_transfers();
  void plan_buffers();
  void plan_reads();

  const Graph* graph_;
  Assignment assignment_;
  int device_count_;
  std::vector<PlannedTransfer> transfers_;
  std::vector<std::int32_t> transfer_offsets_;  // [operations + 1]
  std::vector<std::int32_t> transfer_of_edge_;  // [edges], -1: stays on the device
  std::vector<std::int32_t> local_offsets_;     // [operations + 1]
  std::vector<std::int32_t> local_;
  std::vector<std::int32_t> consumer_offsets_;  // [transfers + 1]
  std::vector<std::int32_t> consumers_;
  std::vector<std::int32_t> in_degree_;  // [operations]
  std::vector<std::uint8_t> given_;      // [operations]
  std::vector<std::int32_t> entries_;
  std::vector<PlannedBuffer> buffers_;
  std::vector<std::int32_t> input_of_;      // [input buffers]
  std::vector<std::int32_t> read_offsets_;  // [operations + 1]
  std::vector<PlannedRead> reads_;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_RUN_PLAN_H_
