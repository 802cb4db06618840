#include "common/graph_source.h"

#include <vector>

#include "common/error.h"
#include "common/nearest_name.h"
#include "common/workload_chain_mm.h"

namespace doppler {

std::span<const std::string> workload_names() {
  static const std::vector<std::string> kNames = {"chain-mm"};
  return kNames;
}

Graph generate_graph(const std::string& workload) {
  if (workload == "chain-mm") return generate_chain_mm({});
  throw ConfigError("workload '" + workload + "' is not known" +
                    suggest_name(workload, workload_names()));
}

GraphText load_graph(const GraphConfig& config) {
  if (config.path.empty() == config.generate.empty()) {
    throw ConfigError(
        "graph: give exactly one of graph.path (a graph file) and graph.generate (a workload)");
  }
  if (!config.path.empty()) return load_graph_text(config.path);
  return {.graph = generate_graph(config.generate), .warnings = {}};
}

}  // namespace doppler
