#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/heuristic_policy.h"
#include "actors/joint_policy.h"
#include "actors/learned_policy.h"
#include "actors/ticket_player.h"
#include "common/head_gradient.h"
#include "common/levels.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 8};
constexpr int kDraws = 20000;
// Five standard deviations of a frequency over kDraws draws are at most 5 x 0.5 / sqrt(20000).
constexpr double kTolerance = 0.018;

// Two independent operations and a third behind both.
Graph fork() {
  return test::make_graph("fork", {{4, 1}, {2, 1}, {3, 1}}, {{0, 2}, {1, 2}});
}

TEST(LearnedNodePolicy, SamplesFromItsSoftmax) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  const std::vector<float> scores = {std::log(3.0F), 0.0F,
                                     0.0F};  // 3 : 1 between the candidates 0 and 1
  const SelectHead head(scores);
  LearnedNodePolicy policy(head, {});
  RandomStream random(1);
  int first = 0;
  for (int i = 0; i < kDraws; ++i) {
    const OperationChoice choice = policy.select(episode, random);
    const bool is_first = choice.operation == OperationId(0);
    first += is_first ? 1 : 0;
    EXPECT_NEAR(std::exp(choice.log_probability), is_first ? 0.75 : 0.25, 1e-5);
  }
  EXPECT_NEAR(static_cast<double>(first) / kDraws, 0.75, kTolerance);
}

TEST(LearnedNodePolicy, GreedyTakesTheLargestScoreAndOfEqualsTheSmallestId) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  RandomStream random(1);
  const std::vector<float> larger = {0.0F, 0.5F, 9.0F};
  const SelectHead larger_head(larger);
  EXPECT_EQ(LearnedNodePolicy(larger_head, {.greedy = true}).select(episode, random).operation,
            OperationId(1));
  const std::vector<float> equal = {0.5F, 0.5F, 0.0F};
  const SelectHead equal_head(equal);
  EXPECT_EQ(LearnedNodePolicy(equal_head, {.greedy = true}).select(episode, random).operation,
            OperationId(0));
}

// A policy that always takes 0, and epsilon 0.4: 1 comes in 0.4 / 2 of the draws.
TEST(LearnedNodePolicy, EpsilonIsUniformOverTheCandidates) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  const std::vector<float> scores = {50.0F, 0.0F, 0.0F};
  const SelectHead head(scores);
  LearnedNodePolicy policy(head, {.epsilon = 0.4});
  RandomStream random(2);
  int second = 0;
  for (int i = 0; i < kDraws; ++i) {
    second += policy.select(episode, random).operation == OperationId(1) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(second) / kDraws, 0.2, kTolerance);
}

TEST(LearnedDevicePolicy, SamplesAsItsLogProbabilitiesSay) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 3);
  Episode episode(costs);
  const WeightSnapshot snapshot = test::random_snapshot(3, kShape, 5);
  LearnedDevicePolicy policy(kShape, snapshot.tables[0], snapshot.weights, 3, {});
  policy.begin_episode();
  episode.select(OperationId(0));
  policy.placed(OperationId(0), DeviceId(1));
  episode.place(DeviceId(1));
  episode.select(OperationId(1));
  RandomStream random(3);
  std::map<int, int> counts;
  std::map<int, double> probabilities;
  for (int i = 0; i < kDraws; ++i) {
    const DeviceChoice choice = policy.choose(episode, random);
    ++counts[choice.device.value()];
    probabilities[choice.device.value()] = std::exp(static_cast<double>(choice.log_probability));
  }
  double sum = 0;
  for (const auto& [device, probability] : probabilities) {
    EXPECT_NEAR(static_cast<double>(counts[device]) / kDraws, probability, kTolerance);
    sum += probability;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(CriticalPathNodePolicy, TakesTheLargestBottomLevelAndSharesTies) {
  // Bottom levels: 0 and 1 have 5 + 1 + 1 each, 2 has 3 + 1 + 1.
  const Graph graph =
      test::make_graph("ties", {{5, 1}, {5, 1}, {3, 1}, {1, 1}}, {{0, 3}, {1, 3}, {2, 3}});
  const CostTable costs = CostTable::reference(graph, 2);
  const Levels levels = compute_levels(costs);
  Episode episode(costs);
  CriticalPathNodePolicy policy(levels);
  RandomStream random(4);
  std::map<int, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[policy.select(episode, random).operation.value()];
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_NEAR(static_cast<double>(counts[0]) / kDraws, 0.5, kTolerance);
}

// Smallest ids first: 0, 2, 1, 3, whatever costs most.
TEST(TopologicalNodePolicy, FollowsTheGraphAlone) {
  const Graph graph =
      test::make_graph("order", {{1, 1}, {9, 1}, {1, 1}, {1, 1}}, {{0, 3}, {2, 1}, {1, 3}});
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  TopologicalNodePolicy policy;
  RandomStream random(4);
  std::vector<int> order;
  while (!episode.done()) {
    const OperationChoice choice = policy.select(episode, random);
    EXPECT_EQ(choice.log_probability, 0);
    ASSERT_TRUE(episode.is_candidate(choice.operation));
    order.push_back(choice.operation.value());
    episode.select(choice.operation);
    episode.place(DeviceId(0));
  }
  EXPECT_EQ(order, (std::vector<int>{0, 2, 1, 3}));
}

// 0 on d1 [0, 4]; 1 can start at 0 on d0 and d2 and at 4 on d1.
TEST(EarliestStartDevicePolicy, TakesTheEarliestAndSharesTies) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 3);
  Episode episode(costs);
  episode.select(OperationId(0));
  episode.place(DeviceId(1));
  episode.select(OperationId(1));
  EarliestStartDevicePolicy policy;
  RandomStream random(5);
  std::map<int, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[policy.choose(episode, random).device.value()];
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_FALSE(counts.contains(1));
  EXPECT_NEAR(static_cast<double>(counts[0]) / kDraws, 0.5, kTolerance);
}

