#include "common/graph_source.h"

#include <optional>
#include <utility>

#include "common/error.h"
#include "common/graph_format.h"
#include "common/workloads.h"

namespace doppler {

GraphText load_graph(const GraphConfig& config, std::int32_t devices, CostConvention costs) {
  if (config.path.empty() == config.generate.empty()) {
    throw ConfigError(
        "graph: give exactly one of graph.path (a graph file) and graph.generate (a workload)");
  }
  if (!config.path.empty()) {
    Imported imported = load_any_graph(config.path, std::nullopt, ImportOptions{});
    return {.graph = std::move(imported.graph), .warnings = std::move(imported.warnings)};
  }
  WorkloadOptions options;
  options.devices = devices;
  options.costs = costs;
  return {.graph = generate_workload(config.generate, options), .warnings = {}};
}

}  // namespace doppler
