// doppler graph: checks, shows, converts and generates graphs.
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/assignment_text.h"
#include "common/cli.h"
#include "common/cost_table.h"
#include "common/error.h"
#include "common/export_dot.h"
#include "common/generate_command.h"
#include "common/graph_durations.h"
#include "common/graph_format.h"
#include "common/graph_json.h"
#include "common/graph_report.h"
#include "common/graph_text.h"
#include "common/import_dnn_partitioning.h"
#include "common/text_check.h"
#include "common/text_file.h"
#include "common/workloads.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string file;
  std::string format;
  bool json = false;
  bool strict = false;
  std::vector<int> devices = {1, 2, 4, 8};
  std::string output;
  std::string target;
  std::string split;
  bool durations = false;
  std::vector<std::string> dimensions;
  bool training = false;
  bool keep_inputs = false;
  std::string device_kind = std::string(kAnyDeviceKind);
  std::optional<double> flops_per_second;
  std::optional<double> bytes_per_second;
};

void add_import_flags(CLI::App& app, Flags& flags) {
  app.add_option("FILE", flags.file, "graph file; - is standard input")->required();
  app.add_option("--format", flags.format,
                 "read FILE as this format instead of the one that its content looks like");
  app.add_option("--dimension", flags.dimensions,
                 "NAME=SIZE: the size of a symbolic dimension of an ONNX model")
      ->allow_extra_args(false);
  app.add_option("--device-kind", flags.device_kind,
                 "kind of device that the times of a profile belong to; * is any")
      ->capture_default_str();
  app.add_flag("--training", flags.training, "add the backward pass of a PipeDream profile");
  app.add_flag("--keep-inputs", flags.keep_inputs,
               "keep sources that take no time as operations; otherwise they are input tensors");
  app.add_option("--bytes-per-second", flags.bytes_per_second,
                 "what turns bytes into time and time into bytes")
      ->check(CLI::PositiveNumber);
}

ImportOptions import_options(const Flags& flags) {
  ImportOptions options;
  options.device_kind = flags.device_kind;
  options.pass = flags.training ? Pass::kTraining : Pass::kForward;
  options.keep_inputs = flags.keep_inputs;
  options.bytes_per_second = flags.bytes_per_second;
  for (const std::string& text : flags.dimensions) {
    const std::size_t equals = text.rfind('=');
    const auto size = equals == std::string::npos
                          ? std::nullopt
                          : parse_integer(std::string_view(text).substr(equals + 1));
    if (equals == 0 || !size || *size < 0) {
      throw ConfigError("--dimension: expected NAME=SIZE, found " + quote(text));
    }
    options.dimensions[text.substr(0, equals)] = *size;
  }
  return options;
}

Imported load(const Flags& flags) {
  std::optional<GraphFormat> format;
  if (!flags.format.empty()) format = parse_graph_format(flags.format);
  return load_any_graph(flags.file, format, import_options(flags));
}

void print_warnings(const std::vector<Warning>& warnings, const std::string& name) {
  for (const Warning& warning : warnings) std::cerr << describe(warning, name) << "\n";
}

Json to_json(const std::vector<DeviceHint>& devices) {
  Json list = Json::array();
  for (const DeviceHint& device : devices) {
    Json item = {{"kind", device.kind}, {"count", device.count}};
    if (device.memory_bytes) item["memory_bytes"] = *device.memory_bytes;
    list.push_back(std::move(item));
  }
  return list;
}

int check_graph(const Flags& flags) {
  const Imported file = load(flags);
  // Also refuses costs whose sums no time could hold.
  if (file.graph.cost_unit() == CostUnit::kDurations) {
    name_file_in_errors(input_name(flags.file),
                        [&] { return CostTable::reference(file.graph, 1); });
  }
  print_warnings(file.warnings, input_name(flags.file));
  const bool bad = flags.strict && !file.warnings.empty();
  if (flags.json) {
    Json report = {{"file", input_name(flags.file)},
                   {"ok", !bad},
                   {"operations", file.graph.operation_count()},
                   {"edges", file.graph.edge_count()},
                   {"inputs", file.graph.input_count()},
                   {"warnings", to_json(file.warnings)}};
    if (!file.devices.empty()) report["devices"] = to_json(file.devices);
    std::cout << report.dump(2) << "\n";
  } else {
    std::cout << input_name(flags.file) << ": " << file.graph.operation_count() << " operations, "
              << file.graph.edge_count() << " edges, " << file.graph.input_count() << " inputs, "
              << file.warnings.size() << " warnings\n";
  }
  return static_cast<int>(bad ? ExitCode::kBadInput : ExitCode::kDone);
}

