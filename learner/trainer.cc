#include "learner/trainer.h"

#include <cmath>
#include <map>

#include "common/check.h"
#include "common/log_probability_replay.h"
#include "learner/adam.h"
#include "learner/batch_gradient.h"
#include "learner/head_values.h"
#include "learner/named_tensors.h"
#include "learner/policy_network.h"
#include "learner/replay_heads.h"
#include "learner/replayers.h"

namespace doppler {

struct Trainer::Impl {
  Impl(const ModelConfig& model_config, const LearnerConfig& learner_config, Teacher teacher_policy,
       std::vector<TrainingGraph> training_graphs, std::uint64_t seed);

  LossTerm loss_term(const UpdateSettings& settings, std::size_t batch_size) const;
  std::vector<HeadTensors> encode();
  void imitate(const std::vector<Trajectory>& demonstrations, const UpdateSettings& settings,
               const ReplayHeads& heads);
  void backward_graph(const HeadTensors& heads, const HeadTables& table_gradients) const;
  void backward(const std::vector<HeadTensors>& heads, const torch::Tensor& step_weights);
  void step(const std::vector<HeadTensors>& heads, const torch::Tensor& step_weights,
            const UpdateSettings& settings, UpdateStatistics& statistics);

  ModelConfig model;
  LearnerConfig learner;
  Teacher teacher;
  std::vector<TrainingGraph> graphs;
  std::vector<GraphTensors> graph_tensors;
  PolicyNetwork network{nullptr};
  Adam adam;
  std::vector<Replayers> replayers;  // [threads]
  // [graphs], made when first asked for.
  std::vector<std::unique_ptr<LogProbabilityReplay>> self_tests;
  BatchGradient batch_gradient;
  std::vector<HeadGradients> gradients;  // [graphs], of the current update
};

Trainer::Impl::Impl(const ModelConfig& model_config, const LearnerConfig& learner_config,
                    Teacher teacher_policy, std::vector<TrainingGraph> training_graphs,
                    std::uint64_t seed)
    : model(model_config),
      learner(learner_config),
      teacher(teacher_policy),
      graphs(std::move(training_graphs)),
      self_tests(graphs.size()) {
  std::vector<std::int64_t> operation_counts;
  for (const TrainingGraph& graph : graphs) {
    graph_tensors.emplace_back(
        compute_graph_features(*graph.costs, *graph.levels, model.identity_features));
    operation_counts.push_back(static_cast<std::int64_t>(graph.costs->graph().operation_count()));
  }
  if (!model.operation_table) operation_counts.clear();
  network = PolicyNetwork(model, operation_counts, graphs.front().costs->device_count(), seed);
  for (const auto& item : network->named_parameters()) {
    const bool is_table = item.key().rfind("table_", 0) == 0;
    adam.add(item.key(), item.value(), is_table ? 1.0 : learner.encoder_learning_rate_factor);
  }
  const std::int64_t threads = std::max<std::int64_t>(1, learner.threads);
  for (std::int64_t t = 0; t < threads; ++t) {
    replayers.emplace_back(network->head_shape(), model, graphs);
  }
}

LossTerm Trainer::Impl::loss_term(const UpdateSettings& settings, std::size_t batch_size) const {
  LossTerm term;
  term.kind =
      settings.stage == Stage::kImitation ? LossKind::kImitation : LossKind::kPolicyGradient;
  term.weight = 1.0F / static_cast<float>(batch_size);
  term.entropy_weight = static_cast<float>(settings.entropy_weight);
  term.clip_ratio = static_cast<float>(learner.clip_ratio);
  term.teacher = teacher;
  return term;
}

// Of all graphs under the current weights.
std::vector<HeadTensors> Trainer::Impl::encode() {
  std::vector<HeadTensors> heads;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    heads.push_back(network->forward(graph_tensors[g], static_cast<std::int64_t>(g)));
  }
  return heads;
}

void Trainer::Impl::imitate(const std::vector<Trajectory>& demonstrations,
                            const UpdateSettings& settings, const ReplayHeads& heads) {
  if (settings.self_imitation_weight <= 0 || demonstrations.empty()) return;
  add_imitation(demonstrations, settings.self_imitation_weight, heads, replayers.front(),
                gradients);
}

