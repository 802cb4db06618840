#include "learner/demonstrations.h"

namespace doppler {

std::optional<Trajectory> demonstration(const GraphState& state, std::uint32_t graph, Stage stage) {
  const bool measured = stage == Stage::kReal && !state.measured.order.empty();
  const BestPlacement& best = measured ? state.measured : state.best;
  if (best.order.empty()) return std::nullopt;
  Trajectory trajectory;
  trajectory.graph = graph;
  trajectory.operations = best.order;
  for (OperationId operation : best.order) {
    trajectory.devices.push_back(best.assignment[operation]);
  }
  trajectory.select_log_probabilities.assign(best.order.size(), 0.0F);
  trajectory.place_log_probabilities.assign(best.order.size(), 0.0F);
  return trajectory;
}

}  // namespace doppler
