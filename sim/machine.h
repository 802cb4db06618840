// Machine: what a graph is placed on in simulation: its costs there, and the simulator that carries
// assignments out. The one place that knows which simulator belongs to which mode.
#ifndef DOPPLER_SIM_MACHINE_H_
#define DOPPLER_SIM_MACHINE_H_

#include <cstdint>
#include <memory>

#include "common/config.h"
#include "common/cost_table.h"
#include "common/executor.h"
#include "common/graph.h"
#include "common/physical_options.h"
#include "common/topology.h"

namespace doppler {

// What a configuration asks of the physical simulator; `seed` is that of noise and random dispatch.
PhysicalOptions physical_options(const SimulationConfig& simulation, std::uint64_t seed);

class Machine {
 public:
  // `topology` is needed in physical mode and ignored in reference mode (then it may be null).
  // Throws ConfigError where graph and mode do not fit each other. Graph and topology must outlive
  // it.
  Machine(const Graph& graph, const Topology* topology, const SimulationConfig& simulation,
          std::uint64_t seed);

  const CostTable& costs() const { return *costs_; }
  Executor& executor() { return *executor_; }
  // Another one of the same, for another thread.
  std::unique_ptr<Executor> make_executor() const;

 private:
  const Topology* topology_;
  SimulationConfig simulation_;
  std::uint64_t seed_;
  std::unique_ptr<CostTable> costs_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_MACHINE_H_