void Trainer::Impl::backward_graph(const HeadTensors& heads,
                                   const HeadTables& table_gradients) const {
  std::vector<torch::Tensor> outputs;
  std::vector<torch::Tensor> output_gradients;
  const auto add = [&](const torch::Tensor& output, const std::vector<float>& gradient) {
    if (!output.defined() || !output.requires_grad()) return;
    outputs.push_back(output);
    output_gradients.push_back(from_vector(gradient, output.sizes()));
  };
  add(heads.select_scores, table_gradients.select_scores);
  add(heads.place_rows, table_gradients.place_rows);
  add(heads.step_input, table_gradients.step_input);
  add(heads.step_select, table_gradients.step_select);
  add(heads.step_place, table_gradients.step_place);
  torch::autograd::backward(outputs, output_gradients);
}

// From the gradients of tables and head weights to those of all parameters.
void Trainer::Impl::backward(const std::vector<HeadTensors>& heads,
                             const torch::Tensor& step_weights) {
  network->zero_grad();
  HeadWeights weight_gradients = gradients.front().weights;
  const auto add_to = [](std::vector<float>& sum, const std::vector<float>& other) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  };
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    backward_graph(heads[g], gradients[g].tables);
    if (g == 0) continue;
    const HeadWeights& others = gradients[g].weights;
    add_to(weight_gradients.step, others.step);
    add_to(weight_gradients.feature_to_hidden, others.feature_to_hidden);
    add_to(weight_gradients.hidden_to_score, others.hidden_to_score);
  }
  if (network->head_shape().step.used()) {
    torch::autograd::backward({step_weights},
                              {from_vector(weight_gradients.step, step_weights.sizes())});
  }
  network->feature_to_hidden().mutable_grad() =
      from_vector(weight_gradients.feature_to_hidden, network->feature_to_hidden().sizes());
  network->hidden_to_score().mutable_grad() =
      from_vector(weight_gradients.hidden_to_score, network->hidden_to_score().sizes());
}

// From `gradients` to new weights.
void Trainer::Impl::step(const std::vector<HeadTensors>& heads, const torch::Tensor& step_weights,
                         const UpdateSettings& settings, UpdateStatistics& statistics) {
  backward(heads, step_weights);
  statistics.gradient_norm = adam.limit_gradient(learner.gradient_norm_limit);
  // One step on a gradient that is not finite would spoil the weights for good.
  statistics.skipped = !std::isfinite(statistics.gradient_norm);
  if (!statistics.skipped) adam.step(settings.learning_rate);
}

Trainer::Trainer(const ModelConfig& model, const LearnerConfig& learner, Teacher teacher,
                 std::vector<TrainingGraph> graphs, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(model, learner, teacher, std::move(graphs), seed)) {}

Trainer::~Trainer() = default;

UpdateStatistics Trainer::update(const std::vector<Trajectory>& batch,
                                 const std::vector<Trajectory>& demonstrations,
                                 const UpdateSettings& settings, std::vector<bool>& invalid) {
  DP_CHECK(!batch.empty());
  Impl& impl = *impl_;
  const std::vector<float> advantages =
      batch_advantages(batch, settings.transfer_weight, impl.graphs, impl.replayers.front());
  const LossTerm term = impl.loss_term(settings, batch.size());
  UpdateStatistics statistics;
  for (std::int64_t epoch = 0; epoch < impl.learner.epochs; ++epoch) {
    const std::vector<HeadTensors> tensors = impl.encode();
    const torch::Tensor step_weights = impl.network->step_weights();
    const ReplayHeads heads(to_snapshot(impl.network, tensors, step_weights));
    const auto replays =
        impl.batch_gradient.sum(batch, advantages, term, heads, impl.replayers, impl.gradients);
    impl.imitate(demonstrations, settings, heads);
    if (epoch == 0) statistics = statistics_of(batch, replays, settings.version, invalid);
    impl.step(tensors, step_weights, settings, statistics);
    if (statistics.skipped) break;
  }
  return statistics;
}

