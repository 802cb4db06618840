// doppler topology: checks, shows and imports descriptions of machines.
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/cli.h"
#include "common/error.h"
#include "common/nccl_topology.h"
#include "common/text_file.h"
#include "common/topology_file.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string file;
  bool json = false;
  bool routes = false;
  std::string kind;
  std::string output;
};

std::string hexadecimal(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << value;
  return text.str();
}

Json counts(const std::string& file, const Topology& topology) {
  Json report;
  report["file"] = file;
  report["name"] = topology.name();
  report["devices"] = topology.device_count();
  report["switches"] = topology.parts().switches.size();
  report["links"] = topology.links().size();
  report["shared_groups"] = topology.groups().size();
  report["content_hash"] = hexadecimal(topology.content_hash());
  return report;
}

int check(const Flags& flags) {
  const Json report = counts(flags.file, load_topology(flags.file));
  if (flags.json) {
    std::cout << report.dump(2) << "\n";
  } else {
    std::cout << flags.file << ": " << report["devices"] << " devices, " << report["switches"]
              << " switches, " << report["links"] << " links, " << report["shared_groups"]
              << " shared groups\n";
  }
  return static_cast<int>(ExitCode::kDone);
}

Json to_json(const Device& device) {
  Json json;
  json["name"] = device.name;
  json["kind"] = device.kind;
  json["memory_bytes"] = device.memory_bytes ? Json(*device.memory_bytes) : Json(nullptr);
  json["flops_per_second"] = device.flops_per_second;
  json["flops_per_second_by_kind"] = device.flops_per_second_by_kind;
  json["memory_bandwidth_bytes_per_second"] = device.memory_bandwidth_bytes_per_second > 0
                                                  ? Json(device.memory_bandwidth_bytes_per_second)
                                                  : Json(nullptr);
  json["launch_overhead_seconds"] = device.launch_overhead_seconds;
  json["copy_engines_out"] =
      device.copy_engines_out ? Json(*device.copy_engines_out) : Json(nullptr);
  json["copy_engines_in"] = device.copy_engines_in ? Json(*device.copy_engines_in) : Json(nullptr);
  return json;
}

// Calls `visit(from, to)` for every pair of different devices.
template <typename Visit>
void for_each_pair(const Topology& topology, const Visit& visit) {
  for (std::int32_t from = 0; from < topology.device_count(); ++from) {
    for (std::int32_t to = 0; to < topology.device_count(); ++to) {
      if (from != to) visit(DeviceId(from), DeviceId(to));
    }
  }
}

Json describe(const std::string& file, const Topology& topology) {
  Json report = counts(file, topology);
  report["route_reference_bytes"] = topology.parts().route_reference_bytes;
  report["device_list"] = Json::array();
  for (const Device& device : topology.devices()) {
    report["device_list"].push_back(to_json(device));
  }
  report["routes"] = Json::array();
  for_each_pair(topology, [&](DeviceId from, DeviceId to) {
    const Route& route = topology.route(from, to);
    Json links = Json::array();
    for (LinkId link : route.links) links.push_back(topology.link_name(link));
    Json groups = Json::array();
    for (SharedGroupId group : route.groups) groups.push_back(topology.group(group).name);
    report["routes"].push_back({{"from", topology.device(from).name},
                                {"to", topology.device(to).name},
                                {"bandwidth_bytes_per_second", route.bandwidth_bytes_per_second},
                                {"latency_seconds", route.latency.seconds()},
                                {"links", std::move(links)},
                                {"shared_groups", std::move(groups)}});
  });
  return report;
}

std::string short_number(double value) {
  std::ostringstream text;
  text << std::setprecision(4) << value;
  return text.str();
}

void print_devices(const Topology& topology) {
  std::cout << "devices\n";
  for (const Device& device : topology.devices()) {
    std::cout << "  " << device.name << ": " << device.kind << ", ";
    if (device.memory_bytes) {
      std::cout << short_number(static_cast<double>(*device.memory_bytes) / 1e9) << " GB, ";
    }
    std::cout << short_number(device.flops_per_second / 1e12) << " TFLOP/s";
    for (const auto& [kind, rate] : device.flops_per_second_by_kind) {
      std::cout << ", " << kind << " " << short_number(rate / 1e12) << " TFLOP/s";
    }
    std::cout << "\n";
  }
}