// "total_work_ticks" as "total work ticks".
std::string spaced(std::string key) {
  for (char& c : key) {
    if (c == '_') c = ' ';
  }
  return key;
}

void print_graph(const Json& report) {
  for (const auto& [key, value] : report.items()) {
    if (value.is_array()) continue;
    std::string label = spaced(key);
    label.resize(36, ' ');
    std::cout << label << (value.is_string() ? value.get<std::string>() : value.dump()) << "\n";
  }
  std::cout << "\ncost classes\n";
  for (const Json& entry : report["cost_classes"]) {
    std::cout << "  " << entry["operations"] << " x";
    for (const auto& [key, value] : entry.items()) {
      if (key == "operations") continue;
      std::cout << (key == "kind" ? " " + value.get<std::string>()
                                  : " " + spaced(key) + " " + value.dump() + ",");
    }
    std::cout << "\n";
  }
  std::cout << "\nlower bound of the makespan\n";
  for (const Json& bound : report["lower_bounds"]) {
    for (const auto& [key, value] : bound.items()) {
      if (key == "devices") continue;
      std::cout << "  " << bound["devices"] << " devices: " << value << " "
                << key.substr(key.rfind('_') + 1) << "\n";
    }
  }
}

int show_graph(const Flags& flags) {
  const Imported file = load(flags);
  print_warnings(file.warnings, input_name(flags.file));
  Json report = name_file_in_errors(input_name(flags.file),
                                    [&] { return describe_graph(file.graph, flags.devices); });
  if (!file.devices.empty()) report["devices"] = to_json(file.devices);
  report["warnings"] = to_json(file.warnings);
  if (flags.json) {
    std::cout << report.dump(2) << "\n";
  } else {
    print_graph(report);
  }
  return static_cast<int>(ExitCode::kDone);
}

// The format that the ending of a file asks for, or `otherwise`.
std::string target_of(const std::string& file, const std::string& otherwise) {
  for (const auto& [ending, target] : {std::pair(".json", "native"), std::pair(".dot", "dot"),
                                       std::pair(".gv", "dot"), std::pair(".txt", "text")}) {
    if (file.ends_with(ending)) return target;
  }
  return otherwise;
}

void write_graph(const Graph& graph, const std::string& target, const std::string& file) {
  if (target == "text") return write_text_file(file, format_graph_text(graph));
  write_text_file(file, target == "dot" ? format_dot(graph) : format_graph_json(graph));
}

int convert_split(const Flags& flags, const Imported& graph) {
  const ImportedSplit split =
      import_dnn_split(read_text_file(flags.split), input_name(flags.split), graph);
  print_warnings(split.warnings, input_name(flags.split));
  write_text_file(flags.output, "# " + input_name(flags.split) + ": devices 0.." +
                                    std::to_string(split.accelerator_count + split.cpu_count - 1) +
                                    ", of which " + std::to_string(split.cpu_count) +
                                    " CPUs at the end\n" + format_assignment(split.assignment) +
                                    "\n");
  return static_cast<int>(ExitCode::kDone);
}

int convert(const Flags& flags) {
  Imported file = load(flags);
  print_warnings(file.warnings, input_name(flags.file));
  if (!flags.split.empty()) return convert_split(flags, file);
  if (flags.durations) {
    GraphInDurations turned =
        turn_into_durations(file.graph, {.device_kind = flags.device_kind,
                                         .flops_per_second = flags.flops_per_second,
                                         .bytes_per_second = flags.bytes_per_second});
    print_warnings(turned.warnings, input_name(flags.file));
    file.graph = std::move(turned.graph);
  }
  const std::string target =
      flags.target.empty() ? target_of(flags.output, "native") : flags.target;
  if (target == "text" && file.graph.cost_unit() == CostUnit::kPhysical) {
    throw ConfigError(
        "--to text: the format carries durations only; add --durations with "
        "--flops-per-second and --bytes-per-second");
  }
  write_graph(file.graph, target, flags.output);
  return static_cast<int>(ExitCode::kDone);
}