UpdateStatistics Trainer::update(const std::vector<Trajectory>& batch,
                                 const std::vector<TrainingGroup>& groups,
                                 const std::vector<Trajectory>& demonstrations,
                                 const UpdateSettings& settings, std::vector<bool>& invalid) {
  DP_CHECK(!batch.empty());
  Impl& impl = *impl_;
  const std::vector<HeadTensors> tensors = impl.encode();
  const torch::Tensor step_weights = impl.network->step_weights();
  const ReplayHeads heads(to_snapshot(impl.network, tensors, step_weights));
  UpdateStatistics statistics =
      sum_groups(batch, groups, static_cast<std::size_t>(impl.learner.batch_episodes), heads,
                 impl.replayers.front(), impl.gradients, invalid);
  if (statistics.trained == 0) {
    statistics.skipped = true;
    return statistics;
  }
  impl.imitate(demonstrations, settings, heads);
  impl.step(tensors, step_weights, settings, statistics);
  return statistics;
}

std::optional<double> Trainer::log_probability_error(const Trajectory& trajectory,
                                                     const WeightSnapshot& snapshot) {
  Impl& impl = *impl_;
  const std::uint32_t g = trajectory.graph;
  if (g >= impl.graphs.size() || g >= snapshot.tables.size()) return std::nullopt;
  std::unique_ptr<LogProbabilityReplay>& test = impl.self_tests[g];
  if (!test) {
    test = std::make_unique<LogProbabilityReplay>(impl.network->head_shape(), *impl.graphs[g].costs,
                                                  impl.model.select, impl.model.place);
  }
  const SelectHead select_head(snapshot.tables[g].select_scores);
  const auto found = test->replay(trajectory, snapshot.tables[g], snapshot.weights, select_head);
  if (!found) return std::nullopt;
  return static_cast<double>(found->largest_log_probability_difference);
}

WeightSnapshot Trainer::snapshot(std::uint64_t version, std::uint32_t lineage) {
  torch::NoGradGuard no_grad;
  WeightSnapshot snapshot =
      to_snapshot(impl_->network, impl_->encode(), impl_->network->step_weights());
  snapshot.version = version;
  snapshot.lineage = lineage;
  return snapshot;
}

std::vector<NamedTensor> Trainer::parameters() const {
  std::vector<NamedTensor> result;
  for (const AdamSlot& slot : impl_->adam.slots()) {
    result.push_back(to_named(slot.name, slot.parameter));
  }
  return result;
}

std::vector<NamedTensor> Trainer::optimizer_state() const {
  return impl_->adam.state();
}

void Trainer::restore(const std::vector<NamedTensor>& parameters,
                      const std::vector<NamedTensor>& optimizer_state) {
  impl_->adam.restore(parameters, optimizer_state);
}

void Trainer::adopt(const Checkpoint& checkpoint) {
  // The number of the table of each of our graphs in the checkpoint.
  std::map<std::string, std::string> other_names;
  for (std::size_t g = 0; g < impl_->graphs.size(); ++g) {
    const std::uint64_t hash = impl_->graphs[g].costs->graph().content_hash();
    for (std::size_t h = 0; h < checkpoint.graphs.size(); ++h) {
      if (checkpoint.graphs[h].content_hash != hash) continue;
      for (const char* table : {"table_select_", "table_place_", "table_device_"}) {
        other_names[table + std::to_string(g)] = table + std::to_string(h);
      }
    }
  }
  std::vector<std::pair<torch::Tensor, const NamedTensor*>> copies;
  for (const AdamSlot& slot : impl_->adam.slots()) {
    const auto other = other_names.find(slot.name);
    const bool is_table = slot.name.starts_with("table_");
    const NamedTensor* from =
        find(checkpoint.parameters, other == other_names.end() ? slot.name : other->second);
    // A graph that is new, and a checkpoint of a model without tables.
    if (is_table && (other == other_names.end() || from == nullptr)) continue;
    // On another number of devices nothing is known of single ones.
    const bool of_devices = slot.name.starts_with("table_device_");
    if (of_devices && from->shape != slot.parameter.sizes().vec()) continue;
    check_fits(slot.name, slot.parameter, from);
    copies.emplace_back(slot.parameter, from);
  }
  for (const auto& [into, from] : copies) copy_into(into, *from);
}

}  // namespace doppler
