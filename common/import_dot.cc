#include "common/import_dot.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "common/dot_syntax.h"
#include "common/error.h"
#include "common/export_dot.h"
#include "common/import_draft.h"
#include "common/text_check.h"
#include "common/text_lines.h"

namespace doppler {
namespace {

constexpr std::int64_t kLargestInt = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLargestBytes = std::int64_t{1} << 62;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
                       hex_value(text[i + 2]) >= 0;
    if (!coded) {
      result += text[i];
      continue;
    }
    result += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
    i += 2;
  }
  return result;
}

// The attributes of one node or edge, with what to call it in messages.
class Attributes {
 public:
  Attributes(const DotAttributes& attributes, std::string owner, const ImportReport& report)
      : attributes_(attributes), owner_(std::move(owner)), report_(report) {}

  const DotAttribute* find(const std::string& name) const {
    const auto at = attributes_.find(name);
    return at == attributes_.end() ? nullptr : &at->second;
  }

  std::string text(const std::string& name) const {
    const DotAttribute* attribute = find(name);
    return attribute == nullptr ? std::string() : decode_dot_text(attribute->value);
  }

  std::optional<double> number(const std::string& name) const {
    const DotAttribute* attribute = find(name);
    if (attribute == nullptr) return std::nullopt;
    const auto value = parse_decimal(attribute->value);
    if (!value) fail(name, "expected a number, found " + quote(attribute->value));
    return value;
  }

  std::optional<double> not_negative(const std::string& name) const {
    const auto value = number(name);
    if (value && *value < 0) {
      fail(name, "must not be negative, but is " + quote(find(name)->value));
    }
    return value;
  }

  std::optional<std::int64_t> integer(const std::string& name, std::int64_t largest) const {
    const DotAttribute* attribute = find(name);
    if (attribute == nullptr) return std::nullopt;
    return to_integer(name, attribute->value, largest);
  }

  std::vector<std::int64_t> integers(const std::string& name, std::int64_t largest) const {
    std::vector<std::int64_t> values;
    const DotAttribute* attribute = find(name);
    if (attribute == nullptr) return values;
    for (std::string_view word : split_words(attribute->value)) {
      values.push_back(to_integer(name, word, largest));
    }
    return values;
  }

  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    report_.fail(find(name)->place, owner_ + ": " + name, what);
  }

 private:
  std::int64_t to_integer(const std::string& name, std::string_view text,
                          std::int64_t largest) const {
    const auto value = parse_integer(text);
    if (!value || *value < 0 || *value > largest) {
      fail(name, "expected an integer in 0.." + std::to_string(largest) + ", found " + quote(text));
    }
    return *value;
  }

  const DotAttributes& attributes_;
  std::string owner_;
  const ImportReport& report_;
};

class Reader {
 public:
  Reader(const std::string& file, const ImportOptions& options)
      : report_(file), options_(options) {}

  Imported read(std::string_view content) {
    const DotGraph dot = parse_dot(content, report_);
    const Attributes graph(dot.attributes, "graph", report_);
    const bool ours = graph.find("doppler_graph") != nullptr;
    CostUnit unit = CostUnit::kPhysical;
    if (const DotAttribute* stated = graph.find("cost_unit"); ours && stated != nullptr) {
      if (stated->value != "physical" && stated->value != "durations") {
        graph.fail("cost_unit", "expected physical or durations, found " + quote(stated->value));
      }
      if (stated->value == "durations") unit = CostUnit::kDurations;
    }
    GraphBuilder builder(ours ? decode_dot_text(dot.name) : graph_name_of(report_.file()), unit);
    if (ours) {
      const auto inputs = graph.integer("input_count", kLargestInt);
      builder.set_input_count(static_cast<std::size_t>(inputs.value_or(0)));
    }
    return ours ? read_ours(dot, builder) : read_foreign(dot);
  }

 private:
  static std::string edge_name(const DotGraph& dot, const DotEdge& edge) {
    return "edge " + dot.nodes[edge.source].id + " -> " + dot.nodes[edge.destination].id;
  }

  Imported read_foreign(const DotGraph& dot) {
    ImportDraft draft(CostUnit::kPhysical);
    for (const DotNode& node : dot.nodes) {
      const Attributes attributes(node.attributes, "node " + node.id, report_);
      Operation operation;
      operation.name = node.id;
      operation.kind = attributes.text(attributes.find("kind") != nullptr ? "kind" : "category");
      operation.flops = attributes.not_negative("size").value_or(0);
      draft.add_node({.id = node.id,
                      .operation = std::move(operation),
                      .place = node.place,
                      .may_be_input = false,
                      .counts_as_free = true,
                      .own_inputs = {}});
    }
    std::size_t without_size = 0;
    std::size_t negative = 0;
    for (const DotEdge& edge : dot.edges) {
      const Attributes attributes(edge.attributes, edge_name(dot, edge), report_);
      check_ends(edge, edge_name(dot, edge));
      const auto size = attributes.number("size");
      if (!size) ++without_size;
      if (size && *size < 0) ++negative;
      const auto bytes = to_bytes(size && *size > 0 ? *size : 0);
      if (!bytes) attributes.fail("size", "is more bytes than 2^62");
      // What a node sends is what its edges say; the largest of them is its output.
      std::int64_t& output = draft.node(edge.source).operation.output_bytes;
      output = std::max(output, *bytes);
      draft.add_edge({.source = edge.source,
                      .destination = edge.destination,
                      .bytes = bytes,
                      .place = edge.place});
    }
    if (without_size > 0) {
      report_.warn({}, "edges without a size: " + std::to_string(without_size) +
                           "; they order their ends and send nothing");
    }
    if (negative > 0) {
      report_.warn({}, "edges with a negative size: " + std::to_string(negative) +
                           "; they order their ends and send nothing");
    }
    return std::move(draft).finish(graph_name_of(report_.file()), options_, report_);
  }

