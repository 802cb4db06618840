#include "common/graph_source.h"

#include <optional>
#include <utility>

#include "common/error.h"
#include "common/graph_format.h"
#include "common/workloads.h"

namespace doppler {

std::vector<LoadedGraph> load_graphs(const GraphConfig& config, std::int32_t devices,
                                     CostConvention costs) {
  if (config.path.empty() == config.generate.empty()) {
    throw ConfigError(
        "graph: give exactly one of graph.path (graph files) and graph.generate (workloads)");
  }
  std::vector<LoadedGraph> loaded;
  for (const std::string& path : config.path) {
    Imported imported = load_any_graph(path, std::nullopt, ImportOptions{});
    loaded.push_back({path, std::move(imported.graph), std::move(imported.warnings)});
  }
  WorkloadOptions options;
  options.devices = devices;
  options.costs = costs;
  for (const std::string& workload : config.generate) {
    loaded.push_back({workload, generate_workload(workload, options), {}});
  }
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (loaded[i].graph.content_hash() != loaded[j].graph.content_hash()) continue;
      throw ConfigError("graph: " + loaded[j].source + " and " + loaded[i].source +
                        " are the same graph; name it once");
    }
  }
  return loaded;
}

}  // namespace doppler
