#include "common/graph_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "common/cost_table.h"
#include "common/levels.h"
#include "common/symmetry.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

// Most operations at the same distance from the entries.
std::int64_t graph_width(const Graph& graph) {
  std::map<std::int32_t, std::int64_t> counts;
  std::int64_t width = 0;
  for (std::int32_t depth : operation_depths(graph)) width = std::max(width, ++counts[depth]);
  return width;
}

double least_seconds(const Operation& operation) {
  double least = -1;
  for (const MeasuredDuration& measured : operation.measured_durations) {
    if (least < 0 || measured.seconds < least) least = measured.seconds;
  }
  return std::max(least, 0.0);
}

bool is_measured(const Graph& graph) {
  const auto& operations = graph.operations();
  return std::any_of(operations.begin(), operations.end(),
                     [](const Operation& o) { return !o.measured_durations.empty(); }) &&
         std::all_of(operations.begin(), operations.end(), [](const Operation& o) {
           return !o.measured_durations.empty() || o.flops == 0;
         });
}

// The largest sum of `work` along a path.
double longest_path(const Graph& graph, const std::vector<double>& work) {
  std::vector<double> ends(work.size(), 0);
  double longest = 0;
  for (OperationId id : graph.topological_order()) {
    double start = 0;
    for (OperationId predecessor : graph.predecessors(id)) {
      start = std::max(start, ends[predecessor.index()]);
    }
    ends[id.index()] = start + work[id.index()];
    longest = std::max(longest, ends[id.index()]);
  }
  return longest;
}

// The numbers of a graph that states durations are whole and exact.
void describe_durations(const Graph& graph, const std::vector<int>& device_counts, Json& report) {
  const CostTable one_device = CostTable::reference(graph, 1);
  std::int64_t work = 0;
  for (const Operation& operation : graph.operations()) work += operation.compute_time.ticks();
  // With one device no transfer counts: the path without communication.
  const std::int64_t path = compute_levels(one_device).critical_path.ticks();
  report["total_work_ticks"] = work;
  report["critical_path_ticks"] = path;
  report["critical_path_with_transfers_ticks"] =
      compute_levels(CostTable::reference(graph, 2)).critical_path.ticks();
  report["parallelism"] = path > 0 ? static_cast<double>(work) / static_cast<double>(path) : 1.0;
  report["lower_bounds"] = Json::array();
  for (int devices : device_counts) {
    const std::int64_t share = work / devices + (work % devices == 0 ? 0 : 1);
    report["lower_bounds"].push_back(
        {{"devices", devices}, {"makespan_ticks", std::max(path, share)}});
  }
}

void describe_physical(const Graph& graph, const std::vector<int>& device_counts, Json& report) {
  const bool measured = is_measured(graph);
  const std::string unit = measured ? "seconds" : "flops";
  std::vector<double> work;
  double total = 0;
  for (const Operation& operation : graph.operations()) {
    work.push_back(measured ? least_seconds(operation) : operation.flops);
    total += work.back();
  }
  const double path = longest_path(graph, work);
  report["total_work_" + unit] = total;
  report["critical_path_" + unit] = path;
  report["parallelism"] = path > 0 ? total / path : 1.0;
  report["lower_bounds"] = Json::array();
  for (int devices : device_counts) {
    report["lower_bounds"].push_back(
        {{"devices", devices}, {"makespan_" + unit, std::max(path, total / devices)}});
  }
}

void describe_bytes(const Graph& graph, Json& report) {
  double outputs = 0;
  double edges = 0;
  double inputs = 0;
  double flops = 0;
  for (const Operation& operation : graph.operations()) {
    outputs += static_cast<double>(operation.output_bytes);
    flops += operation.flops;
  }
  for (std::size_t e = 0; e < graph.edge_count(); ++e) {
    edges += static_cast<double>(graph.edge_bytes(EdgeId(static_cast<std::int32_t>(e))));
  }
  for (const InputTensor& input : graph.inputs()) inputs += static_cast<double>(input.bytes);
  report["total_flops"] = flops;
  report["output_bytes"] = outputs;
  report["edge_bytes"] = edges;
  report["input_bytes"] = inputs;
}

Json cost_classes(const Graph& graph) {
  if (graph.cost_unit() == CostUnit::kDurations) {
    std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::int64_t> counts;
    for (const Operation& operation : graph.operations()) {
      ++counts[{operation.compute_time.ticks(), operation.transfer_time.ticks(), operation.kind}];
    }
    Json list = Json::array();
    for (auto entry = counts.rbegin(); entry != counts.rend(); ++entry) {
      const auto& [compute, transfer, kind] = entry->first;
      list.push_back({{"operations", entry->second},
                      {"compute_ticks", compute},
                      {"transfer_ticks", transfer},
                      {"kind", kind}});
    }
    return list;
  }
  std::map<std::tuple<double, double, std::int64_t, std::string>, std::int64_t> counts;
  for (const Operation& operation : graph.operations()) {
    ++counts[{operation.flops, least_seconds(operation), operation.output_bytes, operation.kind}];
  }
  Json list = Json::array();
  for (auto entry = counts.rbegin(); entry != counts.rend(); ++entry) {
    const auto& [flops, seconds, bytes, kind] = entry->first;
    Json item = {{"operations", entry->second}, {"flops", flops}};
    if (seconds > 0) item["measured_seconds"] = seconds;
    item["output_bytes"] = bytes;
    item["kind"] = kind;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

nlohmann::ordered_json to_json(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& warning : warnings) {
    list.push_back({{"line", warning.line}, {"column", warning.column}, {"text", warning.text}});
  }
  return list;
}

nlohmann::ordered_json describe_graph(const Graph& graph, const std::vector<int>& device_counts) {
  Json report;
  report["name"] = graph.name();
  report["operations"] = graph.operation_count();
  report["edges"] = graph.edge_count();
  report["inputs"] = graph.input_count();
  report["depth"] = graph_depth(graph);
  report["width"] = graph_width(graph);
  report["symmetry_classes"] = symmetry_classes(graph).class_size.size();
  if (graph.cost_unit() == CostUnit::kDurations) {
    report["costs"] = "durations";
    describe_durations(graph, device_counts, report);
  } else {
    report["costs"] = "physical";
    describe_physical(graph, device_counts, report);
    describe_bytes(graph, report);
  }
  report["cost_classes"] = cost_classes(graph);
  return report;
}

}  // namespace doppler
