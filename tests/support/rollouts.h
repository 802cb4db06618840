// Weights and trajectories for tests of heads, gradients and messages: random, but a function of
// the seed.
#ifndef DOPPLER_TESTS_SUPPORT_ROLLOUTS_H_
#define DOPPLER_TESTS_SUPPORT_ROLLOUTS_H_

#include <cstdint>
#include <vector>

#include "actors/policies.h"
#include "actors/rollout.h"
#include "common/cost_table.h"
#include "common/heads.h"
#include "common/levels.h"
#include "common/random.h"
#include "common/weight_snapshot.h"
#include "sim/reference_simulator.h"

namespace doppler::test {

inline std::vector<float> random_floats(std::size_t count, double scale, RandomStream& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(scale * random.next_normal());
  return values;
}

inline WeightSnapshot random_snapshot(std::size_t operation_count, const HeadShape& shape,
                                      std::uint64_t seed) {
  RandomStream random(seed);
  WeightSnapshot snapshot;
  snapshot.version = 3;
  snapshot.lineage = 1;
  snapshot.shape = shape;
  snapshot.weights.feature_to_hidden =
      random_floats(kPlaceFeatureCount * shape.place_hidden, 0.5, random);
  snapshot.weights.hidden_to_score = random_floats(shape.place_hidden, 0.5, random);
  HeadTables tables;
  tables.select_scores = random_floats(operation_count, 1.0, random);
  tables.place_rows = random_floats(operation_count * shape.row_width(), 0.5, random);
  snapshot.weights.step = random_floats(shape.step.weight_count(shape.row_width()), 0.3, random);
  tables.step_input = random_floats(operation_count * shape.step.width, 1.0, random);
  tables.step_select = random_floats(operation_count * shape.step.width, 0.5, random);
  tables.step_place =
      random_floats(shape.step.pools ? operation_count * shape.step.width : 0, 0.5, random);
  snapshot.tables.push_back(tables);
  return snapshot;
}

// One episode sampled from the snapshot's first tables.
inline Trajectory sample_episode(const CostTable& costs, const WeightSnapshot& snapshot,
                                 std::uint64_t seed, SelectPolicy select = SelectPolicy::kLearned,
                                 PlacePolicy place = PlacePolicy::kLearned) {
  const SelectHead select_head(snapshot.tables[0].select_scores);
  const Levels levels = compute_levels(costs);
  Episode episode(costs);
  const Policies policies = make_policies(
      select, place, {&snapshot.shape, &snapshot.tables[0], &snapshot.weights, &select_head},
      levels, episode, {});
  ReferenceSimulator simulator(costs);
  Assignment assignment;
  Trajectory trajectory;
  play_episode(seed, episode, *policies.node, *policies.device, simulator, assignment, trajectory);
  return trajectory;
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_ROLLOUTS_H_
