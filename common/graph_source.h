// Where a run's graph comes from: a file of any format, or a generator.
#ifndef DOPPLER_COMMON_GRAPH_SOURCE_H_
#define DOPPLER_COMMON_GRAPH_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/graph_text.h"
#include "common/sharding.h"

namespace doppler {

// The graph that `config` names (exactly one of path and generate), with the warnings of its file.
// A workload is cut for `devices` and costed by `costs`; a file is what it is.
GraphText load_graph(const GraphConfig& config, std::int32_t devices, CostConvention costs);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_SOURCE_H_