  void check_ends(const DotEdge& edge, const std::string& name) const {
    if (edge.source == edge.destination) {
      report_.fail(edge.place, name, "a node must not feed itself");
    }
  }

  Imported read_ours(const DotGraph& dot, GraphBuilder& builder) {
    std::vector<std::optional<OperationId>> operation_of(dot.nodes.size());
    std::vector<std::optional<InputTensor>> inputs(dot.nodes.size());
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < dot.nodes.size(); ++i) {
      const Attributes attributes(dot.nodes[i].attributes, "node " + dot.nodes[i].id, report_);
      if (attributes.find("input") != nullptr) {
        inputs[i] = {.name = attributes.text("name"),
                     .bytes = attributes.integer("bytes", kLargestBytes).value_or(0),
                     .consumers = {}};
      } else {
        operation_of[i] = builder.add_operation(read_operation(attributes));
        ids.push_back(dot.nodes[i].id);
      }
    }
    for (const DotEdge& edge : dot.edges) {
      const Attributes attributes(edge.attributes, edge_name(dot, edge), report_);
      check_ends(edge, edge_name(dot, edge));
      if (!operation_of[edge.destination]) {
        report_.fail(edge.place, edge_name(dot, edge), "an input tensor consumes nothing");
      }
      if (inputs[edge.source]) {
        inputs[edge.source]->consumers.push_back(*operation_of[edge.destination]);
        continue;
      }
      builder.add_edge({.source = *operation_of[edge.source],
                        .destination = *operation_of[edge.destination],
                        .bytes = attributes.integer("bytes", kLargestBytes)});
    }
    for (std::optional<InputTensor>& input : inputs) {
      if (input) builder.add_input(std::move(*input));
    }
    try {
      Graph graph = builder.build();
      if (builder.merged_edge_count() > 0) {
        report_.warn({},
                     std::to_string(builder.merged_edge_count()) +
                         " edges stand more than once; each is kept once, with the larger size");
      }
      return {.graph = std::move(graph),
              .warnings = report_.take_warnings(),
              .devices = {},
              .operation_ids = std::move(ids)};
    } catch (const FormatError& error) {
      report_.fail({}, "", error.what());
    }
  }

  Operation read_operation(const Attributes& attributes) const {
    constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
    Operation o;
    o.name = attributes.text("name");
    o.kind = attributes.text("kind");
    o.flops = attributes.not_negative("flops").value_or(0);
    o.output_bytes = attributes.integer("output_bytes", kLargestBytes).value_or(0);
    o.compute_time = SimTime(attributes.integer("compute_ticks", kAny).value_or(0));
    o.transfer_time = SimTime(attributes.integer("transfer_ticks", kAny).value_or(0));
    o.output_shape = attributes.integers("output_shape", kAny);
    o.measured_durations = read_durations(attributes);
    if (const auto group = attributes.integer("group_id", kLargestInt)) {
      o.group = GroupId(static_cast<std::int32_t>(*group));
    }
    if (const DotAttribute* role = attributes.find("role")) {
      if (role->value != "reduce" && role->value != "shard") {
        attributes.fail("role", "expected shard or reduce, found " + quote(role->value));
      }
      o.role = role->value == "reduce" ? Role::kReduce : Role::kShard;
    }
    for (std::int64_t coordinate : attributes.integers("block_coordinates", kLargestInt)) {
      o.block_coordinates.push_back(static_cast<std::int32_t>(coordinate));
    }
    if (const auto device = attributes.integer("pinned_device", kLargestInt)) {
      o.pinned_device = DeviceId(static_cast<std::int32_t>(*device));
    }
    for (std::int64_t device : attributes.integers("forbidden_devices", kLargestInt)) {
      o.forbidden_devices.emplace_back(static_cast<std::int32_t>(device));
    }
    return o;
  }

  // "v100:0.002 h100:0.001"
  static std::vector<MeasuredDuration> read_durations(const Attributes& attributes) {
    std::vector<MeasuredDuration> durations;
    const DotAttribute* attribute = attributes.find("measured_seconds");
    if (attribute == nullptr) return durations;
    for (std::string_view word : split_words(attribute->value)) {
      const std::size_t colon = word.rfind(':');
      const auto seconds =
          colon == std::string_view::npos ? std::nullopt : parse_decimal(word.substr(colon + 1));
      if (!seconds || *seconds < 0) {
        attributes.fail("measured_seconds",
                        "expected device kinds and seconds 'v100:0.002', found " + quote(word));
      }
      std::string kind = percent_decoded(word.substr(0, colon));
      if (find_bad_text(kind)) attributes.fail("measured_seconds", "a device kind is no text");
      durations.push_back({.device_kind = std::move(kind), .seconds = *seconds});
    }
    return durations;
  }

  ImportReport report_;
  const ImportOptions& options_;
};

}  // namespace

Imported import_dot(std::string_view content, const std::string& file,
                    const ImportOptions& options) {
  return Reader(file, options).read(content);
}

}  // namespace doppler
