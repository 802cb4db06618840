#include "learner/trainer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <thread>

#include <ATen/Parallel.h>

#include "common/advantages.h"
#include "common/check.h"
#include "common/energy.h"
#include "common/error.h"
#include "common/head_gradient.h"
#include "common/log_probability_replay.h"
#include "common/symmetry.h"
#include "learner/adam.h"
#include "learner/named_tensors.h"
#include "learner/policy_network.h"

// Where LibTorch multiplies through OpenBLAS; null with another BLAS.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int count);

namespace doppler {
namespace {

// Gradients are summed within chunks of this many trajectories and then over chunks in order, so
// that the sum does not depend on how many threads there are.
constexpr std::size_t kChunkTrajectories = 8;

HeadTables to_tables(const HeadTensors& tensors) {
  return {.select_scores = to_vector(tensors.select_scores),
          .place_rows = to_vector(tensors.place_rows),
          .step_input = to_vector(tensors.step_input),
          .step_select = to_vector(tensors.step_select),
          .step_place = to_vector(tensors.step_place)};
}

HeadWeights to_weights(PolicyNetwork& network, const torch::Tensor& step) {
  return {.feature_to_hidden = to_vector(network->feature_to_hidden()),
          .hidden_to_score = to_vector(network->hidden_to_score()),
          .step = to_vector(step)};
}

GraphFeatures features_of(const TrainingGraph& graph, const ModelConfig& model) {
  return compute_graph_features(*graph.costs, *graph.levels, symmetry_classes(graph.costs->graph()),
                                model.identity_features);
}

// Adds up what replays found, towards the statistics of an update.
class ReplaySum {
 public:
  void add(const ReplayStatistics& replay, std::size_t episodes, std::size_t steps) {
    sum_.add(replay);
    episodes_ += episodes;
    steps_ += steps;
  }
  // Of a batch of so many episodes; those that were not added are invalid.
  UpdateStatistics statistics(std::size_t batch_size) const {
    UpdateStatistics result;
    result.trained = episodes_;
    result.invalid = batch_size - episodes_;
    result.largest_log_probability_difference =
        static_cast<double>(sum_.largest_log_probability_difference);
    if (sum_.ratio_square_sum > 0) {
      result.effective_sample_fraction =
          sum_.ratio_sum * sum_.ratio_sum /
          (static_cast<double>(sum_.ratio_count) * sum_.ratio_square_sum);
    }
    if (episodes_ == 0) return result;
    const auto steps = static_cast<double>(steps_);
    result.loss = sum_.loss / static_cast<double>(episodes_);
    result.select_entropy = sum_.select_entropy / steps;
    result.place_entropy = sum_.place_entropy / steps;
    // Two decisions a step.
    result.clipped_fraction = static_cast<double>(sum_.clipped_decisions) / (2 * steps);
    return result;
  }

 private:
  ReplayStatistics sum_;
  std::size_t episodes_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace

struct Trainer::Impl {
  Impl(const ModelConfig& model_config, const LearnerConfig& learner_config, Teacher teacher_policy,
       std::vector<TrainingGraph> training_graphs, std::uint64_t seed);

  void normalise_advantages(const std::vector<Trajectory>& batch, double transfer_weight);
  std::vector<HeadTensors> encode();
  void backward(const std::vector<HeadTensors>& heads);
  void backward_graph(const HeadTensors& heads, const HeadTables& gradients) const;
  UpdateStatistics statistics_of(const std::vector<Trajectory>& batch,
                                 const UpdateSettings& settings, std::vector<bool>& invalid) const;
  UpdateStatistics sum_groups(const std::vector<Trajectory>& batch,
                              const std::vector<TrainingGroup>& groups, std::vector<bool>& invalid);
  void step(const std::vector<HeadTensors>& heads, const UpdateSettings& settings,
            UpdateStatistics& statistics);
  void accumulate(const std::vector<Trajectory>& batch,
                  const std::vector<Trajectory>& demonstrations, const UpdateSettings& settings);
  void imitate(const std::vector<Trajectory>& demonstrations, double weight,
               std::vector<HeadGradients>& gradients);
  HeadGradient& workspace(std::vector<std::unique_ptr<HeadGradient>>& workspaces, std::uint32_t g);
  void accumulate_chunk(const std::vector<Trajectory>& batch, const UpdateSettings& settings,
                        std::size_t chunk, std::vector<std::unique_ptr<HeadGradient>>& workspaces);

