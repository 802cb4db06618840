#include "gpuexec/measuring_flags.h"

#include <CLI/CLI.hpp>

namespace doppler {
namespace {

constexpr int kMostRuns = 100000;
constexpr double kShortestRun = 1e-6;
constexpr double kLongestRun = 1e8;
constexpr double kLongestPause = 3600;

}  // namespace

void add_measuring_flags(CLI::App& app, MeasuringFlags& flags) {
  MeasurementOptions& measurement = flags.measurement;
  app.add_option("GRAPH", flags.graph, "graph file of any format that states FLOPs and bytes")
      ->required();
  app.add_option("--topology", flags.topology,
                 "topology file, as doppler calibrate makes it: the devices, what they hold, and "
                 "how tensors travel")
      ->required();
  app.add_option("--backend", flags.backend,
                 "cpu: devices are threads; emulated: devices and links only take their time; "
                 "cuda: GPUs")
      ->capture_default_str();
  add_execution_flags(app, flags.rules);
  app.add_option("--repeats", measurement.repeats, "measured runs of each assignment")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostRuns));
  app.add_option("--warmup", measurement.warmup, "unmeasured runs before them")
      ->capture_default_str()
      ->check(CLI::Range(0, kMostRuns));
  app.add_option("--timeout", measurement.timeout_seconds, "seconds that a run may take")
      ->capture_default_str()
      ->check(CLI::Range(kShortestRun, kLongestRun));
  app.add_option("--pause", measurement.pause_seconds, "seconds to rest before each run")
      ->capture_default_str()
      ->check(CLI::Range(0.0, kLongestPause));
}

}  // namespace doppler