// Operation 0 pinned to device 2, operation 1 kept off device 0.
Graph restricted() {
  GraphBuilder builder("restricted", CostUnit::kDurations);
  for (int i = 0; i < 3; ++i) {
    Operation operation;
    operation.compute_time = SimTime(5);
    operation.transfer_time = SimTime(1);
    if (i == 0) operation.pinned_device = DeviceId(2);
    if (i == 1) operation.forbidden_devices = {DeviceId(0)};
    builder.add_operation(operation);
  }
  builder.add_edge({.source = OperationId(0), .destination = OperationId(2), .bytes = {}});
  builder.add_edge({.source = OperationId(1), .destination = OperationId(2), .bytes = {}});
  return builder.build();
}

TEST(Masks, NoPolicyUsesAForbiddenDevice) {
  const Graph graph = restricted();
  const CostTable costs = CostTable::reference(graph, 3);
  const Levels levels = compute_levels(costs);
  const WeightSnapshot snapshot = test::random_snapshot(3, kShape, 6);
  const SelectHead head(snapshot.tables[0].select_scores);
  ReferenceSimulator simulator(costs);
  Episode episode(costs);
  Assignment assignment;
  Trajectory trajectory;
  HeadGradient gradient(kShape, costs, levels, SelectPolicy::kLearned, PlacePolicy::kLearned);
  std::set<int> devices_of_1;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    LearnedNodePolicy nodes(head, {});
    LearnedDevicePolicy learned(kShape, snapshot.tables[0], snapshot.weights, 3,
                                {.greedy = seed % 3 == 0, .epsilon = seed % 2 == 0 ? 0.5 : 0.0});
    EarliestStartDevicePolicy earliest;
    RandomDevicePolicy chance;
    for (DevicePolicy* policy :
         {static_cast<DevicePolicy*>(&learned), static_cast<DevicePolicy*>(&earliest),
          static_cast<DevicePolicy*>(&chance)}) {
      play_episode(seed, episode, nodes, *policy, simulator, assignment, trajectory);
      EXPECT_EQ(assignment[OperationId(0)], DeviceId(2));
      EXPECT_NE(assignment[OperationId(1)], DeviceId(0));
      devices_of_1.insert(assignment[OperationId(1)].value());
      // Replaying gives finite gradients, and none for what cannot be chosen.
      HeadGradients gradients;
      gradients.reset(kShape, 3);
      ASSERT_TRUE(gradient.add(trajectory, snapshot.tables[0], snapshot.weights, head,
                               {.advantage = 1, .entropy_weight = 0.1F}, gradients));
      for (float value : gradients.tables.place_rows) EXPECT_TRUE(std::isfinite(value));
    }
  }
  EXPECT_EQ(devices_of_1, (std::set<int>{1, 2}));
}

