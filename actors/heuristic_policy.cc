#include "actors/heuristic_policy.h"

#include <cmath>

namespace doppler {

OperationChoice CriticalPathNodePolicy::select(const Episode& episode, RandomStream& random) {
  OperationId chosen;
  SimTime largest(-1);
  std::uint64_t ties = 0;
  for (OperationId candidate : episode.candidates()) {
    const SimTime level = levels_->bottom_level[candidate];
    if (level < largest) continue;
    if (level > largest) {
      largest = level;
      ties = 0;
    }
    // Each of the ties seen so far keeps the same chance.
    if (random.next_below(++ties) == 0) chosen = candidate;
  }
  return {chosen, -std::log(static_cast<float>(ties))};
}

OperationChoice TopologicalNodePolicy::select(const Episode& episode, RandomStream& /*random*/) {
  return {episode.graph().topological_order()[episode.placed_count()], 0.0F};
}

DeviceChoice EarliestStartDevicePolicy::choose(const Episode& episode, RandomStream& random) {
  DeviceId chosen;
  SimTime earliest = SimTime::max();
  std::uint64_t ties = 0;
  const auto starts = episode.earliest_start();
  for (std::size_t d = 0; d < starts.size(); ++d) {
    if (starts[d] > earliest) continue;
    if (starts[d] < earliest) {
      earliest = starts[d];
      ties = 0;
    }
    if (random.next_below(++ties) == 0) chosen = DeviceId(static_cast<std::int32_t>(d));
  }
  return {chosen, -std::log(static_cast<float>(ties))};
}

OperationChoice RandomNodePolicy::select(const Episode& episode, RandomStream& random) {
  const auto candidates = episode.candidates();
  return {candidates[random.next_below(candidates.size())],
          -std::log(static_cast<float>(candidates.size()))};
}

DeviceChoice RandomDevicePolicy::choose(const Episode& episode, RandomStream& random) {
  DeviceId chosen;
  std::uint64_t count = 0;
  for (std::size_t d = 0; d < episode.earliest_start().size(); ++d) {
    if (episode.allowed(d) && random.next_below(++count) == 0) {
      chosen = DeviceId(static_cast<std::int32_t>(d));
    }
  }
  return {chosen, -std::log(static_cast<float>(count))};
}

}  // namespace doppler