  ModelConfig model;
  LearnerConfig learner;
  Teacher teacher;
  std::vector<TrainingGraph> graphs;
  std::vector<GraphTensors> graph_tensors;
  PolicyNetwork network{nullptr};
  Adam adam;

  // Of the current update.
  HeadWeights weights;
  torch::Tensor step_weights;                            // with their gradients
  std::vector<HeadTables> tables;                        // [graphs]
  std::vector<SelectHead> select_heads;                  // [graphs]
  std::vector<float> advantages;                         // [batch]
  std::vector<std::optional<ReplayStatistics>> replays;  // [batch]
  // [threads][graphs]: workspaces are created on first use.
  std::vector<std::vector<std::unique_ptr<HeadGradient>>> thread_workspaces;
  std::vector<std::vector<HeadGradients>> chunk_gradients;  // [chunks][graphs]
};

Trainer::Impl::Impl(const ModelConfig& model_config, const LearnerConfig& learner_config,
                    Teacher teacher_policy, std::vector<TrainingGraph> training_graphs,
                    std::uint64_t seed)
    : model(model_config),
      learner(learner_config),
      teacher(teacher_policy),
      graphs(std::move(training_graphs)) {
  std::vector<std::int64_t> operation_counts;
  for (const TrainingGraph& graph : graphs) {
    graph_tensors.emplace_back(features_of(graph, model));
    operation_counts.push_back(static_cast<std::int64_t>(graph.costs->graph().operation_count()));
  }
  if (!model.operation_table) operation_counts.clear();
  network = PolicyNetwork(model, operation_counts, graphs.front().costs->device_count(), seed);
  for (const auto& item : network->named_parameters()) {
    const bool is_table = item.key().rfind("table_", 0) == 0;
    adam.add(item.key(), item.value(), is_table ? 1.0 : learner.encoder_learning_rate_factor);
  }
  thread_workspaces.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, learner.threads)));
  for (auto& workspaces : thread_workspaces) workspaces.resize(graphs.size());
}

void Trainer::Impl::normalise_advantages(const std::vector<Trajectory>& batch,
                                         double transfer_weight) {
  advantages.assign(batch.size(), 0.0F);
  for (std::uint32_t g = 0; g < graphs.size(); ++g) {
    std::vector<SimTime> energies;
    std::vector<double> noise;
    for (const Trajectory& trajectory : batch) {
      if (trajectory.graph != g) continue;
      // What a worker sends may be anything.
      const bool sound =
          transfer_weight > 0 && workspace(thread_workspaces[0], g).replays(trajectory);
      energies.push_back(sound ? energy(*graphs[g].costs, trajectory, transfer_weight)
                               : trajectory.makespan);
      noise.push_back(noise_variance(trajectory));
    }
    std::vector<float> normalised = normalised_advantages(energies);
    shrink_by_noise(energies, noise, normalised);
    std::size_t next = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].graph == g) advantages[i] = normalised[next++];
    }
  }
}

