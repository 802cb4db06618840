// The subcommands `doppler graph generate` and `doppler graph shard`: their flags, and the graph
// that they ask for.
#ifndef DOPPLER_COMMON_GENERATE_COMMAND_H_
#define DOPPLER_COMMON_GENERATE_COMMAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/graph.h"

namespace CLI {
class App;
}

namespace doppler {

struct GenerateFlags {
  std::string source;  // a workload, or a model file
  std::int32_t devices = 4;
  std::string costs = "paper";
  std::uint64_t seed = 1;
  std::vector<std::string> sizes;       // "name=value"
  std::vector<std::string> partitions;  // "tensor:index=blocks,..."
  bool list = false;                    // show the workloads instead
  std::string output;
};

void add_generate_flags(CLI::App& command, GenerateFlags& flags);
void add_shard_flags(CLI::App& command, GenerateFlags& flags);

// Throw ConfigError or FormatError that names the flag or the place in the file.
Graph generate_from_flags(const GenerateFlags& flags);
Graph shard_from_flags(const GenerateFlags& flags);

// The workloads with their sizes, for people.
std::string describe_workloads();

}  // namespace doppler

#endif  // DOPPLER_COMMON_GENERATE_COMMAND_H_
