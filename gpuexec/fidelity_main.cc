// doppler fidelity: simulated against measured makespans of many assignments.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/cli.h"
#include "common/error.h"
#include "common/interruption.h"
#include "common/progress.h"
#include "common/text_file.h"
#include "gpuexec/fidelity.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/measured_graph.h"
#include "gpuexec/measuring_flags.h"
#include "gpuexec/poisoned_exit.h"
#include "gpuexec/spread_assignments.h"
#include "sim/physical_simulator.h"

namespace doppler {
namespace {

struct Flags {
  MeasuringFlags measuring;
  std::size_t assignments = 100;
  std::int64_t evaluations = 5000;
  std::uint64_t seed = 1;
  bool no_control = false;
  std::string csv;
  bool json = false;
};

// What is measured between two looks at the control is in doubt where the second is slow.
constexpr double kControlIntervalSeconds = 1;
constexpr int kControlRetries = 5;

Flags read_flags(int argc, char** argv) {
  CLI::App app("Compares simulated with measured makespans.", "doppler fidelity");
  Flags flags;
  add_measuring_flags(app, flags.measuring);
  app.add_option("--assignments", flags.assignments,
                 "how many, spread over the simulated makespans from bad to searched")
      ->capture_default_str()
      ->check(CLI::Range(2, 100000));
  app.add_option("--search", flags.evaluations, "simulations of the search for the best one")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000000));
  app.add_option("--seed", flags.seed, "of the assignments")->capture_default_str();
  app.add_flag("--no-control", flags.no_control,
               "do not look out for a disturbed machine by measuring a control assignment");
  app.add_option("--csv", flags.csv, "file to write a line for each assignment to");
  app.add_flag("--json", flags.json, "print the report as JSON");
  app.footer(
      "Assignments run in turn, round after round (--repeats of them), each once measured in "
      "every round. Errors are |simulated - measured| / measured. Ctrl-C and SIGTERM end it with "
      "the rounds so far.\n\nExamples:\n"
      "  doppler fidelity graph.json --topology cpu.yaml --backend cpu --csv points.csv\n"
      "  /usr/bin/python3 analysis/plot_fidelity.py points.csv -o fidelity.png");
  parse_flags(app, argc, argv);
  if (!flags.csv.empty()) check_output_file(flags.csv);
  return flags;
}

std::vector<FidelityPoint> measure(const Flags& flags, GraphRunner& runner,
                                   const std::vector<SpreadAssignment>& assignments) {
  const MeasurementOptions& measurement = flags.measuring.measurement;
  Progress progress("fidelity");
  TurnOptions options{.rounds = measurement.repeats,
                      .warmup = measurement.warmup,
                      .timeout_seconds = measurement.timeout_seconds,
                      .pause_seconds = measurement.pause_seconds,
                      .control_interval_seconds = flags.no_control ? 0 : kControlIntervalSeconds,
                      .retries = kControlRetries,
                      .before_placement = {}};
  options.before_placement = [&](int round, std::size_t placement) {
    const double done = static_cast<double>(round) +
                        static_cast<double>(placement) / static_cast<double>(assignments.size());
    progress.update(done / options.rounds,
                    "round " + std::to_string(round + 1) + " of " + std::to_string(options.rounds));
    return interruption_signal() == 0;
  };
  note_interruptions({SIGINT, SIGTERM});
  const FidelityMeasurement measured = measure_fidelity(runner, assignments, options);
  progress.clear();
  for (const std::string& line : measured.left_out) std::cerr << line << "; left out\n";
  if (measured.points.size() < 2) {
    throw SystemError(interruption_signal() != 0
                          ? "interrupted before the first round was over"
                          : "fewer than two assignments could be measured; see above");
  }
  return measured.points;
}

void print_json(const FidelityReport& report, const WorkCounts& counts) {
  const nlohmann::ordered_json entry = {{"assignments", report.count},
                                        {"pearson", report.pearson},
                                        {"spearman", report.spearman},
                                        {"median_error", report.median_error},
                                        {"error_p90", report.error_p90},
                                        {"largest_error", report.largest_error},
                                        {"median_simulated_over_measured", report.median_ratio},
                                        {"disturbed", report.disturbed},
                                        {"synthetic_operations", counts.synthetic}};
  std::cout << entry.dump(2) << "\n";
}

void print_table(const FidelityReport& report) {
  std::cout << std::setprecision(4) << "assignments          " << report.count << "\n"
            << "Pearson              " << report.pearson << "\n"
            << "Spearman             " << report.spearman << "\n"
            << "median error         " << 100 * report.median_error << " %\n"
            << "90 % are below       " << 100 * report.error_p90 << " %\n"
            << "largest error        " << 100 * report.largest_error << " %\n"
            << "simulated / measured " << report.median_ratio << "\n"
            << "disturbed            " << report.disturbed << "\n";
}

int fidelity_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const MeasuredGraph question(flags.measuring);
  PhysicalSimulator simulator(question.costs(), question.topology(), question.options());
  const std::vector<SpreadAssignment> assignments = spread_assignments(
      question.costs(), simulator, flags.assignments, flags.evaluations, flags.seed);
  GraphRunner runner(question.costs(), question.topology(), question.options(),
                     question.make_backend());
  const std::vector<FidelityPoint> points = measure(flags, runner, assignments);
  const FidelityReport report = judge_fidelity(points);
  if (!flags.csv.empty()) write_text_file(flags.csv, fidelity_csv(points));
  if (flags.json) {
    print_json(report, runner.work_counts());
  } else {
    print_table(report);
  }
  if (interruption_signal() != 0) std::cerr << "doppler fidelity: interrupted\n";
  return interruption_signal() != 0 ? 128 + interruption_signal()
                                    : static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, [](int count, char** values) {
    return doppler::with_poisoned_exit_code([&] { return doppler::fidelity_main(count, values); });
  });
}
