#include "common/step_encoder.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/head_gradient.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

constexpr std::size_t kOperations = 18;
constexpr std::size_t kDevices = 3;

HeadShape shape_of(bool pools, std::size_t rounds = 2) {
  HeadShape shape{
      .aggregate_rank = 8,
      .place_hidden = 8,
      .one_pass_devices = pools ? kDevices : 0,
      .step = {.width = 16, .rounds = rounds, .devices = kDevices, .pools = pools},
  };
  return shape;
}

class StepEncoderTest : public ::testing::TestWithParam<bool> {
 protected:
  StepEncoderTest() {
    RandomStream random(5);
    graph_ = std::make_unique<Graph>(
        test::random_graph({.operation_count = kOperations, .least_cost = 1}, random));
    costs_ = std::make_unique<CostTable>(CostTable::reference(*graph_, kDevices));
    levels_ = compute_levels(*costs_);
    shape_ = shape_of(GetParam());
    snapshot_ = test::random_snapshot(kOperations, shape_, 7);
    for (OperationId o : graph_->topological_order()) all_.push_back(o);
  }

  std::vector<float> scores(StepEncoder& encoder) const {
    std::vector<float> values(all_.size());
    encoder.select_scores(all_, values);
    return values;
  }
  std::vector<float> row(StepEncoder& encoder, OperationId operation) const {
    std::vector<float> values(shape_.row_width());
    encoder.place_row(operation, values);
    return values;
  }

  std::unique_ptr<Graph> graph_;
  std::unique_ptr<CostTable> costs_;
  Levels levels_;
  HeadShape shape_;
  WeightSnapshot snapshot_;
  std::vector<OperationId> all_;
};

// What an episode has come to, step by step, is what an encoder finds that is told all of it at
// once.
TEST_P(StepEncoderTest, StepsComeToWhatAFreshStartDoes) {
  StepEncoder stepping(shape_, *graph_, levels_, false);
  StepEncoder taping(shape_, *graph_, levels_, true);
  StepEncoder fresh(shape_, *graph_, levels_, false);
  stepping.reset(snapshot_.tables[0], snapshot_.weights);
  taping.reset(snapshot_.tables[0], snapshot_.weights);
  std::vector<std::vector<float>> seen;
  for (std::size_t step = 0; step < all_.size(); ++step) {
    const OperationId next = all_[step];
    fresh.reset(snapshot_.tables[0], snapshot_.weights);
    for (std::size_t i = 0; i < step; ++i) {
      fresh.place(all_[i], DeviceId(static_cast<std::int32_t>(i % kDevices)));
    }
    seen.push_back(scores(stepping));
    EXPECT_EQ(seen.back(), scores(fresh)) << step;
    EXPECT_EQ(seen.back(), scores(taping)) << step;
    const std::vector<float> before = row(fresh, next);
    for (StepEncoder* encoder : {&stepping, &taping, &fresh}) encoder->mark(next);
    EXPECT_EQ(row(stepping, next), row(fresh, next)) << step;
    EXPECT_EQ(row(stepping, next), row(taping, next)) << step;
    EXPECT_NE(row(stepping, next), before) << "the mark shows";
    const DeviceId device(static_cast<std::int32_t>(step % kDevices));
    stepping.place(next, device);
    taping.place(next, device);
  }
  for (std::size_t step = 1; step < seen.size(); ++step) {
    EXPECT_NE(seen[step], seen[step - 1]) << "what step " << step << " placed shows";
  }
}

