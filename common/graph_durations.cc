#include "common/graph_durations.h"

#include <algorithm>
#include <set>

#include "common/error.h"
#include "common/time_rounding.h"

namespace doppler {
namespace {

std::string describe(const Graph& graph, OperationId id) {
  const std::string& name = graph.operation(id).name;
  return "operation " + std::to_string(id.value()) + (name.empty() ? "" : " (" + name + ")");
}

SimTime checked_time(const Graph& graph, OperationId id, double seconds) {
  const SimTime time = round_seconds(seconds);
  if (exceeds_time(time)) {
    throw ConfigError(describe(graph, id) + " takes longer than 2^62 picoseconds; check the rates");
  }
  return time;
}

SimTime compute_time(const Graph& graph, OperationId id, const DurationRates& rates) {
  const Operation& operation = graph.operation(id);
  const MeasuredDuration* measured = find_duration(operation, rates.device_kind);
  if (measured != nullptr) return checked_time(graph, id, measured->seconds);
  if (operation.flops > 0 && rates.flops_per_second) {
    return checked_time(graph, id, operation.flops / *rates.flops_per_second);
  }
  if (operation.flops > 0) {
    throw ConfigError(describe(graph, id) +
                      " states FLOPs; give --flops-per-second to turn them into time");
  }
  if (!operation.measured_durations.empty()) {
    std::string kinds;
    for (const MeasuredDuration& other : operation.measured_durations) {
      kinds += (kinds.empty() ? "" : ", ") + other.device_kind;
    }
    throw ConfigError(describe(graph, id) + " was measured on " + kinds +
                      "; choose one with --device-kind");
  }
  return SimTime(0);
}

}  // namespace

GraphInDurations turn_into_durations(const Graph& graph, const DurationRates& rates) {
  if (graph.cost_unit() == CostUnit::kDurations) return {.graph = graph, .warnings = {}};
  GraphBuilder builder(graph.name(), CostUnit::kDurations);
  std::size_t unequal = 0;
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    Operation operation = graph.operation(id);
    operation.compute_time = compute_time(graph, id, rates);
    std::int64_t largest = 0;
    std::set<std::int64_t> sizes;
    const EdgeId first = graph.first_out_edge(id);
    for (std::size_t e = 0; e < graph.out_degree(id); ++e) {
      const std::int64_t bytes =
          graph.edge_bytes(EdgeId(first.value() + static_cast<std::int32_t>(e)));
      largest = std::max(largest, bytes);
      sizes.insert(bytes);
    }
    if (sizes.size() > 1) ++unequal;
    if (largest > 0 && !rates.bytes_per_second) {
      throw ConfigError(describe(graph, id) +
                        " sends bytes; give --bytes-per-second to turn them into time");
    }
    if (largest > 0) {
      operation.transfer_time =
          checked_time(graph, id, static_cast<double>(largest) / *rates.bytes_per_second);
    }
    operation.flops = 0;
    operation.measured_durations.clear();
    builder.add_operation(std::move(operation));
  }
  for (Edge edge : graph.edges()) {
    edge.bytes.reset();
    builder.add_edge(edge);
  }
  for (const InputTensor& input : graph.inputs()) builder.add_input(input);
  builder.set_input_count(graph.input_count());
  std::vector<Warning> warnings;
  if (unequal > 0) {
    warnings.push_back({.line = 0,
                        .column = 0,
                        .text = "operations that send different sizes to different readers: " +
                                std::to_string(unequal) +
                                "; with durations each transfer takes as long as its largest"});
  }
  return {.graph = builder.build(), .warnings = std::move(warnings)};
}

}  // namespace doppler
