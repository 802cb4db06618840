// doppler execute: what given assignments of a graph really take.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/assignment_text.h"
#include "common/cli.h"
#include "common/error.h"
#include "common/text_file.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/measured_graph.h"
#include "gpuexec/measurement.h"
#include "gpuexec/measurement_report.h"
#include "gpuexec/measuring_flags.h"
#include "gpuexec/poisoned_exit.h"
#include "sim/explain.h"
#include "sim/trace.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  MeasuringFlags measuring;
  std::string assignment;
  std::string assignments;
  std::string order;
  std::uint64_t seed = 0;
  bool no_control = false;
  bool verify = false;
  std::string trace;
  bool explain = false;
  bool json = false;
};

void check_flags(const CLI::App& app, const Flags& flags) {
  if (flags.assignment.empty() == flags.assignments.empty()) {
    throw ConfigError("give either --assignment FILE for one or --assignments FILE for many");
  }
  if (!flags.assignments.empty()) {
    for (const char* name : {"--trace", "--explain", "--order", "--verify"}) {
      if (app.count(name) == 0) continue;
      throw ConfigError(std::string(name) + " is about one assignment; give it by --assignment");
    }
  }
  if (flags.trace == "-" && (flags.json || flags.explain)) {
    throw ConfigError("--trace - writes to standard output, where the report goes; name a file");
  }
  if (!flags.trace.empty()) check_output_file(flags.trace);
  int from_stdin = 0;
  for (const std::string& file : {flags.measuring.graph, flags.measuring.topology, flags.assignment,
                                  flags.assignments, flags.order}) {
    from_stdin += file == "-" ? 1 : 0;
  }
  if (from_stdin > 1) {
    throw ConfigError(
        "only one of GRAPH, --topology, the assignments and --order can be standard "
        "input");
  }
}

Flags read_flags(int argc, char** argv) {
  CLI::App app("Runs assignments of a graph for real and measures them.", "doppler execute");
  Flags flags;
  add_measuring_flags(app, flags.measuring);
  app.add_option("--assignment", flags.assignment,
                 "file with one assignment: the device of each operation, comma-separated");
  app.add_option("--assignments", flags.assignments,
                 "file with an assignment a line; - is standard input. One result a line comes "
                 "back as soon as it is there");
  app.add_option("--order", flags.order,
                 "for --dispatch priority: file with all operation ids, most urgent first, "
                 "comma-separated");
  app.add_option("--seed", flags.seed, "of random dispatch");
  app.add_flag("--no-control", flags.no_control,
               "do not look out for a disturbed machine by measuring a control assignment");
  app.add_flag("--verify", flags.verify, "compare the results with those of a run on one device");
  app.add_option("--trace", flags.trace,
                 "file to write a trace of the run nearest the median to, for Chrome and Perfetto");
  app.add_flag("--explain", flags.explain, "print the critical path of that run");
  app.add_flag("--json", flags.json, "print objects; with --assignments one a line");
  app.footer(
      "Prints the median of the runs in seconds, an interval for it, and whether all went "
      "well.\n\nExamples:\n"
      "  doppler execute graph.json --topology cpu.yaml --assignment placement.csv --repeats 9\n"
      "  doppler execute graph.json --topology cpu.yaml --backend emulated --assignments - "
      "< placements.csv");
  parse_flags(app, argc, argv);
  check_flags(app, flags);
  flags.measuring.measurement.control = !flags.no_control;
  return flags;
}

void check_allowed(const Graph& graph, const CostTable& costs, const Assignment& assignment,
                   const std::string& place) {
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId operation(static_cast<std::int32_t>(i));
    if (costs.allowed(operation, assignment[operation])) continue;
    throw ConfigError(place + ": operation " + operation_label(graph, operation) +
                      " may not run on device " + std::to_string(assignment[operation].value()) +
                      ": the graph pins it elsewhere or forbids it there");
  }
}

std::vector<OperationId> read_order(const Flags& flags, std::size_t operation_count) {
  std::vector<OperationId> order;
  if (flags.order.empty()) return order;
  const std::string name = input_name(flags.order);
  // A line of ids is read like a line of devices.
  const auto lines = parse_assignments(read_text_file(flags.order), name, operation_count,
                                       static_cast<int>(operation_count));
  if (lines.size() != 1) {
    throw ConfigError(name + ": holds " + std::to_string(lines.size()) + " orders; give one");
  }
  std::vector<bool> seen(operation_count, false);
  for (DeviceId id : lines[0]) {
    if (seen[id.index()]) {
      throw ConfigError(name + ": operation " + std::to_string(id.value()) +
                        " stands in it twice; name each once");
    }
    seen[id.index()] = true;
    order.emplace_back(id.value());
  }
  return order;
}

