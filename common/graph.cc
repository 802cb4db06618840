#include "common/graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <queue>
#include <unordered_map>

#include "common/error.h"
#include "common/hash.h"

namespace doppler {
namespace {

std::string describe(const std::vector<Operation>& operations, std::size_t index) {
  std::string text = "operation " + std::to_string(index);
  if (!operations[index].name.empty()) text += " (" + operations[index].name + ")";
  return text;
}

void check_operation(const std::vector<Operation>& operations, std::size_t index) {
  const Operation& operation = operations[index];
  const auto refuse = [&](const std::string& what) {
    throw FormatError(describe(operations, index) + ": " + what);
  };
  if (!std::isfinite(operation.flops) || operation.flops < 0) {
    refuse("flops must be finite and not negative");
  }
  if (operation.output_bytes < 0) refuse("output bytes must not be negative");
  if (operation.compute_time < SimTime(0)) refuse("compute time must not be negative");
  if (operation.transfer_time < SimTime(0)) refuse("transfer time must not be negative");
  for (const MeasuredDuration& measured : operation.measured_durations) {
    if (!std::isfinite(measured.seconds) || measured.seconds < 0) {
      refuse("measured duration on " + measured.device_kind + " must be finite and not negative");
    }
  }
}

// Among operations that lie on a cycle or behind one (every one of them has a predecessor among
// them), walks back until an operation repeats.
std::string describe_cycle(const Graph& graph, const std::vector<std::int32_t>& waiting_inputs) {
  std::size_t current = 0;
  while (waiting_inputs[current] == 0) ++current;
  std::vector<std::size_t> path;
  std::vector<bool> seen(graph.operation_count(), false);
  while (!seen[current]) {
    seen[current] = true;
    path.push_back(current);
    for (OperationId predecessor : graph.predecessors(OperationId(static_cast<int>(current)))) {
      if (waiting_inputs[predecessor.index()] > 0) {
        current = predecessor.index();
        break;
      }
    }
  }
  const auto first = std::find(path.begin(), path.end(), current);
  // The walk went backwards; the edges of the cycle go the other way.
  std::vector<std::size_t> cycle(first, path.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  const auto label = [&](std::size_t index) {
    const std::string& name = graph.operations()[index].name;
    return name.empty() ? std::to_string(index) : name;
  };
  std::string text;
  for (std::size_t index : cycle) text += label(index) + " -> ";
  return text + label(cycle.front());
}

void hash_operation(const Operation& operation, Hasher& hasher) {
  hasher.add(operation.name);
  hasher.add(operation.kind);
  hasher.add(std::bit_cast<std::uint64_t>(operation.flops));
  hasher.add(operation.output_bytes);
  hasher.add(operation.compute_time.ticks());
  hasher.add(operation.transfer_time.ticks());
  hasher.add(static_cast<std::uint64_t>(operation.output_shape.size()));
  for (std::int64_t extent : operation.output_shape) hasher.add(extent);
  hasher.add(static_cast<std::uint64_t>(operation.measured_durations.size()));
  for (const MeasuredDuration& measured : operation.measured_durations) {
    hasher.add(measured.device_kind);
    hasher.add(std::bit_cast<std::uint64_t>(measured.seconds));
  }
  hasher.add(static_cast<std::int64_t>(operation.group.value()));
  hasher.add(static_cast<std::int64_t>(operation.role));
  hasher.add(static_cast<std::uint64_t>(operation.block_coordinates.size()));
  for (std::int32_t coordinate : operation.block_coordinates) {
    hasher.add(static_cast<std::int64_t>(coordinate));
  }
  hasher.add(
      static_cast<std::int64_t>(operation.pinned_device ? operation.pinned_device->value() : -1));
  hasher.add(static_cast<std::uint64_t>(operation.forbidden_devices.size()));
  for (DeviceId device : operation.forbidden_devices) {
    hasher.add(static_cast<std::int64_t>(device.value()));
  }
}

}  // namespace

const MeasuredDuration* find_duration(const Operation& operation, std::string_view kind) {
  const MeasuredDuration* any = nullptr;
  for (const MeasuredDuration& measured : operation.measured_durations) {
    if (measured.device_kind == kind) return &measured;
    if (measured.device_kind == kAnyDeviceKind) any = &measured;
  }
  return any;
}

std::int64_t Graph::edge_bytes(EdgeId id) const {
  const Edge& e = edge(id);
  return e.bytes ? *e.bytes : operation(e.source).output_bytes;
}

GraphBuilder::GraphBuilder(std::string name, CostUnit cost_unit) {
  graph_.name_ = std::move(name);
  graph_.cost_unit_ = cost_unit;
}

OperationId GraphBuilder::add_operation(Operation operation) {
  graph_.operations_.push_back(std::move(operation));
  return OperationId(static_cast<std::int32_t>(graph_.operations_.size() - 1));
}

void GraphBuilder::add_edge(Edge edge) {
  graph_.edges_.push_back(edge);
}

void GraphBuilder::add_input(InputTensor input) {
  graph_.inputs_.push_back(std::move(input));
}

Graph GraphBuilder::build() {
  Graph& g = graph_;
  const std::size_t n = g.operations_.size();
  if (n == 0) throw FormatError("the graph has no operations; nothing can be placed");
  for (std::size_t i = 0; i < n; ++i) check_operation(g.operations_, i);

  const auto known = [n](OperationId id) { return id.value() >= 0 && id.index() < n; };
  for (const Edge& e : g.edges_) {
    const std::string text =
        "edge " + std::to_string(e.source.value()) + " -> " + std::to_string(e.destination.value());
    if (!known(e.source) || !known(e.destination)) {
      throw FormatError(text + ": ids must lie in 0.." + std::to_string(n - 1));
    }
    if (e.source == e.destination) throw FormatError(text + ": an operation cannot feed itself");
    if (e.bytes && *e.bytes < 0) throw FormatError(text + ": bytes must not be negative");
  }
  for (const InputTensor& input : g.inputs_) {
    if (input.bytes < 0) throw FormatError("input " + input.name + ": bytes must not be negative");
    for (OperationId consumer : input.consumers) {
      if (!known(consumer)) {
        throw FormatError("input " + input.name + ": consumer " + std::to_string(consumer.value()) +
                          " is no operation");
      }
    }
  }
  g.input_count_ = std::max(input_count_, g.inputs_.size());

  std::stable_sort(g.edges_.begin(), g.edges_.end(),
                   [](const Edge& a, const Edge& b) { return a.source < b.source; });
  std::vector<Edge> merged;
  merged.reserve(g.edges_.size());
  std::unordered_map<std::int64_t, std::size_t> position;  // of (source, destination) in merged
  position.reserve(g.edges_.size());
  for (const Edge& e : g.edges_) {
    const auto key = (static_cast<std::int64_t>(e.source.value()) << 32) | e.destination.value();
    const auto [at, is_new] = position.emplace(key, merged.size());
    if (is_new) {
      merged.push_back(e);
      continue;
    }
    ++merged_edge_count_;
    std::optional<std::int64_t>& bytes = merged[at->second].bytes;
    const std::int64_t output_bytes = g.operations_[e.source.index()].output_bytes;
    if (bytes || e.bytes) {
      bytes = std::max(bytes.value_or(output_bytes), e.bytes.value_or(output_bytes));
    }
  }
  g.edges_ = std::move(merged);

  g.out_offsets_.assign(n + 1, 0);
  g.in_offsets_.assign(n + 1, 0);
  for (const Edge& e : g.edges_) {
    ++g.out_offsets_[e.source.index() + 1];
    ++g.in_offsets_[e.destination.index() + 1];
    g.successors_.push_back(e.destination);
  }
  for (std::size_t i = 0; i < n; ++i) {
    g.out_offsets_[i + 1] += g.out_offsets_[i];
    g.in_offsets_[i + 1] += g.in_offsets_[i];
  }
  g.predecessors_.resize(g.edges_.size());
  g.in_edges_.resize(g.edges_.size());
  std::vector<std::int32_t> next(g.in_offsets_.begin(), g.in_offsets_.end() - 1);
  for (std::size_t i = 0; i < g.edges_.size(); ++i) {
    const auto slot = static_cast<std::size_t>(next[g.edges_[i].destination.index()]++);
    g.predecessors_[slot] = g.edges_[i].source;
    g.in_edges_[slot] = EdgeId(static_cast<std::int32_t>(i));
  }

  std::vector<std::int32_t> waiting_inputs(n);
  std::priority_queue<OperationId, std::vector<OperationId>, std::greater<>> ready;
  for (std::size_t i = 0; i < n; ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    waiting_inputs[i] = static_cast<std::int32_t>(g.in_degree(id));
    if (waiting_inputs[i] == 0) ready.push(id);
  }
  g.topological_order_.reserve(n);
  while (!ready.empty()) {
    const OperationId id = ready.top();
    ready.pop();
    g.topological_order_.push_back(id);
    for (OperationId successor : g.successors(id)) {
      if (--waiting_inputs[successor.index()] == 0) ready.push(successor);
    }
  }
  if (g.topological_order_.size() != n) {
    throw FormatError("the graph has a cycle: " + describe_cycle(g, waiting_inputs) +
                      "; a dataflow graph must not feed itself");
  }

  Hasher hasher;
  hasher.add(static_cast<std::int64_t>(g.cost_unit_));
  hasher.add(static_cast<std::uint64_t>(n));
  for (const Operation& operation : g.operations_) hash_operation(operation, hasher);
  hasher.add(static_cast<std::uint64_t>(g.edges_.size()));
  for (const Edge& e : g.edges_) {
    hasher.add(static_cast<std::int64_t>(e.source.value()));
    hasher.add(static_cast<std::int64_t>(e.destination.value()));
    hasher.add(e.bytes.value_or(-1));
  }
  hasher.add(static_cast<std::uint64_t>(g.input_count_));
  for (const InputTensor& input : g.inputs_) {
    hasher.add(input.name);
    hasher.add(input.bytes);
    hasher.add(static_cast<std::uint64_t>(input.consumers.size()));
    for (OperationId consumer : input.consumers) {
      hasher.add(static_cast<std::int64_t>(consumer.value()));
    }
  }
  g.content_hash_ = hasher.digest();
  return std::move(g);
}

}  // namespace doppler
