#include "sim/simulation_flags.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/error.h"
#include "common/text_check.h"

namespace doppler {
namespace {

template <typename Enum>
void add_choice(CLI::App& app, const std::string& name, Enum& value, const std::string& help,
                const std::map<std::string, Enum>& choices) {
  app.add_option_function<std::string>(
         name, [&value, choices](const std::string& chosen) { value = choices.at(chosen); }, help)
      ->check(CLI::IsMember(choices));
}

// Flags that make no sense in reference mode.
constexpr std::array<const char*, 7> kPhysicalFlags = {
    "--topology",        "--contention", "--dispatch",      "--memory",
    "--operation-noise", "--kind-noise", "--transfer-noise"};

void add_contention(CLI::App& app, Contention& contention) {
  add_choice<Contention>(
      app, "--contention", contention,
      "what transfers do to each other: none, serial or fair (default: serial)",
      {{"none", Contention::kNone}, {"serial", Contention::kSerial}, {"fair", Contention::kFair}});
}

void add_dispatch(CLI::App& app, Dispatch& dispatch) {
  add_choice<Dispatch>(app, "--dispatch", dispatch,
                       "which ready operation a device takes: fifo, priority or random (default: "
                       "fifo)",
                       {{"fifo", Dispatch::kFifo},
                        {"priority", Dispatch::kPriority},
                        {"random", Dispatch::kRandom}});
}

void add_kind_noise(const std::string& item, SimulationConfig& simulation) {
  constexpr double kLargest = 10;
  const std::size_t equals = item.rfind('=');
  const auto value = equals == std::string::npos || equals == 0
                         ? std::nullopt
                         : parse_decimal(std::string_view(item).substr(equals + 1));
  if (!value || *value < 0 || *value > kLargest) {
    throw ConfigError("--kind-noise " + item +
                      ": expected KIND=NUMBER with a number from 0 to 10, as in matmul=0.1");
  }
  simulation.kind_noise[item.substr(0, equals)] = *value;
}

}  // namespace

void add_execution_flags(CLI::App& app, ExecutionRules& rules) {
  add_contention(app, rules.contention);
  add_dispatch(app, rules.dispatch);
}

void add_simulation_flags(CLI::App& app, SimulationConfig& simulation) {
  app.add_flag("--reference")->description("the cost model of the paper's published simulator");
  app.add_option("--devices", simulation.devices, "how many devices there are, with --reference");
  app.add_option("--topology", simulation.topology,
                 "topology file: physical mode, on the devices that it describes");
  add_contention(app, simulation.contention);
  add_dispatch(app, simulation.dispatch);
  add_choice<MemoryRule>(app, "--memory", simulation.memory,
                         "report peaks, or enforce capacities (default: enforce)",
                         {{"report", MemoryRule::kReport}, {"enforce", MemoryRule::kEnforce}});
  app.add_option("--operation-noise", simulation.operation_noise,
                 "coefficient of variation of the time of operations")
      ->check(CLI::Range(0.0, 10.0));
  app.add_option_function<std::vector<std::string>>(
         "--kind-noise",
         [&simulation](const std::vector<std::string>& items) {
           for (const std::string& item : items) add_kind_noise(item, simulation);
         },
         "KIND=NUMBER: the same for operations of one kind")
      ->take_all();
  app.add_option("--transfer-noise", simulation.transfer_noise,
                 "coefficient of variation of the time of transfers")
      ->check(CLI::Range(0.0, 10.0));
}

void check_simulation_flags(const CLI::App& app, SimulationConfig& simulation) {
  const bool reference = app.count("--reference") > 0;
  simulation.mode = reference ? SimulationMode::kReference : SimulationMode::kPhysical;
  if (reference == !simulation.topology.empty()) {
    throw ConfigError(
        "give either --topology FILE for the physical mode (it needs a topology) or --reference "
        "for the cost model of the paper's published simulator");
  }
  if (reference && app.count("--devices") == 0) {
    throw ConfigError("--devices is required; see --help");
  }
  if (!reference && app.count("--devices") > 0) {
    throw ConfigError("--devices: the topology says how many devices there are; leave it out");
  }
  for (const char* name : kPhysicalFlags) {
    if (reference && app.count(name) > 0) {
      throw ConfigError(std::string(name) +
                        " is for the physical mode; leave it or --reference out");
    }
  }
}

}  // namespace doppler