void print_matrix(const Topology& topology, const std::string& title,
                  const std::function<double(const Route&)>& value) {
  std::size_t width = 6;
  for (const Device& device : topology.devices()) width = std::max(width, device.name.size());
  const auto column = static_cast<int>(width) + 2;
  std::cout << "\n" << title << "\n" << std::setw(column) << "";
  for (const Device& to : topology.devices()) std::cout << std::setw(column) << to.name;
  std::cout << "\n";
  for (std::int32_t from = 0; from < topology.device_count(); ++from) {
    std::cout << std::setw(column) << topology.device(DeviceId(from)).name;
    for (std::int32_t to = 0; to < topology.device_count(); ++to) {
      const Route& route = topology.route(DeviceId(from), DeviceId(to));
      std::cout << std::setw(column) << (from == to ? "-" : short_number(value(route)));
    }
    std::cout << "\n";
  }
}

void print_routes(const Topology& topology) {
  std::cout << "\nroutes\n";
  for_each_pair(topology, [&](DeviceId from, DeviceId to) {
    const Route& route = topology.route(from, to);
    std::cout << "  " << topology.device(from).name << " to " << topology.device(to).name << ": "
              << short_number(route.latency.seconds() * 1e6) << " us, "
              << short_number(route.bandwidth_bytes_per_second / 1e9) << " GB/s, over";
    for (LinkId link : route.links) std::cout << " " << topology.link_name(link);
    for (SharedGroupId group : route.groups) {
      std::cout << " [" << topology.group(group).name << "]";
    }
    std::cout << "\n";
  });
}

int show(const Flags& flags) {
  const Topology topology = load_topology(flags.file);
  if (flags.json) {
    std::cout << describe(flags.file, topology).dump(2) << "\n";
    return static_cast<int>(ExitCode::kDone);
  }
  std::cout << topology.name() << ": " << topology.device_count() << " devices, "
            << topology.parts().switches.size() << " switches, " << topology.links().size()
            << " links, " << topology.groups().size() << " shared groups\n\n";
  print_devices(topology);
  print_matrix(topology, "bandwidth of a lone transfer from row to column, GB/s",
               [](const Route& route) { return route.bandwidth_bytes_per_second / 1e9; });
  print_matrix(topology, "latency, us",
               [](const Route& route) { return route.latency.seconds() * 1e6; });
  if (flags.routes) print_routes(topology);
  return static_cast<int>(ExitCode::kDone);
}

int import(const Flags& flags) {
  const bool from_stdin = flags.file == "-";
  const std::string name =
      from_stdin ? "imported" : std::filesystem::path(flags.file).stem().string();
  const NcclTopology imported =
      import_nccl_topology(read_text_file(flags.file), input_name(flags.file), name, flags.kind);
  std::string text = "# Imported from an NCCL topology.\n";
  for (const std::string& note : imported.notes) {
    std::cerr << "note: " << note << "\n";
    text += "# " + note + "\n";
  }
  write_text_file(flags.output, text + format_topology(imported.topology));
  return static_cast<int>(ExitCode::kDone);
}

int topology_main(int argc, char** argv) {
  CLI::App app("Checks, shows and imports descriptions of machines.", "doppler topology");
  app.require_subcommand(1);
  Flags flags;
  CLI::App* const check_verb =
      app.add_subcommand("check", "Reads a topology file and reports what is wrong.");
  check_verb->add_option("FILE", flags.file, "topology file; - is standard input")->required();
  check_verb->add_flag("--json", flags.json, "print JSON");
  check_verb->footer("Example:\n  doppler topology check configs/topologies/h100x8-nvswitch.yaml");
  CLI::App* const show_verb =
      app.add_subcommand("show", "Devices, bandwidths, latencies and routes of a topology.");
  show_verb->add_option("FILE", flags.file, "topology file; - is standard input")->required();
  show_verb->add_flag("--routes", flags.routes, "also list the route of every pair");
  show_verb->add_flag("--json", flags.json, "print JSON, with the routes");
  show_verb->footer(
      "Example:\n  doppler topology show configs/topologies/v100x8-dgx1.yaml --routes");
  CLI::App* const import_verb =
      app.add_subcommand("import", "Makes a topology file of an NCCL topology.");
  import_verb->add_option("FILE", flags.file, "NCCL topology XML; - is standard input")->required();
  import_verb->add_option(
      "--kind", flags.kind,
      "what the GPUs are, where the file does not tell: p100, v100, a100, h100");
  import_verb
      ->add_option("-o,--output", flags.output, "topology file to write; - is standard output")
      ->required();
  import_verb->footer("Example:\n  doppler topology import ndv2-topo.xml --kind v100 -o ndv2.yaml");
  app.footer("Example:\n  doppler topology show configs/topologies/v100x8-dgx1.yaml");
  parse_flags(app, argc, argv);
  if (check_verb->parsed()) return check(flags);
  if (show_verb->parsed()) return show(flags);
  return import(flags);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::topology_main);
}
