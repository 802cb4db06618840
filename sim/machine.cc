#include "sim/machine.h"

#include "common/check.h"
#include "sim/physical_simulator.h"
#include "sim/reference_simulator.h"

namespace doppler {

PhysicalOptions physical_options(const SimulationConfig& simulation, std::uint64_t seed) {
  PhysicalOptions options;
  options.contention = simulation.contention;
  options.dispatch = simulation.dispatch;
  options.memory = simulation.memory;
  options.noise.operation_cv = simulation.operation_noise;
  options.noise.operation_cv_by_kind = simulation.kind_noise;
  options.noise.transfer_cv = simulation.transfer_noise;
  options.seed = seed;
  return options;
}

Machine::Machine(const Graph& graph, const Topology* topology, const SimulationConfig& simulation,
                 std::uint64_t seed)
    : topology_(topology), simulation_(simulation), seed_(seed) {
  if (simulation.mode == SimulationMode::kReference) {
    costs_ = std::make_unique<CostTable>(
        CostTable::reference(graph, static_cast<int>(simulation.devices)));
  } else {
    DP_CHECK(topology != nullptr);
    costs_ = std::make_unique<CostTable>(CostTable::physical(graph, *topology));
  }
  executor_ = make_executor();
}

std::unique_ptr<Executor> Machine::make_executor() const {
  if (simulation_.mode == SimulationMode::kReference) {
    return std::make_unique<ReferenceSimulator>(*costs_);
  }
  return std::make_unique<PhysicalSimulator>(*costs_, *topology_,
                                             physical_options(simulation_, seed_));
}

}  // namespace doppler
