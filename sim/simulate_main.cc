// doppler simulate: what given assignments of a graph cost.
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/assignment_text.h"
#include "common/cli.h"
#include "common/error.h"
#include "common/graph_text.h"
#include "common/text_file.h"
#include "sim/reference_simulator.h"

namespace doppler {
namespace {

struct Flags {
  std::string graph;
  bool reference = false;
  int devices = 0;
  std::string assignments;
  bool json = false;
};

Flags read_flags(int argc, char** argv) {
  CLI::App app("Costs assignments of a graph in the simulator.", "doppler simulate");
  Flags flags;
  app.add_option("GRAPH", flags.graph, "graph file")->required();
  app.add_flag("--reference", flags.reference, "the cost model of the paper's published simulator");
  app.add_option("--devices", flags.devices, "how many devices there are")->required();
  app.add_option(
         "--assignments", flags.assignments,
         "file with an assignment a line: the device of each operation, comma-separated; - is "
         "standard input")
      ->required();
  app.add_flag("--json", flags.json, "print a list of {cost, makespan_ticks}");
  app.footer(
      "Prints for each assignment its cost and its makespan in ticks.\n\nExample:\n"
      "  doppler simulate graph.txt --reference --devices 4 --assignments placements.csv");
  parse_flags(app, argc, argv);
  if (!flags.reference) {
    throw ConfigError(
        "the physical mode needs a topology and is not available in this version; add --reference");
  }
  if (flags.graph == "-" && flags.assignments == "-") {
    throw ConfigError("GRAPH and --assignments cannot both be standard input");
  }
  return flags;
}

int simulate_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const GraphText file = load_graph_text(flags.graph);
  for (const Warning& warning : file.warnings) {
    std::cerr << describe(warning, flags.graph) << "\n";
  }
  const CostTable costs = CostTable::reference(file.graph, flags.devices);
  ReferenceSimulator simulator(costs);
  const std::string name = flags.assignments == "-" ? "standard input" : flags.assignments;
  const std::vector<Assignment> assignments = parse_assignments(
      read_text_file(flags.assignments), name, file.graph.operation_count(), flags.devices);

  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  for (const Assignment& assignment : assignments) {
    const SimTime makespan = simulator.run(assignment, {});
    const double cost = ReferenceSimulator::reference_cost(makespan);
    if (flags.json) {
      report.push_back({{"cost", cost}, {"makespan_ticks", makespan.ticks()}});
    } else {
      std::cout << ReferenceSimulator::format_cost(cost) << "\t" << makespan << "\n";
    }
  }
  if (flags.json) std::cout << report.dump(2) << "\n";
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::simulate_main);
}
