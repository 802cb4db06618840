// doppler graph: checks, shows and generates graphs.
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/cli.h"
#include "common/error.h"
#include "common/graph_source.h"
#include "common/graph_text.h"
#include "common/levels.h"
#include "common/symmetry.h"
#include "common/text_file.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string file;
  bool json = false;
  bool strict = false;
  std::vector<int> devices = {1, 2, 4, 8};
  std::string workload;
  std::string output;
};

Json to_json(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& warning : warnings) {
    list.push_back({{"line", warning.line}, {"column", warning.column}, {"text", warning.text}});
  }
  return list;
}

void print_warnings(const GraphText& file, const std::string& name) {
  for (const Warning& warning : file.warnings) std::cerr << describe(warning, name) << "\n";
}

int check_graph(const Flags& flags) {
  const GraphText file = load_graph_text(flags.file);
  // Also refuses costs whose sums no time could hold.
  CostTable::reference(file.graph, 1);
  print_warnings(file, flags.file);
  const bool bad = flags.strict && !file.warnings.empty();
  if (flags.json) {
    const Json report = {{"file", flags.file},
                         {"ok", !bad},
                         {"operations", file.graph.operation_count()},
                         {"edges", file.graph.edge_count()},
                         {"inputs", file.graph.input_count()},
                         {"warnings", to_json(file.warnings)}};
    std::cout << report.dump(2) << "\n";
  } else {
    std::cout << flags.file << ": " << file.graph.operation_count() << " operations, "
              << file.graph.edge_count() << " edges, " << file.graph.input_count() << " inputs, "
              << file.warnings.size() << " warnings\n";
  }
  return static_cast<int>(bad ? ExitCode::kBadInput : ExitCode::kDone);
}

Json cost_classes(const Graph& graph) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::int64_t> counts;
  for (const Operation& operation : graph.operations()) {
    ++counts[{operation.compute_time.ticks(), operation.transfer_time.ticks(), operation.kind}];
  }
  Json list = Json::array();
  for (auto entry = counts.rbegin(); entry != counts.rend(); ++entry) {
    const auto& [compute, transfer, kind] = entry->first;
    list.push_back({{"operations", entry->second},
                    {"compute_ticks", compute},
                    {"transfer_ticks", transfer},
                    {"kind", kind}});
  }
  return list;
}

// Most operations at the same distance from the entries.
std::int64_t graph_width(const Graph& graph) {
  std::map<std::int32_t, std::int64_t> counts;
  std::int64_t width = 0;
  for (std::int32_t depth : operation_depths(graph)) width = std::max(width, ++counts[depth]);
  return width;
}

Json describe_graph(const GraphText& file, const std::vector<int>& device_counts) {
  const Graph& graph = file.graph;
  const CostTable one_device = CostTable::reference(graph, 1);
  std::int64_t work = 0;
  for (const Operation& operation : graph.operations()) work += operation.compute_time.ticks();
  // With one device no transfer counts: the path without communication.
  const std::int64_t path = compute_levels(one_device).critical_path.ticks();
  const std::int64_t path_with_transfers =
      compute_levels(CostTable::reference(graph, 2)).critical_path.ticks();
  Json report;
  report["name"] = graph.name();
  report["operations"] = graph.operation_count();
  report["edges"] = graph.edge_count();
  report["inputs"] = graph.input_count();
  report["depth"] = graph_depth(graph);
  report["width"] = graph_width(graph);
  report["symmetry_classes"] = symmetry_classes(graph).class_size.size();
  report["total_work_ticks"] = work;
  report["critical_path_ticks"] = path;
  report["critical_path_with_transfers_ticks"] = path_with_transfers;
  report["cost_classes"] = cost_classes(graph);
  report["lower_bounds"] = Json::array();
  for (int devices : device_counts) {
    const std::int64_t share = work / devices + (work % devices == 0 ? 0 : 1);
    report["lower_bounds"].push_back(
        {{"devices", devices}, {"makespan_ticks", std::max(path, share)}});
  }
  report["warnings"] = to_json(file.warnings);
  return report;
}

void print_graph(const Json& report) {
  const auto line = [](const std::string& name, const Json& value) {
    std::string label = name;
    label.resize(36, ' ');
    std::cout << label << (value.is_string() ? value.get<std::string>() : value.dump()) << "\n";
  };
  line("name", report["name"]);
  line("operations", report["operations"]);
  line("edges", report["edges"]);
  line("inputs", report["inputs"]);
  line("depth", report["depth"]);
  line("width", report["width"]);
  line("symmetry classes", report["symmetry_classes"]);
  line("total work, ticks", report["total_work_ticks"]);
  line("critical path, ticks", report["critical_path_ticks"]);
  line("critical path with transfers, ticks", report["critical_path_with_transfers_ticks"]);
  std::cout << "\ncost classes (operations x compute, transfer, kind)\n";
  for (const Json& entry : report["cost_classes"]) {
    std::cout << "  " << entry["operations"] << " x " << entry["compute_ticks"] << ", "
              << entry["transfer_ticks"] << ", " << entry["kind"].get<std::string>() << "\n";
  }
  std::cout << "\nlower bound of the makespan\n";
  for (const Json& bound : report["lower_bounds"]) {
    std::cout << "  " << bound["devices"] << " devices: " << bound["makespan_ticks"] << "\n";
  }
}

int show_graph(const Flags& flags) {
  const GraphText file = load_graph_text(flags.file);
  print_warnings(file, flags.file);
  const Json report = describe_graph(file, flags.devices);
  if (flags.json) {
    std::cout << report.dump(2) << "\n";
  } else {
    print_graph(report);
  }
  return static_cast<int>(ExitCode::kDone);
}

int generate(const Flags& flags) {
  write_text_file(flags.output, format_graph_text(generate_graph(flags.workload)));
  return static_cast<int>(ExitCode::kDone);
}

int graph_main(int argc, char** argv) {
  CLI::App app("Checks, shows and generates graphs.", "doppler graph");
  app.require_subcommand(1);
  Flags flags;
  CLI::App* const check =
      app.add_subcommand("check", "Reads a graph file and reports what is wrong.");
  check->add_option("FILE", flags.file, "graph file; - is standard input")->required();
  check->add_flag("--json", flags.json, "print JSON");
  check->add_flag("--strict", flags.strict, "exit with 2 if there are warnings");
  check->footer("Example:\n  doppler graph check graph.txt");
  CLI::App* const show = app.add_subcommand("show", "Counts, classes and bounds of a graph.");
  show->add_option("FILE", flags.file, "graph file; - is standard input")->required();
  show->add_option("--devices", flags.devices, "device counts to give lower bounds for, comma-separated")
      ->check(CLI::Range(1, 4096))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  show->add_flag("--json", flags.json, "print JSON");
  show->footer("Example:\n  doppler graph show graph.txt --devices 4");
  CLI::App* const make = app.add_subcommand("generate", "Writes the graph of a workload.");
  make->add_option("WORKLOAD", flags.workload, "chain-mm")->required();
  make->add_option("-o,--output", flags.output, "graph file to write; - is standard output")
      ->required();
  make->footer("Example:\n  doppler graph generate chain-mm -o chain_mm.txt");
  app.footer("Example:\n  doppler graph show graph.txt --devices 4");
  parse_flags(app, argc, argv);
  if (check->parsed()) return check_graph(flags);
  if (show->parsed()) return show_graph(flags);
  return generate(flags);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::graph_main);
}
