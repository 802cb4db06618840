#include "gpuexec/run_plan.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace doppler {
namespace {

constexpr std::int64_t kFloatBytes = sizeof(float);

}  // namespace

RunPlan::RunPlan(const Graph& graph, Assignment assignment, int device_count)
    : graph_(&graph), assignment_(std::move(assignment)), device_count_(device_count) {
  DP_CHECK_EQ(assignment_.size(), graph.operation_count());
  for (DeviceId device : assignment_) {
    DP_CHECK_GE(device.value(), 0);
    DP_CHECK_LT(device.value(), device_count_);
  }
  for (std::int32_t o = 0; o < operation_count(); ++o) {
    const OperationId id(o);
    in_degree_.push_back(static_cast<std::int32_t>(graph.in_degree(id)));
    const bool entry = in_degree_.back() == 0;
    if (entry) entries_.push_back(o);
    given_.push_back(entry && graph.operation(id).kind == "input" ? 1 : 0);
  }
  plan_transfers();
  plan_buffers();
  plan_reads();
}

void RunPlan::plan_transfers() {
  const Graph& graph = *graph_;
  transfer_of_edge_.assign(graph.edge_count(), -1);
  transfer_offsets_.push_back(0);
  local_offsets_.push_back(0);
  // Of the present operation: its transfer to each device, or -1.
  std::vector<std::int32_t> transfer_to(static_cast<std::size_t>(device_count_), -1);
  for (std::int32_t o = 0; o < operation_count(); ++o) {
    const OperationId id(o);
    const DeviceId own = assignment_[id];
    const EdgeId first = graph.first_out_edge(id);
    for (std::size_t i = 0; i < graph.out_degree(id); ++i) {
      const EdgeId edge(first.value() + static_cast<std::int32_t>(i));
      const OperationId destination = graph.edge(edge).destination;
      const DeviceId to = assignment_[destination];
      if (to == own) {
        local_.push_back(destination.value());
        continue;
      }
      std::int32_t& transfer = transfer_to[to.index()];
      if (transfer < 0) {
        transfer = static_cast<std::int32_t>(transfers_.size());
        transfers_.push_back(
            {.producer = id, .first_edge = edge, .from = own, .to = to, .bytes = 0});
      }
      PlannedTransfer& planned = transfers_[static_cast<std::size_t>(transfer)];
      planned.bytes = std::max(planned.bytes, graph.edge_bytes(edge));
      transfer_of_edge_[edge.index()] = transfer;
    }
    for (std::size_t t = static_cast<std::size_t>(transfer_offsets_.back()); t < transfers_.size();
         ++t) {
      transfer_to[transfers_[t].to.index()] = -1;
    }
    transfer_offsets_.push_back(static_cast<std::int32_t>(transfers_.size()));
    local_offsets_.push_back(static_cast<std::int32_t>(local_.size()));
  }
  consumer_offsets_.assign(transfers_.size() + 1, 0);
  for (std::int32_t transfer : transfer_of_edge_) {
    if (transfer >= 0) ++consumer_offsets_[static_cast<std::size_t>(transfer) + 1];
  }
  for (std::size_t t = 0; t < transfers_.size(); ++t) {
    consumer_offsets_[t + 1] += consumer_offsets_[t];
  }
  consumers_.resize(static_cast<std::size_t>(consumer_offsets_.back()));
  std::vector<std::int32_t> next(consumer_offsets_.begin(), consumer_offsets_.end() - 1);
  for (std::size_t e = 0; e < transfer_of_edge_.size(); ++e) {
    if (transfer_of_edge_[e] < 0) continue;
    const auto t = static_cast<std::size_t>(transfer_of_edge_[e]);
    consumers_[static_cast<std::size_t>(next[t]++)] = graph.edges()[e].destination.value();
  }
}

void RunPlan::plan_buffers() {
  const Graph& graph = *graph_;
  for (std::int32_t o = 0; o < operation_count(); ++o) {
    const OperationId id(o);
    std::int64_t bytes = std::max(kFloatBytes, graph.operation(id).output_bytes);
    const EdgeId first = graph.first_out_edge(id);
    for (std::size_t i = 0; i < graph.out_degree(id); ++i) {
      bytes =
          std::max(bytes, graph.edge_bytes(EdgeId(first.value() + static_cast<std::int32_t>(i))));
    }
    buffers_.push_back({.device = assignment_[id],
                        .bytes = bytes,
                        .resident = is_given(o) || graph.out_degree(id) == 0});
  }
  for (const PlannedTransfer& transfer : transfers_) {
    buffers_.push_back(
        {.device = transfer.to, .bytes = std::max(kFloatBytes, transfer.bytes), .resident = false});
  }
  std::vector<std::uint8_t> lies_on(static_cast<std::size_t>(device_count_), 0);
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const InputTensor& input = graph.inputs()[i];
    std::fill(lies_on.begin(), lies_on.end(), std::uint8_t{0});
    for (OperationId consumer : input.consumers) {
      const DeviceId device = assignment_[consumer];
      if (std::exchange(lies_on[device.index()], std::uint8_t{1}) != 0) continue;
      buffers_.push_back(
          {.device = device, .bytes = std::max(kFloatBytes, input.bytes), .resident = true});
      input_of_.push_back(static_cast<std::int32_t>(i));
    }
  }
}

void RunPlan::plan_reads() {
  const Graph& graph = *graph_;
  // The input tensors of each operation: buffers in the order of the graph's inputs.
  std::vector<std::vector<std::int32_t>> inputs(assignment_.size());
  std::vector<std::int32_t> buffer_on(static_cast<std::size_t>(device_count_), -1);
  std::int32_t buffer = first_input_buffer();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    for (; buffer < static_cast<std::int32_t>(buffers_.size()) &&
           input_of(buffer) == static_cast<std::int32_t>(i);
         ++buffer) {
      buffer_on[buffers_[static_cast<std::size_t>(buffer)].device.index()] = buffer;
    }
    for (OperationId consumer : graph.inputs()[i].consumers) {
      inputs[consumer.index()].push_back(buffer_on[assignment_[consumer].index()]);
    }
  }
  read_offsets_.push_back(0);
  for (std::int32_t o = 0; o < operation_count(); ++o) {
    const OperationId id(o);
    const auto predecessors = graph.predecessors(id);
    const auto edges = graph.in_edges(id);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const std::int32_t transfer = transfer_of_edge_[edges[i].index()];
      reads_.push_back(
          {.buffer = transfer < 0 ? output_buffer(predecessors[i].value()) : copy_buffer(transfer),
           .bytes = std::max(kFloatBytes, graph.edge_bytes(edges[i]))});
    }
    for (std::int32_t input : inputs[id.index()]) {
      reads_.push_back({.buffer = input, .bytes = buffers_[static_cast<std::size_t>(input)].bytes});
    }
    read_offsets_.push_back(static_cast<std::int32_t>(reads_.size()));
  }
}

}  // namespace doppler
