#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/graph_text.h"
#include "common/text_check.h"

namespace doppler {
namespace {

void append_list(std::string& text, const std::vector<std::int64_t>& values) {
  for (std::int64_t value : values) text += std::to_string(value) + ", ";
  text += '\n';
}

}  // namespace

std::string format_graph_text(const Graph& graph) {
  if (graph.cost_unit() != CostUnit::kDurations) {
    throw ConfigError("graph " + graph.name() +
                      " states FLOPs and bytes; this format can only carry durations");
  }
  std::string text = std::to_string(graph.operation_count() + graph.input_count()) + "\n";
  std::vector<std::int64_t> inputs(graph.input_count());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<std::int64_t>(i);
  append_list(text, inputs);
  std::vector<std::int64_t> sources;
  std::vector<std::int64_t> destinations;
  for (const Edge& edge : graph.edges()) {
    sources.push_back(edge.source.value());
    destinations.push_back(edge.destination.value());
  }
  append_list(text, sources);
  append_list(text, destinations);
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const Operation& operation = graph.operation(OperationId(static_cast<std::int32_t>(i)));
    const bool writable = std::none_of(operation.kind.begin(), operation.kind.end(), [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte <= 0x20 || byte == 0x7f || c == ',';
    });
    if (!writable) {
      throw ConfigError("operation " + std::to_string(i) + ": kind " + quote(operation.kind) +
                        " has a blank or a comma, which this format cannot carry");
    }
    text += std::to_string(operation.compute_time.ticks()) + "," +
            std::to_string(operation.transfer_time.ticks());
    if (!operation.kind.empty()) text += "," + operation.kind;
    text += '\n';
  }
  return text;
}

}  // namespace doppler
