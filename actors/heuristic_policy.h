// Policies that follow a rule: the critical-path heuristic's two halves (paper, section 4.3) and
// chance.
#ifndef DOPPLER_ACTORS_HEURISTIC_POLICY_H_
#define DOPPLER_ACTORS_HEURISTIC_POLICY_H_

#include "actors/policy.h"
#include "common/levels.h"

namespace doppler {

// A candidate of maximal bottom level, ties at random.
class CriticalPathNodePolicy final : public NodePolicy {
 public:
  // The levels must outlive it.
  explicit CriticalPathNodePolicy(const Levels& levels) : levels_(&levels) {}
  OperationChoice select(const Episode& episode, RandomStream& random) override;

 private:
  const Levels* levels_;
};

// A fixed traversal: the graph's topological order, whatever the costs and the placements.
class TopologicalNodePolicy final : public NodePolicy {
 public:
  OperationChoice select(const Episode& episode, RandomStream& random) override;
};

// A device on which the operation can start earliest, ties at random.
class EarliestStartDevicePolicy final : public DevicePolicy {
 public:
  DeviceChoice choose(const Episode& episode, RandomStream& random) override;
};

class RandomNodePolicy final : public NodePolicy {
 public:
  OperationChoice select(const Episode& episode, RandomStream& random) override;
};

class RandomDevicePolicy final : public DevicePolicy {
 public:
  DeviceChoice choose(const Episode& episode, RandomStream& random) override;
};

}  // namespace doppler

#endif  // DOPPLER_ACTORS_HEURISTIC_POLICY_H_
