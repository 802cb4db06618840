// A graph that states FLOPs, bytes or measured seconds, turned into one that states durations: the
// same on every device and between all devices, for reference mode and for the paper's text format.
#ifndef DOPPLER_COMMON_GRAPH_DURATIONS_H_
#define DOPPLER_COMMON_GRAPH_DURATIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "common/graph.h"
#include "common/graph_text.h"

namespace doppler {

struct DurationRates {
  // Whose measured durations count; others and operations without any go by FLOPs.
  std::string device_kind = std::string(kAnyDeviceKind);
  std::optional<double> flops_per_second = {};
  std::optional<double> bytes_per_second = {};
};

struct GraphInDurations {
  Graph graph;  // CostUnit::kDurations, one tick a picosecond
  std::vector<Warning> warnings;
};

// Every operation takes its measured duration on the device kind, else on any kind, else FLOPs /
// rate; its transfer the bytes of its largest edge / rate. Throws ConfigError that names the rate
// that is missing. A graph that states durations comes back as it is.
GraphInDurations turn_into_durations(const Graph& graph, const DurationRates& rates);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_DURATIONS_H_