// One device, or as few as pins and forbidden devices allow.
Assignment single_device(const CostTable& costs) {
  Assignment assignment(costs.graph().operation_count());
  for (std::size_t o = 0; o < assignment.size(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    std::int32_t device = 0;
    while (!costs.allowed(id, DeviceId(device))) ++device;
    assignment[id] = DeviceId(device);
  }
  return assignment;
}

// Whether the results of `assignment` are those of a run on one device, byte for byte: the kernels
// are the same, only where and when they run differs.
bool verify(GraphRunner& runner, const Assignment& assignment, double timeout_seconds) {
  const auto run = [&](const Assignment& which) {
    const auto shortages = runner.load(which);
    if (!shortages.empty() || !runner.run({}, timeout_seconds)) {
      throw SystemError("--verify: the graph does not run on one device in its memory and time");
    }
    return runner.results();
  };
  return run(assignment) == run(single_device(runner.costs()));
}

int execute_one(const Flags& flags, GraphRunner& runner) {
  const Graph& graph = runner.costs().graph();
  const Topology& topology = runner.topology();
  const std::string name = input_name(flags.assignment);
  const auto assignments = parse_assignments(read_text_file(flags.assignment), name,
                                             graph.operation_count(), topology.device_count());
  if (assignments.size() != 1) {
    throw ConfigError(name + ": holds " + std::to_string(assignments.size()) +
                      " assignments; give one, or use --assignments");
  }
  check_allowed(graph, runner.costs(), assignments[0], name);
  const std::vector<OperationId> order = read_order(flags, graph.operation_count());
  Measurer measurer(runner, flags.measuring.measurement);
  const Measurement m = measurer.measure(assignments[0], order, true);
  std::optional<bool> equal;
  const auto arena = runner.backend().arena_bytes();
  if (flags.verify && m.status == MeasurementStatus::kDone) {
    equal = verify(runner, assignments[0], flags.measuring.measurement.timeout_seconds);
  }
  const WorkCounts counts = runner.work_counts();
  std::string explanation;
  if (flags.explain && m.record) explanation = explain(graph, topology, assignments[0], *m.record);
  if (flags.json) {
    Json entry = to_json(m, topology);
    entry["backend"] = runner.backend().name();
    const std::string machine = runner.backend().machine_state();
    if (!machine.empty()) entry["machine"] = machine;
    entry["operations"] = {{"given", counts.given},
                           {"matrix_products", counts.products},
                           {"other_kernels", counts.others},
                           {"synthetic", counts.synthetic}};
    if (m.record) {
      entry["transfers"] = m.record->transfers.size();
      entry["devices"] = Json::array();
      for (std::int32_t d = 0; d < topology.device_count(); ++d) {
        const DeviceId device(d);
        entry["devices"].push_back({{"name", topology.device(device).name},
                                    {"busy_seconds", m.record->device_busy[device].seconds()},
                                    {"peak_memory_bytes", m.record->peak_memory_bytes[device]},
                                    {"arena_bytes", arena[device]}});
      }
    }
    if (equal) entry["equal_to_one_device"] = *equal;
    if (flags.explain) entry["explanation"] = explanation;
    std::cout << entry.dump(2) << "\n";
  } else if (flags.trace != "-") {
    std::cout << to_line(m) << "\n";
    for (const MemoryShortage& shortage : m.shortages) {
      std::cout << "device " << topology.device(shortage.device).name << ": needs "
                << shortage.needed_bytes << " bytes of " << shortage.available_bytes << "\n";
    }
    std::cout << counts.products << " matrix products, " << counts.others << " other kernels, "
              << counts.synthetic << " synthetic, " << counts.given << " given\n";
    if (m.disturbed) {
      std::cout << "disturbed: the control assignment took " << m.control_ratio
                << " times its best\n";
    }
    if (equal) std::cout << "results " << (*equal ? "equal" : "DIFFER from") << " one device's\n";
    if (flags.explain) std::cout << "\n" << explanation << "\n";
  }
  if (!flags.trace.empty() && m.record) {
    write_text_file(flags.trace, chrome_trace(graph, topology, assignments[0], *m.record));
  }
  if (equal && !*equal) return static_cast<int>(ExitCode::kEnvironment);
  return static_cast<int>(ExitCode::kDone);
}

int execute_many(const Flags& flags, GraphRunner& runner) {
  const Graph& graph = runner.costs().graph();
  const std::string name = input_name(flags.assignments);
  std::ifstream file;
  if (flags.assignments != "-") {
    read_text_file(flags.assignments);  // tells what is wrong with the path
    file.open(flags.assignments);
  }
  std::istream& in = flags.assignments == "-" ? std::cin : file;
  Measurer measurer(runner, flags.measuring.measurement);
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    // The line alone, behind as many empty ones as make its number right in messages.
    const auto parsed =
        parse_assignments(std::string(static_cast<std::size_t>(number - 1), '\n') + line, name,
                          graph.operation_count(), runner.topology().device_count());
    check_allowed(graph, runner.costs(), parsed[0], name + ":" + std::to_string(number));
    const Measurement m = measurer.measure(parsed[0], {});
    if (flags.json) {
      std::cout << to_json(m, runner.topology()).dump() << std::endl;
    } else {
      std::cout << to_line(m) << std::endl;
    }
  }
  return static_cast<int>(ExitCode::kDone);
}

int execute_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const MeasuredGraph question(flags.measuring);
  PhysicalOptions options = question.options();
  options.seed = flags.seed;
  GraphRunner runner(question.costs(), question.topology(), options, question.make_backend());
  return flags.assignment.empty() ? execute_many(flags, runner) : execute_one(flags, runner);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, [](int count, char** values) {
    return doppler::with_poisoned_exit_code([&] { return doppler::execute_main(count, values); });
  });
}
