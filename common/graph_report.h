// What `doppler graph show` tells about a graph.
#ifndef DOPPLER_COMMON_GRAPH_REPORT_H_
#define DOPPLER_COMMON_GRAPH_REPORT_H_

#include <vector>

#include <nlohmann/json.hpp>

#include "common/graph.h"
#include "common/graph_text.h"

namespace doppler {

// [{"line", "column", "text"}]
nlohmann::ordered_json to_json(const std::vector<Warning>& warnings);

// Counts, depth, width, symmetry classes, costs, and for each count of devices a lower bound of the
// makespan: the longest path or an equal share of all work, whichever is more, without transfers.
//
// Work is told in what the graph states: ticks where it states durations; else seconds where its
// costs are measured (on the fastest kind of device) and FLOPs otherwise.
nlohmann::ordered_json describe_graph(const Graph& graph, const std::vector<int>& device_counts);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_REPORT_H_
