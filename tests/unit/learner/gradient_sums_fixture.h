// What the tests of sums of gradients share: two graphs, their heads, and episodes played with
// these.
#ifndef DOPPLER_TESTS_UNIT_LEARNER_GRADIENT_SUMS_FIXTURE_H_
#define DOPPLER_TESTS_UNIT_LEARNER_GRADIENT_SUMS_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/group_gradient.h"
#include "learner/replay_heads.h"
#include "learner/replayers.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"

namespace doppler::test {

class GradientSumsTest : public ::testing::Test {
 protected:
  static constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 8};

  GradientSumsTest() {
    RandomStream random(6);
    for (std::size_t operations : {15, 22}) {
      graphs_.push_back(std::make_unique<Graph>(random_graph(
          {.operation_count = static_cast<int>(operations), .least_cost = 1}, random)));
      costs_.push_back(std::make_unique<CostTable>(CostTable::reference(*graphs_.back(), 3)));
      levels_.push_back(std::make_unique<Levels>(compute_levels(*costs_.back())));
      training_graphs_.push_back({costs_.back().get(), levels_.back().get()});
      WeightSnapshot own = random_snapshot(operations, kShape, operations);
      if (snapshot_.tables.empty())
        snapshot_ = own;
      else
        snapshot_.tables.push_back(own.tables[0]);
    }
  }

  Replayers replayers() const { return {kShape, ModelConfig{}, training_graphs_}; }

  // Of the graphs in turn.
  std::vector<Trajectory> batch(std::size_t count) const {
    std::vector<Trajectory> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(episode(i % 2, i));
    return result;
  }
  Trajectory episode(std::size_t graph, std::uint64_t seed) const {
    WeightSnapshot own = snapshot_;
    own.tables = {snapshot_.tables[graph]};
    Trajectory trajectory = sample_episode(*costs_[graph], own, seed);
    trajectory.graph = static_cast<std::uint32_t>(graph);
    return trajectory;
  }

  std::vector<std::unique_ptr<Graph>> graphs_;
  std::vector<std::unique_ptr<CostTable>> costs_;
  std::vector<std::unique_ptr<Levels>> levels_;
  std::vector<TrainingGraph> training_graphs_;
  WeightSnapshot snapshot_;
};

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_UNIT_LEARNER_GRADIENT_SUMS_FIXTURE_H_
