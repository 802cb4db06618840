// doppler baseline: what the classical schedulers reach on a graph.
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/cli.h"
#include "common/error.h"
#include "common/graph_text.h"
#include "common/progress.h"
#include "common/text_file.h"
#include "sim/baselines.h"
#include "sim/lower_bounds.h"
#include "sim/reference_simulator.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAll = "all";

struct Flags {
  std::string graph;
  bool reference = false;
  int devices = 0;
  std::string algorithm = kAll;
  BaselineOptions options;
  bool json = false;
  std::string output;
};

Flags read_flags(int argc, char** argv) {
  CLI::App app("Costs the classical schedulers on a graph.", "doppler baseline");
  Flags flags;
  app.add_option("GRAPH", flags.graph, "graph file")->required();
  app.add_flag("--reference", flags.reference, "the cost model of the paper's published simulator");
  app.add_option("--devices", flags.devices, "how many devices there are")->required();
  app.add_option("--algorithm", flags.algorithm, "one of those listed below, or all")
      ->capture_default_str();
  app.add_option("--seed", flags.options.seed, "of the algorithms that draw at random")
      ->capture_default_str();
  app.add_option("--samples", flags.options.random_samples, "assignments of random")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--tries", flags.options.critical_path_tries, "schedules of critical-path")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--evaluations", flags.options.local_search_evaluations,
                 "simulations of local-search")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--seconds", flags.options.local_search_seconds,
                 "let local-search run that long instead; not reproducible")
      ->check(CLI::Range(0.0, 1e9));
  app.add_flag("--json", flags.json, "print JSON, with the assignments");
  app.add_option("--output", flags.output, "folder to write each assignment to, as ALGORITHM.json");
  std::string footer = "Algorithms:\n";
  for (const BaselineInfo& info : baselines()) {
    std::string name = info.name;
    name.resize(26, ' ');
    footer += "  " + name + info.summary + "\n";
  }
  app.footer(footer + "\nExample:\n  doppler baseline graph.txt --reference --devices 4");
  parse_flags(app, argc, argv);
  if (!flags.reference) {
    throw ConfigError(
        "the physical mode needs a topology and is not available in this version; add --reference");
  }
  return flags;
}

Json to_json(const BaselineResult& result, SimTime bound) {
  Json json;
  json["name"] = result.name;
  json["cost"] = ReferenceSimulator::reference_cost(result.makespan);
  json["makespan_ticks"] = result.makespan.ticks();
  json["ratio_to_bound"] = nullptr;
  if (bound > SimTime(0)) {
    json["ratio_to_bound"] =
        static_cast<double>(result.makespan.ticks()) / static_cast<double>(bound.ticks());
  }
  json["mean_cost"] = nullptr;
  if (result.mean_makespan_ticks) json["mean_cost"] = *result.mean_makespan_ticks / 1e10;
  json["evaluations"] = result.evaluations;
  json["seconds"] = result.seconds;
  Json devices = Json::array();
  for (DeviceId device : result.assignment) devices.push_back(device.value());
  json["assignment"] = std::move(devices);
  Json order = Json::array();
  for (OperationId operation : result.order) order.push_back(operation.value());
  json["order"] = std::move(order);
  return json;
}

std::string fixed(const Json& value, int digits) {
  if (value.is_null()) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value.get<double>();
  return text.str();
}

void print_table(const Json& report) {
  const auto print = [](const std::string& name, const std::string& cost, const std::string& ratio,
                        const std::string& mean, const std::string& seconds) {
    std::cout << std::left << std::setw(26) << name << std::right << std::setw(14) << cost
              << std::setw(10) << ratio << std::setw(14) << mean << std::setw(11) << seconds
              << "\n";
  };
  print("algorithm", "cost", "ratio", "mean", "seconds");
  for (const Json& row : report["baselines"]) {
    print(row["name"].get<std::string>(), fixed(row["cost"], 4), fixed(row["ratio_to_bound"], 4),
          fixed(row["mean_cost"], 4), fixed(row["seconds"], 3));
  }
  const Json& bounds = report["lower_bounds"];
  print("lower bound", fixed(bounds["largest"], 4), "", "", "");
  print("  critical path", fixed(bounds["critical_path"], 4), "", "", "");
  print("  work / devices", fixed(bounds["work"], 4), "", "", "");
}

void write_assignments(const Json& report, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw SystemError("create_directories(" + folder + "): " + error.message());
  for (Json row : report["baselines"]) {
    row["graph"] = report["graph"];
    row["devices"] = report["devices"];
    const std::string file = row["name"].get<std::string>() + ".json";
    write_text_file((std::filesystem::path(folder) / file).string(), row.dump(2) + "\n");
  }
}

int baseline_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const GraphText file = load_graph_text(flags.graph);
  for (const Warning& warning : file.warnings) {
    std::cerr << describe(warning, flags.graph) << "\n";
  }
  const CostTable costs = CostTable::reference(file.graph, flags.devices);
  ReferenceSimulator simulator(costs);
  const LowerBounds bounds = lower_bounds(costs);

  std::vector<std::string> names;
  if (flags.algorithm == kAll) {
    for (const BaselineInfo& info : baselines()) names.emplace_back(info.name);
  } else {
    names.push_back(flags.algorithm);
  }
  Json report;
  report["graph"] = file.graph.name();
  report["devices"] = flags.devices;
  report["seed"] = flags.options.seed;
  report["lower_bounds"] = {
      {"critical_path", ReferenceSimulator::reference_cost(bounds.critical_path)},
      {"work", ReferenceSimulator::reference_cost(bounds.work)},
      {"largest", ReferenceSimulator::reference_cost(bounds.largest)},
      {"largest_ticks", bounds.largest.ticks()}};
  report["baselines"] = Json::array();
  {
    Progress progress("baseline");
    for (std::size_t i = 0; i < names.size(); ++i) {
      progress.update(static_cast<double>(i) / static_cast<double>(names.size()), names[i]);
      report["baselines"].push_back(
          to_json(run_baseline(names[i], costs, simulator, flags.options), bounds.largest));
    }
    progress.clear();
  }
  if (!flags.output.empty()) write_assignments(report, flags.output);
  if (flags.json) {
    std::cout << report.dump(2) << "\n";
  } else {
    print_table(report);
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::baseline_main);
}
