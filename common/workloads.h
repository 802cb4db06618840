// Workloads: the graphs that this project generates, by name and size. Deterministic.
#ifndef DOPPLER_COMMON_WORKLOADS_H_
#define DOPPLER_COMMON_WORKLOADS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/graph.h"
#include "common/sharding.h"

namespace doppler {

struct WorkloadSize {
  const char* name;
  std::int64_t default_value;
  const char* meaning;
};

struct WorkloadInfo {
  const char* name;
  const char* summary;
  std::vector<WorkloadSize> sizes;
};

struct WorkloadOptions {
  std::int32_t devices = 4;  // the graph is cut for as many
  CostConvention costs = CostConvention::kPhysical;
  std::uint64_t seed = 1;                     // of random graphs
  std::map<std::string, std::int64_t> sizes;  // by WorkloadSize::name; the rest by default
};

std::span<const WorkloadInfo> workloads();

// The workload of that name. Throws ConfigError, with the nearest name, where there is none.
const WorkloadInfo& find_workload(const std::string& name);

// Throws ConfigError for an unknown workload or size (with the nearest name) and for sizes that
// make no sense.
Graph generate_workload(const std::string& name, const WorkloadOptions& options);

}  // namespace doppler

#endif  // DOPPLER_COMMON_WORKLOADS_H_
