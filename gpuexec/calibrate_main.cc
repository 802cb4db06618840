// doppler calibrate: measures a machine and writes the topology that simulates it.
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/cli.h"
#include "common/error.h"
#include "common/graph_format.h"
#include "common/text_file.h"
#include "common/topology_file.h"
#include "gpuexec/backend_factory.h"
#include "gpuexec/calibration.h"
#include "gpuexec/poisoned_exit.h"
#include "gpuexec/skeleton_topology.h"
#include "gpuexec/statistics.h"
#include "sim/simulation_flags.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string backend = "cpu";
  int devices = 0;
  std::string topology;
  std::vector<std::string> like;
  ExecutionRules rules;
  std::int64_t largest_elements = 1 << 20;
  std::int64_t largest_transfer = 1 << 24;
  double timeout_seconds = 60;
  double pause_seconds = 0;
  std::string output;
  bool json = false;
};

Flags read_flags(int argc, char** argv) {
  CLI::App app("Measures what a backend does and writes a topology file of it.",
               "doppler calibrate");
  Flags flags;
  flags.rules.contention = Contention::kFair;
  app.add_option("--backend", flags.backend, "cpu, emulated or cuda (default: cpu)");
  app.add_option("--devices", flags.devices, "how many devices (default: 2; cuda: all)")
      ->check(CLI::Range(1, 64));
  app.add_option("--topology", flags.topology,
                 "instead of --devices: take names and kinds of the devices from here; what "
                 "emulated emulates");
  app.add_option("--like", flags.like,
                 "graph file: measure operations of its kinds and sizes instead of a fixed list; "
                 "may be given several times");
  add_execution_flags(app, flags.rules);
  app.add_option("--largest-elements", flags.largest_elements,
                 "of an operand of the fixed list (default: 1048576)")
      ->check(CLI::Range(std::int64_t{4096}, std::int64_t{1} << 30));
  app.add_option("--largest-transfer", flags.largest_transfer,
                 "bytes of the largest tensor that is sent (default: 16777216)")
      ->check(CLI::Range(std::int64_t{65536}, std::int64_t{1} << 32));
  app.add_option("--timeout", flags.timeout_seconds, "seconds that a run may take (default: 60)")
      ->check(CLI::Range(1e-3, 1e8));
  app.add_option("--pause", flags.pause_seconds, "seconds to rest before each run (default: 0)")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_option("-o,--output", flags.output, "topology file to write; - is standard output")
      ->required();
  app.add_flag("--json", flags.json, "report every sample with its fit, as JSON");
  app.footer(
      "Time by kind and size of operations, launch overhead, latency and bandwidth of links alone "
      "and together.\nReports how far the fit is from what was measured.\n\nExamples:\n"
      "  doppler calibrate --backend cpu --devices 2 -o cpu.yaml\n"
      "  doppler calibrate --backend cpu --devices 2 --like graph.json -o cpu.yaml");
  parse_flags(app, argc, argv);
  if (flags.devices > 0 && !flags.topology.empty()) {
    throw ConfigError("give either --devices or --topology");
  }
  if (flags.output == "-" && flags.json) {
    throw ConfigError("--output - writes to standard output, where the report goes; name a file");
  }
  check_output_file(flags.output);
  return flags;
}

std::vector<OperationSample> read_samples(const Flags& flags) {
  constexpr std::size_t kMost = 60;
  if (flags.like.empty()) return default_samples(flags.largest_elements);
  std::vector<OperationSample> samples;
  for (const std::string& path : flags.like) {
    const Imported file = load_any_graph(path, std::nullopt, {});
    if (file.graph.cost_unit() != CostUnit::kPhysical) {
      throw ConfigError(input_name(path) + ": states durations; calibration needs FLOPs and bytes");
    }
    const auto own = samples_like(file.graph, kMost);
    samples.insert(samples.end(), own.begin(), own.end());
  }
  if (samples.empty()) throw ConfigError("--like: the graphs have no operations to measure");
  return samples;
}

std::string describe_kinds(const Calibration& calibration) {
  std::map<std::string, std::vector<double>> errors;
  for (const OperationCheck& check : calibration.operations) {
    errors[check.measured.kind].push_back(
        std::abs(check.predicted_seconds / check.measured.seconds - 1));
  }
  std::ostringstream text;
  text << std::fixed << std::setprecision(1);
  for (const auto& [kind, own] : errors) {
    text << "  " << std::left << std::setw(18) << kind << " median error " << 100 * median(own)
         << " %, " << own.size() << " samples\n";
  }
  return text.str();
}

std::string describe_links(const Calibration& calibration) {
  std::ostringstream text;
  text << std::setprecision(3);
  for (const Link& link : calibration.parts.links) {
    text << "  " << calibration.parts.devices[link.from.index()].name << " -> "
         << calibration.parts.devices[link.to.index()].name << ": " << 1e6 * link.latency_seconds
         << " us, " << link.bandwidth_bytes_per_second / 1e9 << " GB/s\n";
  }
  return text.str();
}

Json to_json(const Calibration& calibration) {
  Json report;
  report["operations"] = Json::array();
  for (const OperationCheck& check : calibration.operations) {
    report["operations"].push_back({{"device", check.device.value()},
                                    {"kind", check.measured.kind},
                                    {"flops", check.measured.flops},
                                    {"bytes", check.measured.bytes},
                                    {"measured_seconds", check.measured.seconds},
                                    {"fitted_seconds", check.predicted_seconds}});
  }
  report["transfers"] = Json::array();
  for (const TransferCheck& check : calibration.transfers) {
    report["transfers"].push_back({{"from", check.from.value()},
                                   {"to", check.to.value()},
                                   {"bytes", check.measured.bytes},
                                   {"measured_seconds", check.measured.seconds},
                                   {"fitted_seconds", check.predicted_seconds}});
  }
  report["findings"] = calibration.findings;
  return report;
}

int calibrate_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const std::vector<OperationSample> samples = read_samples(flags);
  const Topology skeleton =
      flags.topology.empty()
          ? skeleton_topology(flags.backend, flags.devices > 0
                                                 ? flags.devices
                                                 : default_device_count(flags.backend))
          : load_topology(flags.topology);
  const Contention contention = flags.rules.contention;
  const CalibrationExperiment experiment(
      skeleton, contention,
      [&](const CostTable& costs, const Topology& topology) {
        return make_backend(flags.backend, costs, topology, contention);
      },
      flags.timeout_seconds, flags.pause_seconds);
  CalibrationOptions options;
  options.samples = samples;
  options.largest_transfer_bytes = flags.largest_transfer;
  const Calibration calibration = calibrate(experiment, skeleton, options);
  const Topology topology(calibration.parts);
  write_text_file(flags.output, format_topology(topology));
  if (flags.json) {
    std::cout << to_json(calibration).dump(2) << "\n";
  } else if (flags.output != "-") {
    std::cout << "operations, fitted against measured\n"
              << describe_kinds(calibration) << "links\n"
              << describe_links(calibration);
    for (const std::string& finding : calibration.findings) std::cout << finding << "\n";
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, [](int count, char** values) {
    return doppler::with_poisoned_exit_code([&] { return doppler::calibrate_main(count, values); });
  });
}
