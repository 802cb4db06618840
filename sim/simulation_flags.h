// The flags that say what a graph is placed on: reference mode and its devices, or a topology and
// how it is simulated.
#ifndef DOPPLER_SIM_SIMULATION_FLAGS_H_
#define DOPPLER_SIM_SIMULATION_FLAGS_H_

#include "common/config.h"
#include "common/physical_options.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace doppler {

// How transfers meet and devices choose.
struct ExecutionRules {
  Contention contention = Contention::kSerial;
  Dispatch dispatch = Dispatch::kFifo;
};

// Adds --contention and --dispatch. `rules` must outlive the parsing.
void add_execution_flags(CLI::App& app, ExecutionRules& rules);

// Adds --reference, --devices, --topology, --contention, --dispatch, --memory, --operation-noise
// and
// --transfer-noise. `simulation` must outlive the parsing.
void add_simulation_flags(CLI::App& app, SimulationConfig& simulation);

// After parsing: sets the mode. Throws ConfigError where the flags contradict each other.
void check_simulation_flags(const CLI::App& app, SimulationConfig& simulation);

}  // namespace doppler

#endif  // DOPPLER_SIM_SIMULATION_FLAGS_H_