// Two operations without inputs on two devices, scores written out from the tables: the chance of
// (operation, device) is exp(s + f) over the sum of all four.
TEST(JointNodePolicy, IsOneSoftmaxOverPairs) {
  const Graph graph = test::make_graph("pairs", {{10, 1}, {10, 1}}, {});
  const CostTable costs = CostTable::reference(graph, 2);
  constexpr HeadShape kTwoScores{.aggregate_rank = 8, .place_hidden = 8, .one_pass_devices = 2};
  WeightSnapshot snapshot = test::random_snapshot(2, kTwoScores, 6);
  HeadTables& tables = snapshot.tables[0];
  tables.select_scores = {0.0F, 1.0F};
  std::fill(tables.place_rows.begin(), tables.place_rows.end(), 0.0F);
  tables.place_rows[0] = 2.0F;                            // f(0, 0)
  tables.place_rows[kTwoScores.row_width() + 1] = -1.0F;  // f(1, 1)
  // s + f: (0,0) 2, (0,1) 0, (1,0) 1, (1,1) 0
  const double total = std::exp(2.0) + 1 + std::exp(1.0) + 1;
  Episode episode(costs);
  LearnedDevicePolicy device_policy(kTwoScores, tables, snapshot.weights, 2, {});
  JointNodePolicy node_policy(episode, tables, device_policy, {});
  std::map<std::pair<int, int>, double> expected = {{{0, 0}, std::exp(2.0) / total},
                                                    {{0, 1}, 1 / total},
                                                    {{1, 0}, std::exp(1.0) / total},
                                                    {{1, 1}, 1 / total}};
  std::map<std::pair<int, int>, int> counts;
  RandomStream random(3);
  for (int i = 0; i < kDraws; ++i) {
    episode.reset();
    device_policy.begin_episode();
    const OperationChoice operation = node_policy.select(episode, random);
    episode.select(operation.operation);
    const DeviceChoice device = device_policy.choose(episode, random);
    const std::pair<int, int> pair(operation.operation.value(), device.device.value());
    ++counts[pair];
    EXPECT_NEAR(std::exp(operation.log_probability + device.log_probability), expected[pair], 1e-6);
  }
  // Four standard deviations of a count: 4 sqrt(20000 p (1 - p)) < 283.
  for (const auto& [pair, p] : expected) EXPECT_NEAR(counts[pair], kDraws * p, 283);
}

// What an actor wrote down, the learner finds again.
TEST(JointNodePolicy, AReplayFindsTheSameLogProbabilities) {
  RandomStream random(5);
  const Graph graph = test::random_graph({.operation_count = 30, .least_cost = 1}, random);
  const CostTable costs = CostTable::reference(graph, 3);
  const Levels levels = compute_levels(costs);
  const WeightSnapshot snapshot = test::random_snapshot(30, kShape, 6);
  const HeadTables& tables = snapshot.tables[0];
  const SelectHead head(tables.select_scores);
  ReferenceSimulator simulator(costs);
  Episode episode(costs);
  LearnedDevicePolicy device_policy(kShape, tables, snapshot.weights, 3, {});
  JointNodePolicy node_policy(episode, tables, device_policy, {});
  HeadGradient gradient(kShape, costs, levels, SelectPolicy::kJoint, PlacePolicy::kLearned);
  Assignment assignment;
  Trajectory trajectory;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    play_episode(seed, episode, node_policy, device_policy, simulator, assignment, trajectory);
    HeadGradients gradients;
    gradients.reset(kShape, 30);
    const auto replay =
        gradient.add(trajectory, tables, snapshot.weights, head, {.advantage = 1}, gradients);
    ASSERT_TRUE(replay);
    EXPECT_LT(replay->largest_log_probability_difference, 1e-6);
  }
}

TEST(Masks, ATrajectoryOnAForbiddenDeviceDoesNotReplay) {
  const Graph graph = restricted();
  const CostTable costs = CostTable::reference(graph, 3);
  const Levels levels = compute_levels(costs);
  const WeightSnapshot snapshot = test::random_snapshot(3, kShape, 6);
  Trajectory trajectory = test::sample_episode(costs, snapshot, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    if (trajectory.operations[i] == OperationId(0)) trajectory.devices[i] = DeviceId(1);
  }
  HeadGradient gradient(kShape, costs, levels, SelectPolicy::kLearned, PlacePolicy::kLearned);
  HeadGradients gradients;
  gradients.reset(kShape, 3);
  const SelectHead head(snapshot.tables[0].select_scores);
  EXPECT_FALSE(gradient.add(trajectory, snapshot.tables[0], snapshot.weights, head,
                            {.advantage = 1}, gradients));
}

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