// A chain of 6 and 2 rounds: a placement of the first is seen by the third and not by the fourth.
TEST_P(StepEncoderTest, MessagesGoOneEdgeARound) {
  const Graph chain = test::make_graph("chain", std::vector<test::TinyCost>(6, {1, 1}),
                                       {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  const CostTable costs = CostTable::reference(chain, kDevices);
  const Levels levels = compute_levels(costs);
  HeadShape shape = shape_of(false);
  const WeightSnapshot snapshot = test::random_snapshot(6, shape, 7);
  StepEncoder encoder(shape, chain, levels, false);
  encoder.reset(snapshot.tables[0], snapshot.weights);
  std::vector<std::vector<float>> rows[2];
  for (auto& now : rows) {
    for (std::int32_t o = 0; o < 6; ++o) {
      now.emplace_back(shape.row_width());
      encoder.place_row(OperationId(o), now.back());
    }
    if (&now == &rows[0]) encoder.place(OperationId(0), DeviceId(1));
  }
  for (std::size_t o = 0; o < 6; ++o) EXPECT_EQ(rows[0][o] == rows[1][o], o > 2) << o;
}

// Pools see beyond messages: a fourth operation far away, and which side of it a change lies on.
TEST(StepEncoderPools, TellAncestorsDescendantsAndOthersApart) {
  // 0 -> 1 -> 2 -> 3 -> 4 with 5 alone, no rounds of messages.
  const Graph graph = test::make_graph("line", std::vector<test::TinyCost>(6, {1, 1}),
                                       {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  const CostTable costs = CostTable::reference(graph, kDevices);
  const Levels levels = compute_levels(costs);
  const HeadShape shape = shape_of(true, 0);
  WeightSnapshot snapshot = test::random_snapshot(6, shape, 7);
  // All operations alike, so that only the pool that a placed one falls into makes a difference.
  for (std::vector<float>* table : {&snapshot.tables[0].step_input, &snapshot.tables[0].step_place,
                                    &snapshot.tables[0].place_rows}) {
    const std::size_t width = table->size() / 6;
    for (std::size_t i = width; i < table->size(); ++i) (*table)[i] = (*table)[i - width];
  }
  const auto row_of_2 = [&](std::int32_t placed) {
    StepEncoder encoder(shape, graph, levels, false);
    encoder.reset(snapshot.tables[0], snapshot.weights);
    encoder.place(OperationId(placed), DeviceId(1));
    std::vector<float> row(shape.row_width());
    encoder.place_row(OperationId(2), row);
    for (float& value : row) value = std::round(value * 1e4F);  // sums in another order
    return row;
  };
  EXPECT_EQ(row_of_2(0), row_of_2(1));  // both ancestors
  EXPECT_EQ(row_of_2(3), row_of_2(4));  // both descendants
  EXPECT_NE(row_of_2(0), row_of_2(3));
  EXPECT_NE(row_of_2(5), row_of_2(0));
  EXPECT_NE(row_of_2(5), row_of_2(3));
}

// Central differences of the loss against the gradient that a replay finds.
class StepGradientTest : public StepEncoderTest {
 protected:
  double loss(const WeightSnapshot& snapshot, HeadGradients& gradients) {
    HeadGradient gradient(shape_, *costs_, levels_, select_,
                          GetParam() ? PlacePolicy::kPooled : PlacePolicy::kLearned);
    gradients.reset(shape_, kOperations);
    const SelectHead head(snapshot.tables[0].select_scores);
    return gradient.add(trajectory_, snapshot.tables[0], snapshot.weights, head, term_, gradients)
        ->loss;
  }

  template <typename Access>
  void compare(const HeadGradients& gradients, std::size_t stride, Access access) {
    constexpr float kStep = 1e-3F;
    const std::vector<float>& gradient = access(gradients);
    HeadGradients sink;
    int nonzero = 0;
    for (std::size_t i = 0; i < gradient.size(); i += stride) {
      WeightSnapshot above = snapshot_;
      WeightSnapshot below = snapshot_;
      struct View {
        HeadTables& tables;
        HeadWeights& weights;
      };
      View up{above.tables[0], above.weights};
      View down{below.tables[0], below.weights};
      access(up)[i] += kStep;
      access(down)[i] -= kStep;
      const double difference =
          (loss(above, sink) - loss(below, sink)) /
          (static_cast<double>(access(up)[i]) - static_cast<double>(access(down)[i]));
      EXPECT_NEAR(gradient[i], difference, 0.03 + 0.03 * std::abs(difference)) << i;
      if (std::abs(difference) > 0.1) ++nonzero;
    }
    EXPECT_GT(nonzero, 0) << "nothing was compared";
  }

  void check(SelectPolicy select, const LossTerm& term) {
    select_ = select;
    term_ = term;
    // Played with other weights, so that importance ratios differ from 1.
    trajectory_ =
        test::sample_episode(*costs_, test::random_snapshot(kOperations, shape_, 8), 9, select,
                             GetParam() ? PlacePolicy::kPooled : PlacePolicy::kLearned);
    HeadGradients gradients;
    loss(snapshot_, gradients);
    compare(
        gradients, 13, [](auto& s) -> auto& { return s.weights.step; });
    compare(
        gradients, 5, [](auto& s) -> auto& { return s.tables.step_input; });
    compare(
        gradients, 5, [](auto& s) -> auto& { return s.tables.place_rows; });
    if (select == SelectPolicy::kLearned) {
      compare(
          gradients, 5, [](auto& s) -> auto& { return s.tables.step_select; });
      compare(
          gradients, 1, [](auto& s) -> auto& { return s.tables.select_scores; });
    }
    if (GetParam())
      compare(
          gradients, 5, [](auto& s) -> auto& { return s.tables.step_place; });
  }

  SelectPolicy select_ = SelectPolicy::kLearned;
  LossTerm term_;
  Trajectory trajectory_;
};

TEST_P(StepGradientTest, PolicyGradientMatchesFiniteDifferences) {
  check(SelectPolicy::kLearned,
        {.kind = LossKind::kPolicyGradient, .advantage = 1.3F, .entropy_weight = 0.7F});
}

TEST_P(StepGradientTest, AFixedOrderMatchesFiniteDifferences) {
  check(SelectPolicy::kTopological, {.kind = LossKind::kPolicyGradient, .advantage = 1.3F});
}

TEST_P(StepGradientTest, ImitationMatchesFiniteDifferences) {
  check(SelectPolicy::kLearned, {.kind = LossKind::kImitation, .teacher = Teacher::kCriticalPath});
}

TEST_P(StepGradientTest, TrajectoriesAddUp) {
  check(SelectPolicy::kLearned, {.advantage = 1.3F});
  HeadGradients once;
  loss(snapshot_, once);
  HeadGradient gradient(shape_, *costs_, levels_, select_,
                        GetParam() ? PlacePolicy::kPooled : PlacePolicy::kLearned);
  HeadGradients twice;
  twice.reset(shape_, kOperations);
  const SelectHead head(snapshot_.tables[0].select_scores);
  for (int i = 0; i < 2; ++i) {
    gradient.add(trajectory_, snapshot_.tables[0], snapshot_.weights, head, term_, twice);
  }
  for (std::size_t i = 0; i < once.weights.step.size(); ++i) {
    EXPECT_EQ(twice.weights.step[i], 2 * once.weights.step[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, StepEncoderTest, ::testing::Bool());
INSTANTIATE_TEST_SUITE_P(Pools, StepGradientTest, ::testing::Bool());

}  // namespace
}  // namespace doppler
