// Messages passed at each step once more, as LibTorch operations over the whole graph in every
// step: plain C++, which only follows what has changed, agrees on every log-probability and,
// through the tables and weights that the network hands out, on the gradient of every parameter.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "common/head_gradient.h"
#include "learner/graph_features.h"
#include "learner/policy_network.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"

namespace doppler {
namespace {

constexpr std::int64_t kOperations = 40;
constexpr std::int64_t kDevices = 3;
constexpr std::int64_t kWidth = 16;

std::vector<float> values_of(const torch::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const torch::Tensor flat = tensor.detach().contiguous().view({-1});
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

class StepParityTest : public ::testing::TestWithParam<bool> {
 protected:
  StepParityTest() {
    RandomStream random(31);
    graph_ = std::make_unique<Graph>(
        test::random_graph({.operation_count = kOperations, .least_cost = 1}, random));
    costs_ = std::make_unique<CostTable>(CostTable::reference(*graph_, kDevices));
    levels_ = compute_levels(*costs_);
    ModelConfig model;
    model.hidden_width = kWidth;
    model.message_rounds = 2;
    model.encode = EncodeTime::kPerStep;
    if (GetParam()) {
      model.place = PlacePolicy::kPooled;
      model.select = SelectPolicy::kTopological;
    }
    model_ = model;
    tensors_ = std::make_unique<GraphTensors>(compute_graph_features(*costs_, levels_, true));
    network_ = PolicyNetwork(model, std::vector<std::int64_t>{kOperations}, kDevices, 4);
    torch::NoGradGuard no_grad;  // larger than a fresh network's, so that decisions differ
    for (auto& parameter : network_->parameters()) parameter.mul_(1.5);
    for (auto& [name, parameter] : named()) {
      if (name.starts_with("table_") || name.ends_with("bias")) {
        parameter.add_(0.1 * torch::randn_like(parameter));
      }
    }
  }

  std::map<std::string, torch::Tensor> named() {
    std::map<std::string, torch::Tensor> result;
    for (auto& item : network_->named_parameters()) result[item.key()] = item.value();
    return result;
  }

  torch::Tensor linear(const std::string& name, const torch::Tensor& x) {
    auto p = named();
    return torch::addmm(p[name + ".bias"], x, p[name + ".weight"].t());
  }
  static torch::Tensor mean_of(const torch::Tensor& h, const std::vector<std::int64_t>& rows) {
    if (rows.empty()) return torch::zeros({h.size(1)});
    return h.index_select(0, torch::tensor(rows)).mean(0);
  }
  std::vector<std::int64_t> path(const IdVector<OperationId, OperationId>& next, OperationId from) {
    std::vector<std::int64_t> result;
    for (OperationId at = next[from];
         at.value() >= 0 && result.size() < static_cast<std::size_t>(kPathLength); at = next[at]) {
      result.push_back(at.value());
    }
    return result;
  }
  // Everything that leads to `from` along `next` of operations.
  template <typename Next>
  std::set<std::int64_t> reach(OperationId from, Next next) {
    std::set<std::int64_t> found;
    std::vector<OperationId> todo = {from};
    while (!todo.empty()) {
      const OperationId at = todo.back();
      todo.pop_back();
      for (OperationId other : next(at)) {
        if (found.insert(other.value()).second) todo.push_back(other);
      }
    }
    return found;
  }

  // H with rows of the placement (or -1) as they are.
  torch::Tensor encode(const std::vector<std::int64_t>& placement) {
    auto p = named();
    torch::Tensor x = linear("input", tensors_->node);
    std::vector<torch::Tensor> told;
    for (std::int64_t row : placement) {
      told.push_back(row < 0 ? torch::zeros({kWidth}) : p["placement"][row]);
    }
    torch::Tensor h = torch::relu(x + torch::stack(told));
    for (const char* round : {"round_0", "round_1"}) {
      std::vector<torch::Tensor> joined;
      for (std::int64_t v = 0; v < kOperations; ++v) {
        const OperationId o(static_cast<std::int32_t>(v));
        std::vector<std::int64_t> inputs;
        std::vector<std::int64_t> outputs;
        for (OperationId other : graph_->predecessors(o)) inputs.push_back(other.value());
        for (OperationId other : graph_->successors(o)) outputs.push_back(other.value());
        joined.push_back(torch::cat({h[v], mean_of(h, inputs), mean_of(h, outputs)}));
      }
      h = h + torch::relu(linear(round, torch::stack(joined)));
    }
    return torch::layer_norm(h, {kWidth}, p["norm.weight"], p["norm.bias"], 1e-5);
  }

  torch::Tensor place_row(const torch::Tensor& h, OperationId o) {
    const std::int64_t v = o.value();
    auto p = named();
    const torch::Tensor z = tensors_->node[v];
    torch::Tensor input = h[v];
    if (GetParam()) {
      const auto up = reach(o, [&](OperationId at) { return graph_->predecessors(at); });
      const auto down = reach(o, [&](OperationId at) { return graph_->successors(at); });
      std::vector<std::int64_t> others;
      for (std::int64_t i = 0; i < kOperations; ++i) {
        if (i != v && !up.contains(i) && !down.contains(i)) others.push_back(i);
      }
      const torch::Tensor pools =
          torch::cat({h[v], mean_of(h, {up.begin(), up.end()}),
                      mean_of(h, {down.begin(), down.end()}), mean_of(h, others), z});
      input = torch::relu(linear("place_pool", pools.unsqueeze(0))[0]);
    }
    return linear("place_row", torch::cat({input, z}).unsqueeze(0))[0] + p["table_place_0"][v];
  }

  // REINFORCE with an entropy bonus of all decisions of `trajectory`.
  torch::Tensor torch_loss(const Trajectory& trajectory, float advantage, float entropy_weight) {
    auto p = named();
    const HeadShape& shape = network_->head_shape();
    const auto rank = static_cast<std::int64_t>(shape.aggregate_rank);
    const auto hidden = static_cast<std::int64_t>(shape.place_hidden);
    const std::int64_t features = kPlaceFeatureCount;
    torch::Tensor loss = torch::zeros({});
    Episode episode(*costs_);
    std::vector<std::int64_t> placement(kOperations, -1);
    std::vector<torch::Tensor> a(kDevices, torch::zeros({rank}));
    std::vector<torch::Tensor> ph(kDevices, torch::zeros({hidden}));
    for (std::size_t step = 0; step < trajectory.operations.size(); ++step) {
      const OperationId operation = trajectory.operations[step];
      const auto v = static_cast<std::size_t>(operation.value());
      const auto device = static_cast<std::int64_t>(trajectory.devices[step].index());
      if (model_.select == SelectPolicy::kLearned) {
        const torch::Tensor h = encode(placement);
        std::vector<torch::Tensor> scores;
        std::int64_t chosen = 0;
        for (OperationId c : episode.candidates()) {
          if (c == operation) chosen = static_cast<std::int64_t>(scores.size());
          const torch::Tensor joined = torch::cat(
              {h[c.value()], mean_of(h, path(levels_.critical_successor, c)),
               mean_of(h, path(levels_.critical_predecessor, c)), tensors_->node[c.value()]});
          const torch::Tensor deep = torch::relu(linear("select_hidden", joined.unsqueeze(0)));
          scores.push_back(linear("select_score", deep).squeeze() + p["table_select_0"][c.value()]);
        }
        const torch::Tensor log = torch::log_softmax(torch::stack(scores), 0);
        EXPECT_NEAR(trajectory.select_log_probabilities[step], log[chosen].item<float>(), 2e-5);
        loss = loss - advantage * log[chosen] + entropy_weight * (log.exp() * log).sum();
      } else {
        placement[v] = kDevices;  // it is known before what will be placed now
      }
      const torch::Tensor row = place_row(encode(placement), operation);
      episode.select(operation);
      torch::Tensor scores;
      if (GetParam()) {
        scores = row.slice(0, 0, kDevices);
      } else {
        const auto parts = row.split_with_sizes({features, rank, hidden, rank, hidden});
        const auto y =
            torch::tensor(std::vector<float>(episode.features().begin(), episode.features().end()))
                .view({kDevices, features});
        std::vector<torch::Tensor> all;
        for (std::int64_t d = 0; d < kDevices; ++d) {
          const auto at = static_cast<std::size_t>(d);
          all.push_back(parts[0].dot(y[d]) + parts[1].dot(a[at]) +
                        p["hidden_to_score"].dot(torch::relu(
                            parts[2] + ph[at] + torch::matmul(y[d], p["feature_to_hidden"]))));
        }
        scores = torch::stack(all);
        const auto at = static_cast<std::size_t>(device);
        a[at] = a[at] + parts[3];
        ph[at] = ph[at] + parts[4];
      }
      const torch::Tensor log = torch::log_softmax(scores, 0);
      EXPECT_NEAR(trajectory.place_log_probabilities[step], log[device].item<float>(), 2e-5);
      spread_ = std::max(
          spread_, std::abs(trajectory.place_log_probabilities[step] - std::log(1.0F / kDevices)));
      loss = loss - advantage * log[device] + entropy_weight * (log.exp() * log).sum();
      episode.place(trajectory.devices[step]);
      placement[v] = device;
    }
    return loss;
  }

  std::unique_ptr<Graph> graph_;
  std::unique_ptr<CostTable> costs_;
  Levels levels_;
  ModelConfig model_;
  std::unique_ptr<GraphTensors> tensors_;
  PolicyNetwork network_{nullptr};
  float spread_ = 0;
};

TEST_P(StepParityTest, LogProbabilitiesAndGradientsAreThoseOfLibTorch) {
  const HeadTensors heads = network_->forward(*tensors_, 0);
  const torch::Tensor step_weights = network_->step_weights();
  WeightSnapshot snapshot;
  snapshot.shape = network_->head_shape();
  snapshot.weights = {values_of(network_->feature_to_hidden()),
                      values_of(network_->hidden_to_score()), values_of(step_weights)};
  snapshot.tables.push_back({values_of(heads.select_scores), values_of(heads.place_rows),
                             values_of(heads.step_input), values_of(heads.step_select),
                             values_of(heads.step_place)});
  const Trajectory trajectory =
      test::sample_episode(*costs_, snapshot, 77, model_.select, model_.place);

  network_->zero_grad();
  const torch::Tensor reference = torch_loss(trajectory, 0.8F, 0.3F);
  EXPECT_GT(spread_, 0.05F) << "all decisions were uniform; the comparison would see nothing";
  reference.backward();
  std::map<std::string, std::vector<float>> expected;
  for (auto& [name, parameter] : named()) {
    if (!parameter.grad().defined()) continue;
    expected[name] = values_of(parameter.grad());
  }

  HeadGradient gradient(snapshot.shape, *costs_, levels_, model_.select, model_.place);
  HeadGradients ours;
  ours.reset(snapshot.shape, kOperations);
  const SelectHead head(snapshot.tables[0].select_scores);
  const auto statistics = gradient.add(trajectory, snapshot.tables[0], snapshot.weights, head,
                                       {.advantage = 0.8F, .entropy_weight = 0.3F}, ours);
  ASSERT_TRUE(statistics);
  EXPECT_NEAR(statistics->loss, reference.item<double>(), 1e-3);
  network_->zero_grad();
  const auto backward = [](const torch::Tensor& output, const std::vector<float>& values) {
    torch::autograd::backward({output}, {torch::tensor(values).view(output.sizes())}, true);
  };
  backward(heads.select_scores, ours.tables.select_scores);
  backward(heads.place_rows, ours.tables.place_rows);
  backward(heads.step_input, ours.tables.step_input);
  backward(heads.step_select, ours.tables.step_select);
  if (GetParam()) backward(heads.step_place, ours.tables.step_place);
  backward(step_weights, ours.weights.step);
  int compared = 0;
  for (auto& [name, parameter] : named()) {
    if (!expected.contains(name)) continue;
    std::vector<float> own = values_of(parameter.grad());
    if (name == "feature_to_hidden") own = ours.weights.feature_to_hidden;
    if (name == "hidden_to_score") own = ours.weights.hidden_to_score;
    ASSERT_EQ(own.size(), expected[name].size()) << name;
    float largest = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      EXPECT_NEAR(own[i], expected[name][i], 1e-4 + 1e-3 * std::abs(expected[name][i]))
          << name << " " << i;
      largest = std::max(largest, std::abs(own[i]));
    }
    if (largest > 1e-3F) ++compared;
  }
  // All but the term that is the same for all candidates, and what the other kind has alone.
  EXPECT_GE(compared, GetParam() ? 12 : 15);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StepParityTest, ::testing::Bool());

}  // namespace
}  // namespace doppler
