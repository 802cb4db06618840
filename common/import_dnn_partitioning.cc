#include "common/import_dnn_partitioning.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "common/import_draft.h"
#include "common/json_field.h"
#include "common/text_check.h"

namespace doppler {
namespace {

constexpr std::int64_t kMostDevices = 4096;

class Reader {
 public:
  Reader(const std::string& file, const ImportOptions& options)
      : report_(file), options_(options) {}

  Imported read(std::string_view content) {
    const nlohmann::json document = parse_strict_json(content, report_);
    const JsonField root(document, "", report_);
    accelerators_ = device_count(root.at("maxFPGAs"));
    const std::int64_t cpus = device_count(root.at("maxCPUs"));
    const std::int64_t memory = root.at("maxSizePerFPGA").bytes();
    for (const JsonField& node : root.at("nodes").elements()) read_node(node);
    for (const JsonField& edge : root.at("edges").elements()) read_edge(edge);
    add_parameters();
    warn_of_what_is_left_out(memory);
    Imported imported = std::move(draft_).finish(graph_name_of(report_.file()), options_, report_);
    imported.devices = {{.kind = "fpga", .count = accelerators_, .memory_bytes = memory},
                        {.kind = "cpu", .count = cpus, .memory_bytes = {}}};
    return imported;
  }

 private:
  static std::int64_t device_count(const JsonField& field) {
    const std::int64_t count = field.integer();
    if (count < 0 || count > kMostDevices) {
      field.fail("must lie in 0.." + std::to_string(kMostDevices) + ", but is " +
                 std::to_string(count));
    }
    return count;
  }

  void read_node(const JsonField& node) {
    const std::string id = std::to_string(node.at("id").integer());
    Operation operation;
    const auto name = node.find("name");
    operation.name = name ? name->text() : "node" + id;
    const double cpu_ms = node.at("cpuLatency").not_negative();
    const double accelerator_ms = node.at("fpgaLatency").not_negative();
    const bool on_accelerator = node.at("supportedOnFpga").truth();
    operation.kind = node.at("isBackwardNode").truth() ? "backward" : "forward";
    operation.measured_durations = {{.device_kind = "cpu", .seconds = cpu_ms / 1e3}};
    if (on_accelerator) {
      operation.measured_durations.push_back(
          {.device_kind = "fpga", .seconds = accelerator_ms / 1e3});
    } else {
      ++unsupported_;
      for (std::int64_t device = 0; device < accelerators_; ++device) {
        operation.forbidden_devices.emplace_back(static_cast<std::int32_t>(device));
      }
    }
    const bool free = cpu_ms == 0 && (accelerator_ms == 0 || !on_accelerator);
    const auto number = draft_.add_node({.id = id,
                                         .operation = std::move(operation),
                                         .place = {},
                                         .may_be_input = free,
                                         .counts_as_free = true,
                                         .own_inputs = {}});
    if (!number) node.at("id").fail(id + " is the id of another node as well");
    memory_bytes_.push_back(node.at("size").bytes());
    if (const auto color = node.find("colorClass")) ++color_sizes_[color->integer()];
  }

  void read_edge(const JsonField& edge) {
    const std::size_t source = find_node(edge.at("sourceId"));
    const std::size_t destination = find_node(edge.at("destId"));
    if (source == destination) edge.fail("leads from a node to itself");
    const double cost_ms = edge.at("cost").not_negative();
    std::int64_t bytes = 0;
    if (const auto size = edge.find("size")) {
      bytes = size->bytes();
      if (cost_ms > 0) rates_.insert(static_cast<double>(bytes) / cost_ms * 1e3);
    } else if (options_.bytes_per_second) {
      const auto turned = to_bytes(cost_ms / 1e3 * *options_.bytes_per_second);
      if (!turned) edge.at("cost").fail("is too large for a number of bytes");
      bytes = *turned;
    } else if (cost_ms > 0) {
      edge.fail(
          "states the time of a transfer but no 'size'; give --bytes-per-second to turn one into "
          "the other");
    }
    Operation& producer = draft_.node(source).operation;
    producer.output_bytes = std::max(producer.output_bytes, bytes);
    draft_.add_edge({.source = source, .destination = destination, .bytes = bytes, .place = {}});
  }

  std::size_t find_node(const JsonField& field) const {
    const std::string id = std::to_string(field.integer());
    if (const auto number = draft_.find(id)) return *number;
    field.fail("no node has the id " + id);
  }

  // "size" is what a node takes on an accelerator. What is not its output stays there.
  void add_parameters() {
    for (std::size_t i = 0; i < draft_.node_count(); ++i) {
      ImportDraft::Node& node = draft_.node(i);
      const std::int64_t parameters = memory_bytes_[i] - node.operation.output_bytes;
      if (parameters <= 0) continue;
      node.own_inputs = {
          {.name = node.operation.name + ".parameters", .bytes = parameters, .consumers = {}}};
    }
  }

