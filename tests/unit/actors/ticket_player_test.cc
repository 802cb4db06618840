#include "actors/ticket_player.h"

#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "common/group_gradient.h"
#include "common/head_gradient.h"
#include "common/levels.h"
#include "sim/reference_simulator.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"

namespace doppler {
namespace {

constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 8};

class TicketPlayerTest : public ::testing::Test {
 protected:
  TicketPlayerTest() {
    RandomStream random(8);
    graph_ = std::make_unique<Graph>(
        test::random_graph({.operation_count = 20, .least_cost = 1}, random));
    costs_ = std::make_unique<CostTable>(CostTable::reference(*graph_, 3));
    levels_ = compute_levels(*costs_);
    simulator_ = std::make_unique<ReferenceSimulator>(*costs_);
    snapshot_ = test::random_snapshot(20, kShape, 9);
    ticket_.id = 3;
    ticket_.weight_version = snapshot_.version;
    ticket_.first_episode = 40;
    ticket_.count = 5;
  }
  TicketPlayer player(std::optional<Plan> plan = {}, PlayerSettings settings = {}) {
    settings.run_seed = 11;
    settings.worker_number = 6;
    return {settings,
            {PlayableGraph{.costs = costs_.get(),
                           .levels = &levels_,
                           .executor = simulator_.get(),
                           .real_executor = {},
                           .teacher_plan = std::move(plan)}}};
  }

  std::unique_ptr<Graph> graph_;
  std::unique_ptr<CostTable> costs_;
  Levels levels_;
  std::unique_ptr<ReferenceSimulator> simulator_;
  WeightSnapshot snapshot_;
  Ticket ticket_;
};

TEST_F(TicketPlayerTest, TheSameTicketGivesTheSameResultWhoeverPlaysIt) {
  TicketPlayer used = player();
  Ticket other = ticket_;
  other.first_episode = 900;
  used.play(other, snapshot_);
  TicketPlayer fresh = player();
  EXPECT_EQ(used.play(ticket_, snapshot_), fresh.play(ticket_, snapshot_));
}

TEST_F(TicketPlayerTest, ResultsSayWhatTheTicketAskedFor) {
  const Result result = player().play(ticket_, snapshot_);
  ASSERT_EQ(result.trajectories.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(result.trajectories[i].episode, 40 + i);
    EXPECT_EQ(result.trajectories[i].seed, episode_seed(11, 40 + i));
    EXPECT_EQ(result.trajectories[i].worker, 6U);
    EXPECT_EQ(result.trajectories[i].makespan,
              simulator_->run(result.trajectories[i].assignment(), {}));
  }
  EXPECT_NE(result.trajectories[0].devices, result.trajectories[1].devices);
}

TEST_F(TicketPlayerTest, BringsTheGradientOfItsEpisodesWhereItIsAskedTo) {
  EXPECT_FALSE(player().play(ticket_, snapshot_).gradient);
  ticket_.gradient = {.episode_weight = 0.2F, .entropy_weight = 0.1F, .clip_ratio = 0.2F};
  TicketPlayer own = player();
  const Result result = own.play(ticket_, snapshot_);
  ASSERT_TRUE(result.gradient);
  EXPECT_TRUE(is_sound(*result.gradient, kShape, 20));
  HeadGradient replay(kShape, *costs_, levels_, SelectPolicy::kLearned, PlacePolicy::kLearned);
  const SelectHead head(snapshot_.tables[0].select_scores);
  EXPECT_EQ(*result.gradient,
            group_gradient(result.trajectories, snapshot_, head, *ticket_.gradient, replay));
  EXPECT_EQ(own.play(ticket_, snapshot_), result);
}

TEST_F(TicketPlayerTest, ATeachersPlanIsPlayedInTheImitationStageAlone) {
  Plan plan;
  plan.order = graph_->topological_order();
  plan.assignment.assign(20, DeviceId(2));
  TicketPlayer taught = player(plan);
  ticket_.stage = Stage::kImitation;
  EXPECT_EQ(taught.play(ticket_, snapshot_).trajectories[0].operations, plan.order);
  ticket_.purpose = TicketPurpose::kEvaluate;  // what the policy can do by now, not the teacher
  EXPECT_NE(taught.play(ticket_, snapshot_).trajectories[0].operations, plan.order);
}

TEST_F(TicketPlayerTest, CarriesOutAPlacementThatItIsGiven) {
  Plan plan;
  plan.order = graph_->topological_order();
  plan.assignment.assign(20, DeviceId(2));
  ticket_.purpose = TicketPurpose::kMeasure;
  ticket_.placement = {"heft", plan};
  TicketPlayer own = player();
  ASSERT_TRUE(own.accepts(ticket_, snapshot_));
  const Trajectory played = own.play(ticket_, snapshot_).trajectories[0];
  EXPECT_EQ(played.operations, plan.order);
  EXPECT_EQ(played.assignment(), plan.assignment);
  EXPECT_EQ(played.makespan, simulator_->run(plan.assignment, {}));

  ticket_.placement->plan.assignment[OperationId(3)] = DeviceId(99);
  EXPECT_FALSE(own.accepts(ticket_, snapshot_)) << "there is no such device";
  ticket_.placement.reset();
  EXPECT_FALSE(own.accepts(ticket_, snapshot_)) << "a measurement of nothing";
}

TEST_F(TicketPlayerTest, AcceptsOnlyWhatFits) {
  const TicketPlayer own = player();
  EXPECT_TRUE(own.accepts(ticket_, snapshot_));
  Ticket wrong_graph = ticket_;
  wrong_graph.graph = 1;
  EXPECT_FALSE(own.accepts(wrong_graph, snapshot_));
  Ticket wrong_version = ticket_;
  ++wrong_version.weight_version;
  EXPECT_FALSE(own.accepts(wrong_version, snapshot_));
  EXPECT_FALSE(own.accepts(ticket_, test::random_snapshot(21, kShape, 9)));
}

}  // namespace
}  // namespace doppler
