#include "common/generate_command.h"

#include <charconv>

#include <CLI/CLI.hpp>

#include "common/error.h"
#include "common/model_file.h"
#include "common/workloads.h"

namespace doppler {
namespace {

constexpr std::int32_t kMostDevices = 4096;

void add_common_flags(CLI::App& command, GenerateFlags& flags) {
  command.add_option("--devices", flags.devices, "how many devices the graph is cut for")
      ->check(CLI::Range(1, kMostDevices))
      ->capture_default_str();
  command
      .add_option(
          "--costs", flags.costs,
          "paper: ticks as in the paper's files, for reference mode; physical: FLOPs and bytes")
      ->check(CLI::IsMember({"paper", "physical"}))
      ->capture_default_str();
  command.add_option("-o,--output", flags.output, "graph file to write; - is standard output");
}

CostConvention convention(const GenerateFlags& flags) {
  return flags.costs == "paper" ? CostConvention::kPaper : CostConvention::kPhysical;
}

}  // namespace

void add_generate_flags(CLI::App& command, GenerateFlags& flags) {
  // Required in effect, but not for --list, so that the parser cannot ask for them.
  command.add_option("WORKLOAD", flags.source, "one of those that --list shows")
      ->option_text("TEXT REQUIRED");
  add_common_flags(command, flags);
  command.get_option("--output")->option_text("TEXT REQUIRED");
  command.add_option("--size", flags.sizes, "name=value: changes a size of the workload")
      ->take_all();
  command.add_option("--seed", flags.seed, "of random graphs")->capture_default_str();
  command.add_flag("--list", flags.list, "show the workloads and their sizes");
  command.footer(
      "Examples:\n"
      "  doppler graph generate chain-mm -o chain_mm.txt\n"
      "  doppler graph generate llama --devices 8 --size layers=2 --costs physical -o llama.json\n"
      "  doppler graph generate --list");
}

void add_shard_flags(CLI::App& command, GenerateFlags& flags) {
  command.add_option("MODEL", flags.source, "model file, see docs/workloads.md")->required();
  add_common_flags(command, flags);
  command.get_option("--output")->required();
  command
      .add_option("--partition", flags.partitions,
                  "tensor:index=blocks,...: how to cut the operation that makes a tensor")
      ->take_all();
  command.footer(
      "Example:\n  doppler graph shard model.yaml --devices 4 --partition y:b=2,h=2 -o graph.json");
}

Graph generate_from_flags(const GenerateFlags& flags) {
  WorkloadOptions options;
  options.devices = flags.devices;
  options.costs = convention(flags);
  options.seed = flags.seed;
  for (const std::string& text : flags.sizes) {
    const std::size_t equals = text.find('=');
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto result = equals == std::string::npos
                            ? std::from_chars_result{end, std::errc::invalid_argument}
                            : std::from_chars(text.data() + equals + 1, end, value);
    if (result.ec != std::errc() || result.ptr != end) {
      throw ConfigError("--size " + text +
                        ": expected name=value with a whole number, as in --size layers=2");
    }
    options.sizes[text.substr(0, equals)] = value;
  }
  return generate_workload(flags.source, options);
}

Graph shard_from_flags(const GenerateFlags& flags) {
  Model model = load_model(flags.source);
  for (const std::string& partition : flags.partitions) set_partition(model, partition);
  ShardingOptions options;
  options.parts = flags.devices;
  options.costs = convention(flags);
  options.always_reduce = options.costs == CostConvention::kPaper;
  return shard(model, options);
}

std::string describe_workloads() {
  std::string text;
  for (const WorkloadInfo& workload : workloads()) {
    text += std::string(workload.name) + ": " + workload.summary + "\n";
    for (const WorkloadSize& size : workload.sizes) {
      text += "    " + std::string(size.name) + "=" + std::to_string(size.default_value) + "  " +
              size.meaning + "\n";
    }
  }
  return text;
}

}  // namespace doppler