void Trainer::Impl::accumulate_chunk(const std::vector<Trajectory>& batch,
                                     const UpdateSettings& settings, std::size_t chunk,
                                     std::vector<std::unique_ptr<HeadGradient>>& workspaces) {
  const std::size_t begin = chunk * kChunkTrajectories;
  const std::size_t end = std::min(batch.size(), begin + kChunkTrajectories);
  std::vector<HeadGradients>& gradients = chunk_gradients[chunk];
  gradients.resize(graphs.size());
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    gradients[g].reset(network->head_shape(), tables[g].select_scores.size());
  }
  LossTerm term;
  term.kind =
      settings.stage == Stage::kImitation ? LossKind::kImitation : LossKind::kPolicyGradient;
  term.weight = 1.0F / static_cast<float>(batch.size());
  term.entropy_weight = static_cast<float>(settings.entropy_weight);
  term.clip_ratio = static_cast<float>(learner.clip_ratio);
  term.teacher = teacher;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t g = batch[i].graph;
    if (g >= graphs.size()) continue;
    term.advantage = advantages[i];
    replays[i] = workspace(workspaces, g)
                     .add(batch[i], tables[g], weights, select_heads[g], term, gradients[g]);
  }
}

HeadGradient& Trainer::Impl::workspace(std::vector<std::unique_ptr<HeadGradient>>& workspaces,
                                       std::uint32_t g) {
  if (!workspaces[g]) {
    workspaces[g] = std::make_unique<HeadGradient>(network->head_shape(), *graphs[g].costs,
                                                   *graphs[g].levels, model.select, model.place);
  }
  return *workspaces[g];
}

void Trainer::Impl::imitate(const std::vector<Trajectory>& demonstrations, double weight,
                            std::vector<HeadGradients>& gradients) {
  LossTerm term;
  term.kind = LossKind::kImitation;
  term.teacher = Teacher::kBest;  // the decisions themselves
  term.weight = static_cast<float>(weight / static_cast<double>(demonstrations.size()));
  for (const Trajectory& demonstration : demonstrations) {
    const std::uint32_t g = demonstration.graph;
    workspace(thread_workspaces[0], g)
        .add(demonstration, tables[g], weights, select_heads[g], term, gradients[g]);
  }
}

void Trainer::Impl::accumulate(const std::vector<Trajectory>& batch,
                               const std::vector<Trajectory>& demonstrations,
                               const UpdateSettings& settings) {
  replays.assign(batch.size(), std::nullopt);
  const std::size_t chunk_count = (batch.size() + kChunkTrajectories - 1) / kChunkTrajectories;
  chunk_gradients.resize(std::max(chunk_gradients.size(), chunk_count));
  std::atomic<std::size_t> next_chunk{0};
  const auto work = [&](std::size_t thread) {
    for (std::size_t chunk = next_chunk++; chunk < chunk_count; chunk = next_chunk++) {
      accumulate_chunk(batch, settings, chunk, thread_workspaces[thread]);
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t t = 1; t < thread_workspaces.size(); ++t) helpers.emplace_back(work, t);
  work(0);
  helpers.clear();
  for (std::size_t chunk = 1; chunk < chunk_count; ++chunk) {
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      chunk_gradients[0][g].add(chunk_gradients[chunk][g]);
    }
  }
  if (settings.self_imitation_weight > 0 && !demonstrations.empty()) {
    imitate(demonstrations, settings.self_imitation_weight, chunk_gradients[0]);
  }
}

// The tables of all graphs under the current weights.
std::vector<HeadTensors> Trainer::Impl::encode() {
  std::vector<HeadTensors> heads;
  tables.clear();
  select_heads.clear();
  tables.reserve(graphs.size());
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    heads.push_back(network->forward(graph_tensors[g], static_cast<std::int64_t>(g)));
    tables.push_back(to_tables(heads.back()));
    select_heads.emplace_back(tables.back().select_scores);
  }
  step_weights = network->step_weights();
  weights = to_weights(network, step_weights);
  return heads;
}

void Trainer::Impl::backward_graph(const HeadTensors& heads, const HeadTables& gradients) const {
  std::vector<torch::Tensor> outputs;
  std::vector<torch::Tensor> output_gradients;
  const auto add = [&](const torch::Tensor& output, const std::vector<float>& gradient) {
    if (!output.defined() || !output.requires_grad()) return;
    outputs.push_back(output);
    output_gradients.push_back(from_vector(gradient, output.sizes()));
  };
  add(heads.select_scores, gradients.select_scores);
  add(heads.place_rows, gradients.place_rows);
  add(heads.step_input, gradients.step_input);
  add(heads.step_select, gradients.step_select);
  add(heads.step_place, gradients.step_place);
  torch::autograd::backward(outputs, output_gradients);
}

