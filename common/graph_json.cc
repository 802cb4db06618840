#include "common/graph_json.h"

#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/import_report.h"
#include "common/json_field.h"
#include "common/text_check.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "doppler-graph";
constexpr std::int64_t kVersion = 1;

// ---- writing

Json to_json(const Operation& o) {
  Json json = Json::object();
  json["name"] = o.name;
  json["kind"] = o.kind;
  if (o.flops != 0) json["flops"] = o.flops;
  if (o.output_bytes != 0) json["output_bytes"] = o.output_bytes;
  if (o.compute_time != SimTime(0)) json["compute_ticks"] = o.compute_time.ticks();
  if (o.transfer_time != SimTime(0)) json["transfer_ticks"] = o.transfer_time.ticks();
  if (!o.output_shape.empty()) json["output_shape"] = o.output_shape;
  for (const MeasuredDuration& measured : o.measured_durations) {
    json["measured_durations"].push_back(
        {{"device_kind", measured.device_kind}, {"seconds", measured.seconds}});
  }
  if (o.group != GroupId()) json["group_id"] = o.group.value();
  if (o.role == Role::kReduce) json["role"] = "reduce";
  if (!o.block_coordinates.empty()) json["block_coordinates"] = o.block_coordinates;
  if (o.pinned_device) json["pinned_device"] = o.pinned_device->value();
  for (DeviceId device : o.forbidden_devices) json["forbidden_devices"].push_back(device.value());
  return json;
}

Json to_json(const Edge& edge) {
  Json json = {{"source", edge.source.value()}, {"destination", edge.destination.value()}};
  if (edge.bytes) json["bytes"] = *edge.bytes;
  return json;
}

Json to_json(const InputTensor& input) {
  Json json = {{"name", input.name}, {"bytes", input.bytes}, {"consumers", Json::array()}};
  for (OperationId consumer : input.consumers) json["consumers"].push_back(consumer.value());
  return json;
}

template <typename Item>
void write_list(const char* key, const std::vector<Item>& items, std::string& text) {
  text += std::string(",\n  \"") + key + "\": [";
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += i == 0 ? "\n    " : ",\n    ";
    text += to_json(items[i]).dump();
  }
  text += items.empty() ? "]" : "\n  ]";
}

// ---- reading

class Reader {
 public:
  explicit Reader(const std::string& file) : report_(file) {}

  Imported read(std::string_view content) {
    const nlohmann::json document = parse_strict_json(content, report_);
    const JsonField root(document, "", report_);
    root.only({"format", "format_version", "name", "cost_unit", "input_count", "operations",
               "edges", "inputs"});
    read_head(root);
    GraphBuilder builder(root.at("name").text(), unit_);
    for (const JsonField& field : root.at("operations").elements()) {
      builder.add_operation(read_operation(field));
      ++count_;
    }
    if (count_ == 0) root.at("operations").fail("holds no operations; nothing can be placed");
    std::set<std::pair<std::int32_t, std::int32_t>> pairs;
    for (const JsonField& field : root.at("edges").elements()) {
      const Edge edge = read_edge(field);
      if (!pairs.emplace(edge.source.value(), edge.destination.value()).second) {
        report_.warn({}, field.path() +
                             ": this edge stands more than once; it is kept once, with "
                             "the larger size");
      }
      builder.add_edge(edge);
    }
    if (const auto inputs = root.find("inputs")) {
      for (const JsonField& field : inputs->elements()) builder.add_input(read_input(field));
    }
    if (const auto inputs = root.find("input_count")) {
      builder.set_input_count(static_cast<std::size_t>(inputs->integer_in(0, kMost)));
    }
    try {
      return {.graph = builder.build(),
              .warnings = report_.take_warnings(),
              .devices = {},
              .operation_ids = {}};
    } catch (const FormatError& error) {
      report_.fail({}, "", error.what());
    }
  }

 private:
  static constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

  void read_head(const JsonField& root) {
    const JsonField format = root.at("format");
    if (format.text() != kFormat) {
      format.fail("expected " + quote(kFormat) + ", found " + quote(format.text()));
    }
    const JsonField version = root.at("format_version");
    if (version.integer() != kVersion) {
      version.fail("this program reads version " + std::to_string(kVersion) + ", the file is of " +
                   std::to_string(version.integer()));
    }
    const JsonField unit = root.at("cost_unit");
    if (unit.text() != "physical" && unit.text() != "durations") {
      unit.fail("expected 'physical' or 'durations', found " + quote(unit.text()));
    }
    unit_ = unit.text() == "physical" ? CostUnit::kPhysical : CostUnit::kDurations;
  }

