#include "learner/real_candidates.h"

#include <algorithm>

namespace doppler {

std::vector<NamedPlan> real_candidates(const GraphState& state,
                                       const std::vector<BestPlacement>& baselines,
                                       std::size_t count) {
  std::vector<NamedPlan> candidates;
  const auto add = [&](const char* name, const BestPlacement& placement) {
    if (candidates.size() >= count || placement.order.empty()) return;
    const auto is_there = [&](const NamedPlan& candidate) {
      return candidate.plan.assignment == placement.assignment;
    };
    if (std::any_of(candidates.begin(), candidates.end(), is_there)) return;
    candidates.push_back({name, {placement.order, placement.assignment}});
  };
  add("policy, best in simulation", state.best);
  add("policy, greedy in simulation", state.greedy);
  for (const BestPlacement& baseline : baselines) add(baseline.found_by.c_str(), baseline);
  return candidates;
}

}  // namespace doppler
