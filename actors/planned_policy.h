// Policies that follow a plan: an order of operations and an assignment that something else made (a
// baseline that teaches, a placement to be replayed).
#ifndef DOPPLER_ACTORS_PLANNED_POLICY_H_
#define DOPPLER_ACTORS_PLANNED_POLICY_H_

#include "actors/policy.h"
#include "common/plan.h"

namespace doppler {

class PlannedNodePolicy final : public NodePolicy {
 public:
  // The plan must outlive it.
  explicit PlannedNodePolicy(const Plan& plan) : plan_(&plan) {}
  OperationChoice select(const Episode& episode, RandomStream& /*random*/) override {
    return {plan_->order[episode.placed_count()], 0.0F};
  }

 private:
  const Plan* plan_;
};

class PlannedDevicePolicy final : public DevicePolicy {
 public:
  explicit PlannedDevicePolicy(const Plan& plan) : plan_(&plan) {}
  DeviceChoice choose(const Episode& episode, RandomStream& /*random*/) override {
    return {plan_->assignment[episode.selected()], 0.0F};
  }

 private:
  const Plan* plan_;
};

}  // namespace doppler

#endif  // DOPPLER_ACTORS_PLANNED_POLICY_H_