  Operation read_operation(const JsonField& field) const {
    field.only({"name", "kind", "flops", "output_bytes", "compute_ticks", "transfer_ticks",
                "output_shape", "measured_durations", "group_id", "role", "block_coordinates",
                "pinned_device", "forbidden_devices"});
    Operation operation;
    if (const auto name = field.find("name")) operation.name = name->text();
    if (const auto kind = field.find("kind")) operation.kind = kind->text();
    if (const auto flops = field.find("flops")) operation.flops = flops->not_negative();
    if (const auto bytes = field.find("output_bytes")) operation.output_bytes = bytes->bytes();
    operation.compute_time = read_ticks(field, "compute_ticks");
    operation.transfer_time = read_ticks(field, "transfer_ticks");
    if (const auto shape = field.find("output_shape")) {
      for (const JsonField& size : shape->elements()) {
        operation.output_shape.push_back(size.integer_in(0, kMost));
      }
    }
    read_durations(field, operation);
    if (const auto group = field.find("group_id")) operation.group = GroupId(id_in(*group, kMost));
    if (const auto role = field.find("role")) operation.role = read_role(*role);
    if (const auto coordinates = field.find("block_coordinates")) {
      for (const JsonField& at : coordinates->elements()) {
        operation.block_coordinates.push_back(id_in(at, kMost));
      }
    }
    if (const auto device = field.find("pinned_device")) {
      operation.pinned_device = DeviceId(id_in(*device, kMost));
    }
    if (const auto devices = field.find("forbidden_devices")) {
      for (const JsonField& device : devices->elements()) {
        operation.forbidden_devices.emplace_back(id_in(device, kMost));
      }
    }
    return operation;
  }

  SimTime read_ticks(const JsonField& operation, const std::string& key) const {
    const auto field = operation.find(key);
    if (!field) return SimTime(0);
    if (unit_ == CostUnit::kPhysical) {
      field->fail("a graph of cost_unit 'physical' states no ticks; state flops and output_bytes");
    }
    return SimTime(field->integer_in(0, std::numeric_limits<std::int64_t>::max()));
  }

  static void read_durations(const JsonField& field, Operation& operation) {
    const auto durations = field.find("measured_durations");
    if (!durations) return;
    for (const JsonField& measured : durations->elements()) {
      measured.only({"device_kind", "seconds"});
      operation.measured_durations.push_back({.device_kind = measured.at("device_kind").text(),
                                              .seconds = measured.at("seconds").not_negative()});
    }
  }

  static Role read_role(const JsonField& field) {
    const std::string text = field.text();
    if (text == "reduce") return Role::kReduce;
    if (text == "shard") return Role::kShard;
    field.fail("expected 'shard' or 'reduce', found " + quote(text));
  }

  Edge read_edge(const JsonField& field) const {
    field.only({"source", "destination", "bytes"});
    Edge edge = {.source = read_operation_id(field.at("source")),
                 .destination = read_operation_id(field.at("destination")),
                 .bytes = {}};
    if (const auto bytes = field.find("bytes")) edge.bytes = bytes->bytes();
    return edge;
  }

  InputTensor read_input(const JsonField& field) const {
    field.only({"name", "bytes", "consumers"});
    InputTensor input;
    if (const auto name = field.find("name")) input.name = name->text();
    if (const auto bytes = field.find("bytes")) input.bytes = bytes->bytes();
    for (const JsonField& consumer : field.at("consumers").elements()) {
      input.consumers.push_back(read_operation_id(consumer));
    }
    return input;
  }

  OperationId read_operation_id(const JsonField& field) const {
    return OperationId(id_in(field, count_ - 1));
  }
  static std::int32_t id_in(const JsonField& field, std::int64_t last) {
    return static_cast<std::int32_t>(field.integer_in(0, last));
  }

  ImportReport report_;
  CostUnit unit_ = CostUnit::kPhysical;
  std::int64_t count_ = 0;  // of operations
};

}  // namespace

std::string format_graph_json(const Graph& graph) {
  try {
    const bool physical = graph.cost_unit() == CostUnit::kPhysical;
    std::string text = "{\n  \"format\": \"" + std::string(kFormat) + "\",\n";
    text += "  \"format_version\": " + std::to_string(kVersion) + ",\n";
    text += "  \"name\": " + Json(graph.name()).dump() + ",\n";
    text += std::string("  \"cost_unit\": ") + (physical ? "\"physical\"" : "\"durations\"");
    if (graph.input_count() != graph.inputs().size()) {
      text += ",\n  \"input_count\": " + std::to_string(graph.input_count());
    }
    write_list("operations", graph.operations(), text);
    write_list("edges", graph.edges(), text);
    if (!graph.inputs().empty()) write_list("inputs", graph.inputs(), text);
    return text + "\n}\n";
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError("graph " + quote(graph.name()) +
                      ": a name in it is no UTF-8, which JSON must be: " + error.what());
  }
}

bool is_graph_json(std::string_view content) {
  return content.find("\"" + std::string(kFormat) + "\"") != std::string_view::npos;
}

Imported import_graph_json(std::string_view content, const std::string& file) {
  return Reader(file).read(content);
}

}  // namespace doppler
