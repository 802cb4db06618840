// Where a run's graph comes from: a file or a generator.
#ifndef DOPPLER_COMMON_GRAPH_SOURCE_H_
#define DOPPLER_COMMON_GRAPH_SOURCE_H_

#include <span>
#include <string>

#include "common/config.h"
#include "common/graph_text.h"

namespace doppler {

// Names of the workloads that generate_graph() knows.
std::span<const std::string> workload_names();

// Throws ConfigError for a name that is not among them.
Graph generate_graph(const std::string& workload);

// The graph that `config` names (exactly one of path and generate), with the warnings of its file.
GraphText load_graph(const GraphConfig& config);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_SOURCE_H_
