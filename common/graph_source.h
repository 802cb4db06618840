// Where a run's graphs come from: files of any format, or generators.
#ifndef DOPPLER_COMMON_GRAPH_SOURCE_H_
#define DOPPLER_COMMON_GRAPH_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/graph_text.h"
#include "common/sharding.h"

namespace doppler {

struct LoadedGraph {
  std::string source;  // the file or the workload
  Graph graph;
  std::vector<Warning> warnings;  // of the file
};

// The graphs that `config` names (exactly one of path and generate, each graph once). Workloads are
// cut for `devices` and costed by `costs`; files are what they are.
std::vector<LoadedGraph> load_graphs(const GraphConfig& config, std::int32_t devices,
                                     CostConvention costs);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_SOURCE_H_