  void warn_of_what_is_left_out(std::int64_t memory) {
    report_.warn({}, "/maxSizePerFPGA: the file limits the memory of an accelerator to " +
                         std::to_string(memory) +
                         " bytes; a graph states no devices, let the topology state it");
    const auto joined = std::count_if(color_sizes_.begin(), color_sizes_.end(),
                                      [](const auto& entry) { return entry.second > 1; });
    if (joined > 0) {
      report_.warn({}, "/nodes: " + std::to_string(joined) +
                           " colour classes hold several nodes; that these belong on one device "
                           "is left out");
    }
    if (unsupported_ > 0) {
      report_.warn({}, "/nodes: " + std::to_string(unsupported_) +
                           " nodes are not supported on accelerators; devices 0.." +
                           std::to_string(accelerators_ - 1) + " are forbidden to them");
    }
    if (!rates_.empty()) {
      const double slowest = *rates_.begin();
      const double fastest = *rates_.rbegin();
      const bool one_rate = fastest <= slowest * (1 + 1e-9);  // but for rounding in the file
      report_.warn({},
                   "/edges: the costs of transfers are left out, their sizes count; together "
                   "they mean " +
                       format_decimal(slowest) +
                       (one_rate ? "" : " to " + format_decimal(fastest)) + " bytes per second");
    }
  }

  ImportReport report_;
  const ImportOptions& options_;
  ImportDraft draft_{CostUnit::kPhysical};
  std::int64_t accelerators_ = 0;
  std::vector<std::int64_t> memory_bytes_;  // by number in the draft
  std::map<std::int64_t, int> color_sizes_;
  std::set<double> rates_;
  std::size_t unsupported_ = 0;
};

class SplitReader {
 public:
  SplitReader(const std::string& file, const Imported& graph) : report_(file), graph_(graph) {
    for (std::size_t i = 0; i < graph.operation_ids.size(); ++i) {
      operation_of_[graph.operation_ids[i]] = OperationId(static_cast<std::int32_t>(i));
    }
  }

  ImportedSplit read(std::string_view content) {
    const nlohmann::json document = parse_strict_json(content, report_);
    const JsonField root(document, "", report_);
    const std::vector<JsonField> accelerators = root.at("fpgas").elements();
    const std::vector<JsonField> cpus = root.at("cpus").elements();
    split_.assignment.assign(graph_.graph.operation_count(), DeviceId());
    split_.accelerator_count = add_devices(accelerators, 0);
    split_.cpu_count = add_devices(cpus, split_.accelerator_count);
    for (std::size_t i = 0; i < split_.assignment.size(); ++i) {
      if (split_.assignment[OperationId(static_cast<std::int32_t>(i))].value() < 0) {
        report_.fail({}, "/",
                     "no device holds node " + graph_.operation_ids[i] +
                         "; does the split belong to this graph?");
      }
    }
    if (skipped_ > 0) {
      report_.warn({}, std::to_string(skipped_) +
                           " nodes of the split are no operations of the graph (input tensors lie "
                           "everywhere) and passed over");
    }
    for (const DeviceHint& hint : graph_.devices) {
      const auto count = hint.kind == "fpga" ? accelerators.size() : cpus.size();
      if (static_cast<std::size_t>(hint.count) < count) {
        report_.warn({}, "the split uses " + std::to_string(count) + " devices of kind " +
                             hint.kind + ", the graph's file allows " + std::to_string(hint.count));
      }
    }
    split_.warnings = report_.take_warnings();
    return std::move(split_);
  }

 private:
  int add_devices(const std::vector<JsonField>& devices, int first_device) {
    for (std::size_t d = 0; d < devices.size(); ++d) {
      for (const JsonField& node : devices[d].at("nodes").elements()) {
        const auto at = operation_of_.find(std::to_string(node.integer()));
        if (at == operation_of_.end()) {
          ++skipped_;
          continue;
        }
        DeviceId& device = split_.assignment[at->second];
        if (device.value() >= 0) node.fail("node " + at->first + " is on another device as well");
        device = DeviceId(first_device + static_cast<int>(d));
      }
    }
    return static_cast<int>(devices.size());
  }

  ImportReport report_;
  const Imported& graph_;
  std::unordered_map<std::string, OperationId> operation_of_;
  ImportedSplit split_;
  std::size_t skipped_ = 0;
};

}  // namespace

Imported import_dnn_partitioning(std::string_view content, const std::string& file,
                                 const ImportOptions& options) {
  return Reader(file, options).read(content);
}

ImportedSplit import_dnn_split(std::string_view content, const std::string& file,
                               const Imported& graph) {
  return SplitReader(file, graph).read(content);
}

}  // namespace doppler
