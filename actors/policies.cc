#include "actors/policies.h"

#include "actors/heuristic_policy.h"
#include "actors/joint_policy.h"
#include "actors/step_policy.h"
#include "common/check.h"

namespace doppler {
namespace {

// Messages are passed at each step.
Policies make_step_policies(SelectPolicy select, PlacePolicy place, const Heads& heads,
                            const Levels& levels, const Episode& episode,
                            const Exploration& exploration) {
  const bool selects = select == SelectPolicy::kLearned;
  auto device = std::make_unique<StepDevicePolicy>(
      *heads.shape, *heads.tables, *heads.weights, episode.graph(), levels,
      episode.earliest_start().size(), !selects, place != PlacePolicy::kEarliestStart, exploration);
  Policies policies;
  if (selects) {
    policies.node = std::make_unique<StepNodePolicy>(*device, exploration);
  } else if (select == SelectPolicy::kTopological) {
    policies.node = std::make_unique<TopologicalNodePolicy>();
  } else {
    policies.node = std::make_unique<CriticalPathNodePolicy>(levels);
  }
  policies.device = std::move(device);
  return policies;
}

}  // namespace

Policies make_policies(SelectPolicy select, PlacePolicy place, const Heads& heads,
                       const Levels& levels, Episode& episode, const Exploration& exploration) {
  if (heads.shape->step.used()) {
    return make_step_policies(select, place, heads, levels, episode, exploration);
  }
  Policies policies;
  LearnedDevicePolicy* learned = nullptr;
  if (place == PlacePolicy::kEarliestStart) {
    policies.device = std::make_unique<EarliestStartDevicePolicy>();
  } else {
    auto device = std::make_unique<LearnedDevicePolicy>(
        *heads.shape, *heads.tables, *heads.weights, episode.earliest_start().size(), exploration);
    learned = device.get();
    policies.device = std::move(device);
  }
  switch (select) {
    case SelectPolicy::kLearned:
      policies.node = std::make_unique<LearnedNodePolicy>(*heads.select, exploration);
      break;
    case SelectPolicy::kCriticalPath:
      policies.node = std::make_unique<CriticalPathNodePolicy>(levels);
      break;
    case SelectPolicy::kTopological:
      policies.node = std::make_unique<TopologicalNodePolicy>();
      break;
    case SelectPolicy::kJoint:
      DP_CHECK(learned != nullptr);  // validate() refuses the rest
      policies.node =
          std::make_unique<JointNodePolicy>(episode, *heads.tables, *learned, exploration);
      break;
  }
  return policies;
}

Policies make_critical_path_policies(const Levels& levels) {
  return {std::make_unique<CriticalPathNodePolicy>(levels),
          std::make_unique<EarliestStartDevicePolicy>()};
}

}  // namespace doppler
