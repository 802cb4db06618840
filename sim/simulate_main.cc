// doppler simulate: what given assignments of a graph cost.
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/assignment_text.h"
#include "common/cli.h"
#include "common/error.h"
#include "common/graph_format.h"
#include "common/text_file.h"
#include "common/topology_file.h"
#include "sim/explain.h"
#include "sim/machine.h"
#include "sim/physical_simulator.h"
#include "sim/reference_simulator.h"
#include "sim/simulation_flags.h"
#include "sim/trace.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string graph;
  SimulationConfig simulation;
  std::uint64_t seed = 0;
  std::string assignments;
  std::string orders;
  std::string trace;
  bool explain = false;
  bool json = false;
};

void check_flags(const CLI::App& app, const Flags& flags) {
  if (flags.simulation.mode == SimulationMode::kReference) {
    for (const char* name : {"--orders", "--seed", "--trace", "--explain"}) {
      if (app.count(name) == 0) continue;
      throw ConfigError(std::string(name) +
                        " is for the physical mode; leave it or --reference out");
    }
  }
  int from_stdin = 0;
  for (const std::string& file :
       {flags.graph, flags.simulation.topology, flags.assignments, flags.orders}) {
    from_stdin += file == "-" ? 1 : 0;
  }
  if (from_stdin > 1) {
    throw ConfigError(
        "only one of GRAPH, --topology, --assignments and --orders can be standard "
        "input");
  }
  if (!flags.trace.empty()) check_output_file(flags.trace);
  if (flags.trace == "-" && (flags.json || flags.explain)) {
    throw ConfigError("--trace - writes to standard output, where the report goes; name a file");
  }
}

Flags read_flags(int argc, char** argv) {
  CLI::App app("Costs assignments of a graph in the simulator.", "doppler simulate");
  Flags flags;
  app.add_option("GRAPH", flags.graph, "graph file of any format")->required();
  app.add_option(
         "--assignments", flags.assignments,
         "file with an assignment a line: the device of each operation, comma-separated; - is "
         "standard input")
      ->required();
  app.add_flag("--json", flags.json, "print a list with an entry for each assignment");
  add_simulation_flags(app, flags.simulation);
  app.add_option(
      "--orders", flags.orders,
      "for --dispatch priority: file with a line for each assignment, all operation ids, "
      "most urgent first, comma-separated");
  app.add_option("--seed", flags.seed, "of noise and random dispatch");
  app.add_option("--trace", flags.trace,
                 "file to write a trace of the one assignment to, for Chrome and Perfetto");
  app.add_flag("--explain", flags.explain,
               "print the critical path of each schedule and what each step waited for");
  app.footer(
      "Prints for each assignment its cost and its makespan in ticks; in physical mode the cost is "
      "in seconds\nand a tick is a picosecond.\n\nExamples:\n"
      "  doppler simulate graph.txt --reference --devices 4 --assignments placements.csv\n"
      "  doppler simulate graph.json --topology configs/topologies/h100x8-nvswitch.yaml \\\n"
      "      --contention fair --assignments placements.csv --explain --trace trace.json");
  parse_flags(app, argc, argv);
  check_simulation_flags(app, flags.simulation);
  check_flags(app, flags);
  return flags;
}

std::vector<Assignment> read_assignments(const Flags& flags, const Graph& graph,
                                         const CostTable& costs) {
  const std::string name = input_name(flags.assignments);
  std::vector<Assignment> assignments = parse_assignments(
      read_text_file(flags.assignments), name, graph.operation_count(), costs.device_count());
  for (std::size_t a = 0; a < assignments.size() && !costs.all_allowed(); ++a) {
    for (std::size_t i = 0; i < graph.operation_count(); ++i) {
      const OperationId operation(static_cast<std::int32_t>(i));
      const DeviceId device = assignments[a][operation];
      if (costs.allowed(operation, device)) continue;
      throw ConfigError(name + ": assignment " + std::to_string(a + 1) + ": operation " +
                        operation_label(graph, operation) + " may not run on device " +
                        std::to_string(device.value()) +
                        ": the graph pins it elsewhere or forbids it there");
    }
  }
  return assignments;
}

