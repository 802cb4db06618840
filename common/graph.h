// Graph: the dataflow graph to be placed. Immutable once built; any number of threads may read it.
//
// Operations have dense ids 0..n-1; an edge carries its producer's output (or the bytes that it
// states itself). Edges lie in *edge order*: by source id, and under one source by the order in
// which they were added. Everything that depends on an order of edges (the reference simulator,
// transfers, sampling) uses this one. Input tensors that state no device are not operations: they
// are no decisions and have no place in an assignment. An input that states a device is an
// operation of kind "input", pinned to that device.
#ifndef DOPPLER_COMMON_GRAPH_H_
#define DOPPLER_COMMON_GRAPH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

// What the numbers of a graph mean. kPhysical: FLOPs and bytes, to be turned into time by a
// topology. kDurations: each operation states its compute and transfer time in ticks, the same on
// every device and link.
enum class CostUnit { kPhysical, kDurations };

enum class Role { kShard, kReduce };  // of an operation within its group

// The device kind of a duration that holds on every kind without one of its own: profiles often do
// not say where they were taken.
inline constexpr std::string_view kAnyDeviceKind = "*";

struct MeasuredDuration {
  std::string device_kind;
  double seconds = 0;
  bool operator==(const MeasuredDuration&) const = default;
};

struct Operation {
  std::string name;
  std::string kind;  // "matmul", "add", "reduce", ... or a free string
  double flops = 0;  // a multiply-add counts 2
  std::int64_t output_bytes = 0;
  SimTime compute_time;   // kDurations only
  SimTime transfer_time;  // kDurations only: of the output, between any two devices
  std::vector<std::int64_t> output_shape;
  std::vector<MeasuredDuration> measured_durations;
  GroupId group;  // none: not a shard of anything
  Role role = Role::kShard;
  std::vector<std::int32_t> block_coordinates;  // index along each cut axis, within the group
  std::optional<DeviceId> pinned_device;
  std::vector<DeviceId> forbidden_devices;
  bool operator==(const Operation&) const = default;
};

// What was measured on devices of `kind`, else what holds on every kind, else null.
const MeasuredDuration* find_duration(const Operation& operation, std::string_view kind);

struct Edge {
  OperationId source;
  OperationId destination;
  std::optional<std::int64_t> bytes;  // none: the producer's output bytes
  bool operator==(const Edge&) const = default;
};

// A tensor that is available everywhere at time 0.
struct InputTensor {
  std::string name;
  std::int64_t bytes = 0;
  std::vector<OperationId> consumers;
  bool operator==(const InputTensor&) const = default;
};

class Graph {
 public:
  const std::string& name() const { return name_; }
  CostUnit cost_unit() const { return cost_unit_; }
  std::size_t operation_count() const { return operations_.size(); }
  std::size_t edge_count() const { return edges_.size(); }

  const Operation& operation(OperationId id) const { return operations_[id.index()]; }
  const std::vector<Operation>& operations() const { return operations_; }
  const Edge& edge(EdgeId id) const { return edges_[id.index()]; }
  const std::vector<Edge>& edges() const { return edges_; }  // in edge order
  const std::vector<InputTensor>& inputs() const { return inputs_; }
  // How many input tensors the graph has, counting those of which a format tells no more than that
  // they exist.
  std::size_t input_count() const { return input_count_; }

  // Out edges of `id` are the edges with ids first_out_edge(id) .. first_out_edge(id) +
  // out_degree(id) - 1.
  EdgeId first_out_edge(OperationId id) const { return EdgeId(out_offsets_[id.index()]); }
  std::size_t out_degree(OperationId id) const {
    return static_cast<std::size_t>(out_offsets_[id.index() + 1] - out_offsets_[id.index()]);
  }
  std::span<const OperationId> successors(OperationId id) const {
    return {successors_.data() + out_offsets_[id.index()], out_degree(id)};
  }
  std::size_t in_degree(OperationId id) const {
    return static_cast<std::size_t>(in_offsets_[id.index() + 1] - in_offsets_[id.index()]);
  }
  // By source id; in_edges(id)[i] is the edge from predecessors(id)[i].
  std::span<const OperationId> predecessors(OperationId id) const {
    return {predecessors_.data() + in_offsets_[id.index()], in_degree(id)};
  }
  std::span<const EdgeId> in_edges(OperationId id) const {
    return {in_edges_.data() + in_offsets_[id.index()], in_degree(id)};
  }
  // Every operation after its predecessors; among those possible, the smallest id first.
  const std::vector<OperationId>& topological_order() const { return topological_order_; }

  // The bytes that move along an edge.
  std::int64_t edge_bytes(EdgeId id) const;
  // Of the whole content; equal graphs have equal hashes on every machine.
  std::uint64_t content_hash() const { return content_hash_; }

 private:
  friend class GraphBuilder;
  Graph() = default;

  std::string name_;
  CostUnit cost_unit_ = CostUnit::kPhysical;
  std::vector<Operation> operations_;
  std::vector<Edge> edges_;
  std::vector<InputTensor> inputs_;
  std::size_t input_count_ = 0;
  std::vector<std::int32_t> out_offsets_;  // [operations + 1]
  std::vector<std::int32_t> in_offsets_;   // [operations + 1]
  std::vector<OperationId> successors_;    // [edges], in edge order
  std::vector<OperationId> predecessors_;  // [edges]
  std::vector<EdgeId> in_edges_;           // [edges]
  std::vector<OperationId> topological_order_;
  std::uint64_t content_hash_ = 0;
};

// Collects operations and edges in any order, then checks them as a whole. Not thread-safe; build()
// may be called once.
class GraphBuilder {
 public:
  GraphBuilder(std::string name, CostUnit cost_unit);

  OperationId add_operation(Operation operation);
  // A second edge between the same operations is merged into the first by build() (the bytes become
  // the larger of both).
  void add_edge(Edge edge);
  void add_input(InputTensor input);
  void set_input_count(std::size_t count) { input_count_ = count; }  // at least the inputs added

  // Throws FormatError, naming the operation or edge: empty graph, dangling id, self edge, negative
  // or non-finite cost, cycle (one is printed).
  Graph build();

  // After build(): how many parallel edges were merged away.
  std::size_t merged_edge_count() const { return merged_edge_count_; }

 private:
  Graph graph_;
  std::size_t input_count_ = 0;
  std::size_t merged_edge_count_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_H_