// From the gradients of tables and head weights to those of all parameters.
void Trainer::Impl::backward(const std::vector<HeadTensors>& heads) {
  network->zero_grad();
  HeadWeights weight_gradients = chunk_gradients[0][0].weights;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const HeadGradients& gradients = chunk_gradients[0][g];
    backward_graph(heads[g], gradients.tables);
    if (g == 0) continue;
    for (std::size_t i = 0; i < weight_gradients.step.size(); ++i) {
      weight_gradients.step[i] += gradients.weights.step[i];
    }
    for (std::size_t i = 0; i < weight_gradients.feature_to_hidden.size(); ++i) {
      weight_gradients.feature_to_hidden[i] += gradients.weights.feature_to_hidden[i];
    }
    for (std::size_t i = 0; i < weight_gradients.hidden_to_score.size(); ++i) {
      weight_gradients.hidden_to_score[i] += gradients.weights.hidden_to_score[i];
    }
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

UpdateStatistics Trainer::Impl::statistics_of(const std::vector<Trajectory>& batch,
                                              const UpdateSettings& settings,
                                              std::vector<bool>& invalid) const {
  invalid.assign(batch.size(), false);
  ReplaySum sum;
  double error = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!replays[i]) {
      invalid[i] = true;
      continue;
    }
    sum.add(*replays[i], 1, batch[i].operations.size());
    if (batch[i].weight_version == settings.version) {
      error = std::max(error, static_cast<double>(replays[i]->largest_log_probability_difference));
    }
  }
  UpdateStatistics statistics = sum.statistics(batch.size());
  statistics.log_probability_error = error;
  return statistics;
}

// The gradient of each graph is the sum over its groups in order, into chunk_gradients[0].
UpdateStatistics Trainer::Impl::sum_groups(const std::vector<Trajectory>& batch,
                                           const std::vector<TrainingGroup>& groups,
                                           std::vector<bool>& invalid) {
  const HeadShape& shape = network->head_shape();
  chunk_gradients.resize(std::max<std::size_t>(chunk_gradients.size(), 1));
  std::vector<HeadGradients>& gradients = chunk_gradients[0];
  gradients.resize(graphs.size());
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    gradients[g].reset(shape, tables[g].select_scores.size());
  }
  invalid.assign(batch.size(), true);
  ReplaySum sum;
  for (const TrainingGroup& group : groups) {
    DP_CHECK(group.first + group.count <= batch.size());
    if (group.count == 0 || batch[group.first].graph >= graphs.size()) continue;
    const std::uint32_t g = batch[group.first].graph;
    if (!is_sound(group.gradient, shape, tables[g].select_scores.size())) continue;
    const std::span trajectories(batch.data() + group.first, group.count);
    HeadGradient& replay = workspace(thread_workspaces[0], g);
    if (!std::all_of(trajectories.begin(), trajectories.end(),
                     [&](const Trajectory& t) { return t.graph == g && replay.replays(t); })) {
      continue;
    }
    std::fill_n(invalid.begin() + static_cast<std::ptrdiff_t>(group.first), group.count, false);
    gradients[g].add(group.gradient.sum);
    sum.add(group.gradient.statistics, group.count,
            group.count * trajectories.front().operations.size());
  }
  // Episodes were weighed as in a full batch; one that lost tickets is smaller.
  const auto full = static_cast<std::size_t>(learner.batch_episodes);
  if (batch.size() != full) {
    const float factor = static_cast<float>(full) / static_cast<float>(batch.size());
    for (HeadGradients& gradient : gradients) gradient.scale(factor);
  }
  return sum.statistics(batch.size());
}

