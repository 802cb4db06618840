// The heads once more, as LibTorch operations straight from the formulas: actor and learner agree
// on every log-probability, and hand-written gradients on automatic differentiation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "common/head_gradient.h"
#include "learner/graph_features.h"
#include "learner/policy_network.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

struct TorchLoss {
  torch::Tensor loss;
  std::vector<float> select_log_probabilities;
  std::vector<float> place_log_probabilities;
};

class TorchParityTest : public ::testing::Test {
 protected:
  TorchParityTest() {
    RandomStream random(31);
    graph_ = std::make_unique<Graph>(
        test::random_graph({.operation_count = 60, .least_cost = 1}, random));
    costs_ = std::make_unique<CostTable>(CostTable::reference(*graph_, 4));
    levels_ = compute_levels(*costs_);
    const ModelConfig model;
    const GraphTensors tensors(compute_graph_features(*costs_, levels_, true));
    network_ = PolicyNetwork(model, std::vector<std::int64_t>{60}, 4, 4);
    {
      torch::NoGradGuard
          no_grad;  // larger weights than a fresh network's, so that decisions differ
      for (auto& parameter : network_->parameters()) parameter.mul_(2.0);
    }
    heads_ = network_->forward(tensors, 0);
    const auto values = [](const torch::Tensor& tensor) {
      const torch::Tensor flat = tensor.detach().contiguous().view({-1});
      return std::vector<float>(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
    };
    snapshot_.shape = network_->head_shape();
    snapshot_.weights = {values(network_->feature_to_hidden()),
                         values(network_->hidden_to_score())};
    snapshot_.tables.push_back({values(heads_.select_scores), values(heads_.place_rows)});
    trajectory_ = test::sample_episode(*costs_, snapshot_, 77);
  }

  // REINFORCE with entropy bonus, by LibTorch alone but for the episode's features.
  TorchLoss torch_loss(const torch::Tensor& select_scores, const torch::Tensor& place_rows,
                       const torch::Tensor& feature_to_hidden, const torch::Tensor& hidden_to_score,
                       float advantage, float entropy_weight) {
    const HeadShape& shape = snapshot_.shape;
    const auto rank = static_cast<std::int64_t>(shape.aggregate_rank);
    const auto hidden = static_cast<std::int64_t>(shape.place_hidden);
    const std::int64_t features = kPlaceFeatureCount;
    const auto widths = std::vector<std::int64_t>{features, rank, hidden, rank, hidden};
    const auto parts = place_rows.split_with_sizes(widths, 1);
    TorchLoss result;
    result.loss = torch::zeros({});
    Episode episode(*costs_);
    std::vector<std::vector<std::int64_t>> placed(4);
    for (std::size_t step = 0; step < trajectory_.operations.size(); ++step) {
      const OperationId operation = trajectory_.operations[step];
      std::vector<std::int64_t> candidates;
      std::int64_t chosen = 0;
      for (OperationId candidate : episode.candidates()) {
        if (candidate == operation) chosen = static_cast<std::int64_t>(candidates.size());
        candidates.push_back(candidate.value());
      }
      const auto select =
          torch::log_softmax(select_scores.index_select(0, torch::tensor(candidates)), 0);
      episode.select(operation);
      const auto y =
          torch::tensor(std::vector<float>(episode.features().begin(), episode.features().end()))
              .view({4, features});
      std::vector<torch::Tensor> scores;
      const std::int64_t v = operation.value();
      for (std::int64_t d = 0; d < 4; ++d) {
        torch::Tensor a = torch::zeros({rank});
        torch::Tensor p = torch::zeros({hidden});
        for (std::int64_t other : placed[static_cast<std::size_t>(d)]) {
          a = a + parts[3][other];
          p = p + parts[4][other];
        }
        scores.push_back(parts[0][v].dot(y[d]) + parts[1][v].dot(a) +
                         hidden_to_score.dot(torch::relu(parts[2][v] + p +
                                                         torch::matmul(y[d], feature_to_hidden))));
      }
      const auto place = torch::log_softmax(torch::stack(scores), 0);
      const std::size_t device = trajectory_.devices[step].index();
      const auto select_log = select[chosen];
      const auto place_log = place[static_cast<std::int64_t>(device)];
      result.select_log_probabilities.push_back(select_log.item<float>());
      result.place_log_probabilities.push_back(place_log.item<float>());
      const auto entropy = -(select.exp() * select).sum() - (place.exp() * place).sum();
      result.loss = result.loss - advantage * (select_log + place_log) - entropy_weight * entropy;
      episode.place(trajectory_.devices[step]);
      placed[device].push_back(v);
    }
    return result;
  }

  std::unique_ptr<Graph> graph_;
  std::unique_ptr<CostTable> costs_;
  Levels levels_;
  PolicyNetwork network_{nullptr};
  HeadTensors heads_;
  WeightSnapshot snapshot_;
  Trajectory trajectory_;
};

TEST_F(TorchParityTest, ActorAndTorchAgreeOnEveryLogProbability) {
  const TorchLoss reference =
      torch_loss(heads_.select_scores, heads_.place_rows, network_->feature_to_hidden(),
                 network_->hidden_to_score(), 1.0F, 0.0F);
  float spread = 0;
  for (std::size_t i = 0; i < trajectory_.operations.size(); ++i) {
    EXPECT_NEAR(trajectory_.select_log_probabilities[i], reference.select_log_probabilities[i],
                1e-5);
    EXPECT_NEAR(trajectory_.place_log_probabilities[i], reference.place_log_probabilities[i], 1e-5);
    spread = std::max(spread, std::abs(trajectory_.place_log_probabilities[i] - std::log(0.25F)));
  }
  EXPECT_GT(spread, 0.05F) << "all decisions were uniform; the comparison would see nothing";
}

TEST_F(TorchParityTest, HandWrittenGradientsMatchAutomaticDifferentiation) {
  const auto leaf = [](const std::vector<float>& values, torch::IntArrayRef shape) {
    return torch::tensor(values).view(shape).requires_grad_(true);
  };
  const HeadShape& shape = snapshot_.shape;
  const auto hidden = static_cast<std::int64_t>(shape.place_hidden);
  auto select = leaf(snapshot_.tables[0].select_scores, {60});
  auto rows =
      leaf(snapshot_.tables[0].place_rows, {60, static_cast<std::int64_t>(shape.row_width())});
  auto weights = leaf(snapshot_.weights.feature_to_hidden,
                      {static_cast<std::int64_t>(kPlaceFeatureCount), hidden});
  auto scores = leaf(snapshot_.weights.hidden_to_score, {hidden});
  const TorchLoss reference = torch_loss(select, rows, weights, scores, 0.8F, 0.3F);
  reference.loss.backward();

  HeadGradient gradient(shape, *costs_, levels_, SelectPolicy::kLearned, PlacePolicy::kLearned);
  HeadGradients ours;
  ours.reset(shape, 60);
  const SelectHead head(snapshot_.tables[0].select_scores);
  const auto statistics = gradient.add(trajectory_, snapshot_.tables[0], snapshot_.weights, head,
                                       {.advantage = 0.8F, .entropy_weight = 0.3F}, ours);
  ASSERT_TRUE(statistics);
  EXPECT_NEAR(statistics->loss, reference.loss.item<double>(), 1e-3);
  const auto compare = [](const std::vector<float>& own, const torch::Tensor& theirs) {
    const torch::Tensor flat = theirs.contiguous().view({-1});
    ASSERT_EQ(static_cast<std::int64_t>(own.size()), flat.numel());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const float expected = flat[static_cast<std::int64_t>(i)].item<float>();
      EXPECT_NEAR(own[i], expected, 2e-5 + 1e-4 * std::abs(expected)) << i;
    }
  };
  compare(ours.tables.select_scores, select.grad());
  compare(ours.tables.place_rows, rows.grad());
  compare(ours.weights.feature_to_hidden, weights.grad());
  compare(ours.weights.hidden_to_score, scores.grad());
}

// Message passing alone cannot tell symmetric shards apart; identity features can.
TEST_F(TorchParityTest, IdentityTellsSymmetricOperationsApart) {
  const Graph graph =
      test::make_graph("fork", {{1, 1}, {5, 1}, {5, 1}, {1, 1}}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const CostTable costs = CostTable::reference(graph, 2);
  const Levels levels = compute_levels(costs);
  const auto scores = [&](bool identity) {
    PolicyNetwork network(ModelConfig{}, std::vector<std::int64_t>{}, 4, 1);
    const GraphTensors tensors(compute_graph_features(costs, levels, identity));
    return network->forward(tensors, -1).place_rows.detach();
  };
  const torch::Tensor without = scores(false);
  EXPECT_TRUE(torch::equal(without[1], without[2]));
  const torch::Tensor with = scores(true);
  EXPECT_FALSE(torch::allclose(with[1], with[2]));
}

}  // namespace
}  // namespace doppler
