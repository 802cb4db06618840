// doppler fidelity: simulated against measured makespans of many assignments.
#include <cstdint>
#include <iomanip>
#include <iostream>
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
#include "gpuexec/fidelity.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/measurement.h"
#include "gpuexec/poisoned_exit.h"
#include "gpuexec/spread_assignments.h"
#include "sim/physical_simulator.h"
#include "sim/simulation_flags.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string graph;
  std::string topology;
  std::string backend = "cpu";
  ExecutionRules rules;
  std::size_t assignments = 100;
  std::int64_t evaluations = 5000;
  std::uint64_t seed = 1;
  MeasurementOptions measurement;
  bool no_control = false;
  std::string csv;
  bool json = false;
};

Flags read_flags(int argc, char** argv) {
  CLI::App app("Compares simulated with measured makespans.", "doppler fidelity");
  Flags flags;
  flags.measurement.repeats = 3;
  app.add_option("GRAPH", flags.graph, "graph file of any format that states FLOPs and bytes")
      ->required();
  app.add_option("--topology", flags.topology, "topology file, as doppler calibrate makes it")
      ->required();
  app.add_option("--backend", flags.backend, "cpu, emulated or cuda (default: cpu)");
  add_execution_flags(app, flags.rules);
  app.add_option("--assignments", flags.assignments,
                 "how many, spread over the simulated makespans from bad to searched (default: "
                 "100)")
      ->check(CLI::Range(2, 100000));
  app.add_option("--search", flags.evaluations,
                 "simulations of the search for the best one (default: 5000)")
      ->check(CLI::Range(1, 1000000000));
  app.add_option("--seed", flags.seed, "of the assignments");
  app.add_option("--repeats", flags.measurement.repeats,
                 "measured runs of each assignment (default: 3)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--warmup", flags.measurement.warmup, "runs before them (default: 1)")
      ->check(CLI::Range(0, 100000));
  app.add_option("--timeout", flags.measurement.timeout_seconds,
                 "seconds that a run may take (default: 60)")
      ->check(CLI::Range(1e-6, 1e8));
  app.add_option("--pause", flags.measurement.pause_seconds,
                 "seconds to rest before each run (default: 0)")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_flag("--no-control", flags.no_control, "do not look out for a disturbed machine");
  app.add_option("--csv", flags.csv, "file to write a line for each assignment to");
  app.add_flag("--json", flags.json, "print the report as JSON");
  app.footer(
      "Errors are |simulated - measured| / measured.\n\nExamples:\n"
      "  doppler fidelity graph.json --topology cpu.yaml --backend cpu --csv points.csv\n"
      "  /usr/bin/python3 analysis/plot_fidelity.py points.csv -o fidelity.png");
  parse_flags(app, argc, argv);
  flags.measurement.control = !flags.no_control;
  return flags;
}

std::vector<FidelityPoint> measure(const Flags& flags, GraphRunner& runner,
                                   const std::vector<SpreadAssignment>& assignments) {
  Measurer measurer(runner, flags.measurement);
  std::vector<FidelityPoint> points;
  // Every seventh, then those beside them: a slow change of the machine spreads over all.
  constexpr std::size_t kStride = 7;
  for (std::size_t first = 0; first < kStride; ++first) {
    for (std::size_t i = first; i < assignments.size(); i += kStride) {
      const Measurement m = measurer.measure(assignments[i].assignment, {});
      if (m.status != MeasurementStatus::kDone) {
        std::cerr << "assignment " << i + 1 << ": " << status_name(m.status) << "; left out\n";
        continue;
      }
      points.push_back({.simulated_seconds = assignments[i].simulated.seconds(),
                        .measured_seconds = m.seconds,
                        .low_seconds = m.interval.low,
                        .high_seconds = m.interval.high,
                        .disturbed = m.disturbed});
    }
  }
  if (points.size() < 2) {
    throw SystemError("fewer than two assignments could be measured; see the messages before");
  }
  return points;
}

int fidelity_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const Imported file = load_any_graph(flags.graph, std::nullopt, {});
  for (const Warning& warning : file.warnings) {
    std::cerr << describe(warning, input_name(flags.graph)) << "\n";
  }
  const Topology topology = load_topology(flags.topology);
  const CostTable costs = name_file_in_errors(
      input_name(flags.graph), [&] { return CostTable::physical(file.graph, topology); });
  PhysicalOptions options;
  options.contention = flags.rules.contention;
  options.dispatch = flags.rules.dispatch;
  options.memory = MemoryRule::kEnforce;
  PhysicalSimulator simulator(costs, topology, options);
  const std::vector<SpreadAssignment> assignments =
      spread_assignments(costs, simulator, flags.assignments, flags.evaluations, flags.seed);
  GraphRunner runner(costs, topology, options,
                     make_backend(flags.backend, costs, topology, options.contention));
  const std::vector<FidelityPoint> points = measure(flags, runner, assignments);
  const FidelityReport report = judge_fidelity(points);
  if (!flags.csv.empty()) write_text_file(flags.csv, fidelity_csv(points));
  if (flags.json) {
    Json entry;
    entry["assignments"] = report.count;
    entry["pearson"] = report.pearson;
    entry["spearman"] = report.spearman;
    entry["median_error"] = report.median_error;
    entry["error_p90"] = report.error_p90;
    entry["largest_error"] = report.largest_error;
    entry["median_simulated_over_measured"] = report.median_ratio;
    entry["disturbed"] = report.disturbed;
    entry["synthetic_operations"] = runner.work_counts().synthetic;
    std::cout << entry.dump(2) << "\n";
  } else {
    std::cout << std::setprecision(4) << "assignments          " << report.count << "\n"
              << "Pearson              " << report.pearson << "\n"
              << "Spearman             " << report.spearman << "\n"
              << "median error         " << 100 * report.median_error << " %\n"
              << "90 % are below       " << 100 * report.error_p90 << " %\n"
              << "largest error        " << 100 * report.largest_error << " %\n"
              << "simulated / measured " << report.median_ratio << "\n"
              << "disturbed            " << report.disturbed << "\n";
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, [](int count, char** values) {
    return doppler::with_poisoned_exit_code([&] { return doppler::fidelity_main(count, values); });
  });
}