// From the gradients in chunk_gradients[0] to new weights.
void Trainer::Impl::step(const std::vector<HeadTensors>& heads, const UpdateSettings& settings,
                         UpdateStatistics& statistics) {
  backward(heads);
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
  impl.normalise_advantages(batch, settings.transfer_weight);
  UpdateStatistics statistics;
  for (std::int64_t epoch = 0; epoch < impl.learner.epochs; ++epoch) {
    const std::vector<HeadTensors> heads = impl.encode();
    impl.accumulate(batch, demonstrations, settings);
    if (epoch == 0) statistics = impl.statistics_of(batch, settings, invalid);
    impl.step(heads, settings, statistics);
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
  const std::vector<HeadTensors> heads = impl.encode();
  UpdateStatistics statistics = impl.sum_groups(batch, groups, invalid);
  if (statistics.trained == 0) {
    statistics.skipped = true;
    return statistics;
  }
  if (settings.self_imitation_weight > 0 && !demonstrations.empty()) {
    impl.imitate(demonstrations, settings.self_imitation_weight, impl.chunk_gradients[0]);
  }
  impl.step(heads, settings, statistics);
  return statistics;
}

std::optional<double> Trainer::log_probability_error(const Trajectory& trajectory,
                                                     const WeightSnapshot& snapshot) {
  const std::uint32_t g = trajectory.graph;
  if (g >= impl_->graphs.size() || g >= snapshot.tables.size()) return std::nullopt;
  const SelectHead select_head(snapshot.tables[g].select_scores);
  LogProbabilityReplay replay(impl_->network->head_shape(), *impl_->graphs[g].costs,
                              impl_->model.select, impl_->model.place);
  const auto found = replay.replay(trajectory, snapshot.tables[g], snapshot.weights, select_head);
  if (!found) return std::nullopt;
  return static_cast<double>(found->largest_log_probability_difference);
}

WeightSnapshot Trainer::snapshot(std::uint64_t version, std::uint32_t lineage) {
  torch::NoGradGuard no_grad;
  WeightSnapshot snapshot;
  snapshot.version = version;
  snapshot.lineage = lineage;
  snapshot.shape = impl_->network->head_shape();
  snapshot.weights = to_weights(impl_->network, impl_->network->step_weights());
  for (std::size_t g = 0; g < impl_->graphs.size(); ++g) {
    snapshot.tables.push_back(
        to_tables(impl_->network->forward(impl_->graph_tensors[g], static_cast<std::int64_t>(g))));
  }
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
      for (const char* table : {"table_select_", "table_place_"}) {
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
    check_fits(slot.name, slot.parameter, from);
    copies.emplace_back(slot.parameter, from);
  }
  for (const auto& [into, from] : copies) copy_into(into, *from);
}

WeightSnapshot encode_graph(const ModelConfig& model, const std::vector<NamedTensor>& parameters,
                            const TrainingGraph& graph, std::int64_t table) {
  torch::NoGradGuard no_grad;
  std::vector<std::int64_t> operation_counts;
  for (const NamedTensor& tensor : parameters) {
    if (tensor.name.rfind("table_select_", 0) == 0) operation_counts.push_back(tensor.shape[0]);
  }
  PolicyNetwork network(model, operation_counts, graph.costs->device_count(), 0);
  for (const auto& item : network->named_parameters()) {
    const NamedTensor* from = find(parameters, item.key());
    check_fits(item.key(), item.value(), from);
    copy_into(item.value(), *from);
  }
  const GraphTensors tensors(features_of(graph, model));
  WeightSnapshot snapshot;
  snapshot.shape = network->head_shape();
  snapshot.weights = to_weights(network, network->step_weights());
  snapshot.tables.push_back(to_tables(network->forward(tensors, table)));
  return snapshot;
}

void limit_torch_threads(int count) {
  // OpenBLAS keeps a pool of its own, whose idle threads spin on cores that workers need.
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(count);
  at::set_num_threads(count);
  at::set_num_interop_threads(1);
}

}  // namespace doppler
