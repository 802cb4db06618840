// The pair of policies that a configuration names, for the episodes of one graph.
#ifndef DOPPLER_ACTORS_POLICIES_H_
#define DOPPLER_ACTORS_POLICIES_H_

#include <memory>

#include "actors/learned_policy.h"
#include "common/config.h"
#include "common/levels.h"

namespace doppler {

struct Policies {
  std::unique_ptr<NodePolicy> node;
  std::unique_ptr<DevicePolicy> device;
};

// The heads of one graph under one weight version.
struct Heads {
  const HeadShape* shape;
  const HeadTables* tables;
  const HeadWeights* weights;
  const SelectHead* select;  // of `tables`
};

// Learned or by rule, as `select` and `place` say. `episode` is the one that will be played.
// Everything handed in must outlive the policies.
Policies make_policies(SelectPolicy select, PlacePolicy place, const Heads& heads,
                       const Levels& levels, Episode& episode, const Exploration& exploration);

// The critical-path heuristic: both by rule.
Policies make_critical_path_policies(const Levels& levels);

}  // namespace doppler

#endif  // DOPPLER_ACTORS_POLICIES_H_