// By the ending of the file; without one of a format, durations as the text format, which the
// paper's tools read as well, and FLOPs and bytes as the project's own, which carries all costs.
int write_generated(const Graph& graph, const std::string& output) {
  const bool durations = graph.cost_unit() == CostUnit::kDurations;
  std::string target = target_of(output, durations ? "text" : "native");
  if (target == "text" && !durations) {
    throw ConfigError("--output " + output +
                      ": the text format carries durations only; name a file .json or .dot, or "
                      "give --costs paper");
  }
  write_graph(graph, target, output);
  return static_cast<int>(ExitCode::kDone);
}

int generate(const GenerateFlags& flags) {
  if (flags.list) {
    std::cout << describe_workloads();
    return static_cast<int>(ExitCode::kDone);
  }
  if (flags.source.empty()) {
    throw ConfigError("WORKLOAD is required; --list shows the workloads");
  }
  find_workload(flags.source);
  if (flags.output.empty()) {
    throw ConfigError("--output is required; give -o FILE, or -o - for standard output");
  }
  return write_generated(generate_from_flags(flags), flags.output);
}

CLI::App* add_convert(CLI::App& app, Flags& flags) {
  CLI::App* const verb = app.add_subcommand("convert", "Writes a graph in another format.");
  add_import_flags(*verb, flags);
  verb->add_option("OUT", flags.output, "file to write; - is standard output")->required();
  verb->add_option("--to", flags.target, "format to write; without it by the ending of OUT")
      ->check(CLI::IsMember({"native", "dot", "text"}));
  verb->add_flag("--durations", flags.durations,
                 "turn FLOPs, measured times and bytes into picoseconds");
  verb->add_option("--flops-per-second", flags.flops_per_second, "what turns FLOPs into time")
      ->check(CLI::PositiveNumber);
  verb->add_option("--split", flags.split,
                   "a split of the dnn-partitioning graph FILE; OUT becomes an assignment");
  verb->footer("Example:\n  doppler graph convert model.onnx model.json --dimension batch=8");
  return verb;
}

int graph_main(int argc, char** argv) {
  CLI::App app("Checks, shows, converts and generates graphs.", "doppler graph");
  app.require_subcommand(1);
  Flags flags;
  CLI::App* const check =
      app.add_subcommand("check", "Reads a graph file and reports what is wrong.");
  add_import_flags(*check, flags);
  check->add_flag("--json", flags.json, "print JSON");
  check->add_flag("--strict", flags.strict, "exit with 2 if there are warnings");
  check->footer("Example:\n  doppler graph check graph.txt");
  CLI::App* const show = app.add_subcommand("show", "Counts, classes and bounds of a graph.");
  add_import_flags(*show, flags);
  show->add_option("--devices", flags.devices,
                   "device counts to give lower bounds for, comma-separated")
      ->check(CLI::Range(1, 4096))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  show->add_flag("--json", flags.json, "print JSON");
  show->footer("Example:\n  doppler graph show graph.txt --devices 4");
  CLI::App* const turn = add_convert(app, flags);
  GenerateFlags generate_flags;
  CLI::App* const make = app.add_subcommand("generate", "Writes the graph of a workload.");
  add_generate_flags(*make, generate_flags);
  CLI::App* const cut = app.add_subcommand("shard", "Cuts a model into operations.");
  add_shard_flags(*cut, generate_flags);
  app.footer("Example:\n  doppler graph show graph.txt --devices 4");
  parse_flags(app, argc, argv);
  if (check->parsed()) return check_graph(flags);
  if (show->parsed()) return show_graph(flags);
  if (turn->parsed()) return convert(flags);
  if (cut->parsed())
    return write_generated(shard_from_flags(generate_flags), generate_flags.output);
  return generate(generate_flags);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::graph_main);
}