// One order for each assignment, or none at all.
std::vector<std::vector<OperationId>> read_orders(const Flags& flags, std::size_t operation_count,
                                                  std::size_t assignment_count) {
  std::vector<std::vector<OperationId>> orders;
  if (flags.orders.empty()) return orders;
  const std::string name = input_name(flags.orders);
  // A line of ids is read like a line of devices.
  for (const Assignment& line :
       parse_assignments(read_text_file(flags.orders), name, operation_count,
                         static_cast<int>(operation_count))) {
    std::vector<bool> seen(operation_count, false);
    std::vector<OperationId> order;
    for (DeviceId id : line) {
      if (seen[id.index()]) {
        throw ConfigError(name + ": order " + std::to_string(orders.size() + 1) + ": operation " +
                          std::to_string(id.value()) + " stands in it twice; name each once");
      }
      seen[id.index()] = true;
      order.emplace_back(id.value());
    }
    orders.push_back(std::move(order));
  }
  if (orders.size() != assignment_count) {
    throw ConfigError(name + ": holds " + std::to_string(orders.size()) + " orders for " +
                      std::to_string(assignment_count) + " assignments; give one for each");
  }
  return orders;
}

int simulate_reference(const Flags& flags, const Graph& graph) {
  const CostTable costs = name_file_in_errors(input_name(flags.graph), [&] {
    return CostTable::reference(graph, static_cast<int>(flags.simulation.devices));
  });
  ReferenceSimulator simulator(costs);
  Json report = Json::array();
  for (const Assignment& assignment : read_assignments(flags, graph, costs)) {
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

Json to_json(const Topology& topology, const Execution& execution, SimTime cost) {
  Json entry;
  entry["cost_seconds"] = cost.seconds();
  entry["makespan_seconds"] = execution.makespan.seconds();
  entry["makespan_ticks"] = execution.makespan.ticks();
  entry["feasible"] = execution.feasible;
  entry["largest_overflow_fraction"] = execution.largest_overflow_fraction;
  entry["transfers"] = execution.transfers.size();
  entry["devices"] = Json::array();
  for (std::int32_t d = 0; d < topology.device_count(); ++d) {
    const DeviceId device(d);
    entry["devices"].push_back({{"name", topology.device(device).name},
                                {"busy_seconds", execution.device_busy[device].seconds()},
                                {"peak_memory_bytes", execution.peak_memory_bytes[device]}});
  }
  entry["links"] = Json::array();
  for (std::size_t l = 0; l < topology.links().size(); ++l) {
    const LinkId link(static_cast<std::int32_t>(l));
    entry["links"].push_back({{"name", topology.link_name(link)},
                              {"busy_seconds", execution.link_busy[link].seconds()},
                              {"bytes", execution.link_bytes[link]}});
  }
  return entry;
}

void print_result(const Execution& execution, SimTime cost) {
  std::ostringstream line;
  line << std::fixed << std::setprecision(12) << cost.seconds() << "\t" << execution.makespan;
  if (!execution.feasible) {
    line << "\tinfeasible: memory exceeded by " << std::setprecision(1)
         << 100 * execution.largest_overflow_fraction << " %";
  }
  std::cout << line.str() << "\n";
}

int simulate_physical(const Flags& flags, const Graph& graph) {
  const Topology topology = load_topology(flags.simulation.topology);
  const CostTable costs = name_file_in_errors(input_name(flags.graph),
                                              [&] { return CostTable::physical(graph, topology); });
  PhysicalSimulator simulator(costs, topology, physical_options(flags.simulation, flags.seed));
  const std::vector<Assignment> assignments = read_assignments(flags, graph, costs);
  const auto orders = read_orders(flags, graph.operation_count(), assignments.size());
  if (!flags.trace.empty() && assignments.size() != 1) {
    throw ConfigError("--trace needs exactly one assignment, but there are " +
                      std::to_string(assignments.size()));
  }
  Json report = Json::array();
  for (std::size_t a = 0; a < assignments.size(); ++a) {
    const std::vector<OperationId> order = orders.empty() ? std::vector<OperationId>() : orders[a];
    const SimTime cost = simulator.run(assignments[a], order);
    const Execution execution = simulator.run_recorded(assignments[a], order);
    const std::string explanation =
        flags.explain ? explain(graph, topology, assignments[a], execution) : "";
    if (flags.json) {
      report.push_back(to_json(topology, execution, cost));
      if (flags.explain) report.back()["explanation"] = explanation;
    } else if (flags.trace != "-") {
      print_result(execution, cost);
      if (flags.explain) std::cout << "\n" << explanation << "\n";
    }
    if (!flags.trace.empty()) {
      write_text_file(flags.trace, chrome_trace(graph, topology, assignments[a], execution));
    }
  }
  if (flags.json) std::cout << report.dump(2) << "\n";
  return static_cast<int>(ExitCode::kDone);
}

int simulate_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const Imported file = load_any_graph(flags.graph, std::nullopt, {});
  for (const Warning& warning : file.warnings) {
    std::cerr << describe(warning, input_name(flags.graph)) << "\n";
  }
  return flags.simulation.mode == SimulationMode::kReference ? simulate_reference(flags, file.graph)
                                                             : simulate_physical(flags, file.graph);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::simulate_main);
}
