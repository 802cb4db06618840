#include "common/head_gradient.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "common/vec8.h"

namespace doppler {
namespace {

void add_to(std::vector<float>& sum, const std::vector<float>& other) {
  DP_CHECK_EQ(sum.size(), other.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
}

struct DecisionLoss {
  float chosen_coefficient = 0;  // d loss / d log pi(chosen)
  float value = 0;
};

// A punished decision that became more probable since it was taken may have any ratio; beyond this
// one it teaches no more, since a few such decisions would outweigh, or overflow, all others.
constexpr float kLargestPunishedRatio = 10;

// Of the clipped surrogate: its gradient is that of ratio * advantage, or nothing where the clip
// holds.
DecisionLoss surrogate(float log_probability, float behaviour_log_probability, const LossTerm& term,
                       ReplayStatistics& statistics) {
  if (term.clip_ratio <= 0) return {-term.advantage, -term.advantage * log_probability};
  const float ratio = std::exp(log_probability - behaviour_log_probability);
  statistics.ratio_sum += static_cast<double>(ratio);
  statistics.ratio_square_sum += static_cast<double>(ratio) * static_cast<double>(ratio);
  ++statistics.ratio_count;
  const float least = term.advantage > 0 ? 0.0F : 1.0F - term.clip_ratio;
  const float largest = term.advantage > 0
                            ? 1.0F + term.clip_ratio
                            : std::max(1.0F + term.clip_ratio, kLargestPunishedRatio);
  if (ratio < least || ratio > largest) {
    ++statistics.clipped_decisions;
    return {0.0F, -term.advantage * std::clamp(ratio, least, largest)};
  }
  return {-term.advantage * ratio, -term.advantage * ratio};
}

}  // namespace

void HeadGradients::reset(const HeadShape& shape, std::size_t operation_count) {
  tables.select_scores.assign(operation_count, 0.0F);
  tables.place_rows.assign(operation_count * shape.row_width(), 0.0F);
  weights.feature_to_hidden.assign(kPlaceFeatureCount * shape.place_hidden, 0.0F);
  weights.hidden_to_score.assign(shape.place_hidden, 0.0F);
  weights.step.assign(shape.step.weight_count(shape.row_width()), 0.0F);
  tables.step_input.assign(operation_count * shape.step.width, 0.0F);
  tables.step_select.assign(operation_count * shape.step.width, 0.0F);
  tables.step_place.assign(shape.step.pools ? operation_count * shape.step.width : 0, 0.0F);
}

void HeadGradients::add(const HeadGradients& other) {
  add_to(tables.select_scores, other.tables.select_scores);
  add_to(tables.place_rows, other.tables.place_rows);
  add_to(weights.feature_to_hidden, other.weights.feature_to_hidden);
  add_to(weights.hidden_to_score, other.weights.hidden_to_score);
  add_to(weights.step, other.weights.step);
  add_to(tables.step_input, other.tables.step_input);
  add_to(tables.step_select, other.tables.step_select);
  add_to(tables.step_place, other.tables.step_place);
}

void HeadGradients::scale(float factor) {
  for (auto* values : {&tables.select_scores, &tables.place_rows, &weights.feature_to_hidden,
                       &weights.hidden_to_score, &weights.step, &tables.step_input,
                       &tables.step_select, &tables.step_place}) {
    for (float& value : *values) value *= factor;
  }
}

void ReplayStatistics::add(const ReplayStatistics& other) {
  select_log_probability += other.select_log_probability;
  place_log_probability += other.place_log_probability;
  select_entropy += other.select_entropy;
  place_entropy += other.place_entropy;
  loss += other.loss;
  clipped_decisions += other.clipped_decisions;
  ratio_sum += other.ratio_sum;
  ratio_square_sum += other.ratio_square_sum;
  ratio_count += other.ratio_count;
  largest_log_probability_difference =
      std::max(largest_log_probability_difference, other.largest_log_probability_difference);
}

HeadGradient::HeadGradient(const HeadShape& shape, const CostTable& costs, const Levels& levels,
                           SelectPolicy select_policy, PlacePolicy place_policy)
    : shape_(shape),
      costs_(&costs),
      levels_(&levels),
      select_policy_(select_policy),
      place_policy_(place_policy),
      devices_(static_cast<std::size_t>(costs.device_count())),
      episode_(costs),
      place_head_(shape, devices_) {
  const std::size_t steps = costs.graph().operation_count();
  looks_.reserve(steps);
  step_looks_.resize(steps + 1);
  features_.resize(steps * devices_ * kPlaceFeatureCount);
  aggregates_.resize(steps * devices_ * shape.contribution_width());
  score_gradients_.resize(steps * devices_);
  hidden_.resize(steps * devices_ * shape.place_hidden);
  joint_scores_.resize(steps);
  scores_.resize(devices_);
  probabilities_.resize(std::max(steps, devices_));
  log_probabilities_.resize(steps);
  targets_.resize(std::max(steps, devices_));
  aggregate_gradients_.resize(devices_ * shape.contribution_width());
  hidden_gradients_.resize(devices_ * 8);
  if (!shape.step.used()) return;
  step_encoder_ = std::make_unique<StepEncoder>(shape, costs.graph(), levels, true);
  step_tables_.select_scores.resize(steps);
  step_tables_.place_rows.resize(steps * shape.row_width());
}

bool HeadGradient::replays(const Trajectory& trajectory) {
  const std::size_t steps = costs_->graph().operation_count();
  if (trajectory.operations.size() != steps || trajectory.devices.size() != steps ||
      trajectory.select_log_probabilities.size() != steps ||
      trajectory.place_log_probabilities.size() != steps) {
    return false;
  }
  // Each operation once, each after its predecessors.
  std::vector<float>& placed = targets_;
  std::fill(placed.begin(), placed.begin() + static_cast<std::ptrdiff_t>(steps), 0.0F);
  for (std::size_t i = 0; i < steps; ++i) {
    const OperationId operation = trajectory.operations[i];
    const DeviceId device = trajectory.devices[i];
    if (operation.value() < 0 || operation.index() >= steps || placed[operation.index()] != 0) {
      return false;
    }
    if (device.value() < 0 || device.index() >= devices_) return false;
    if (!costs_->allowed(operation, device)) return false;
    for (OperationId predecessor : costs_->graph().predecessors(operation)) {
      if (placed[predecessor.index()] == 0) return false;
    }
    placed[operation.index()] = 1;
  }
  return true;
}

std::optional<ReplayStatistics> HeadGradient::add(const Trajectory& trajectory,
                                                  const HeadTables& tables,
                                                  const HeadWeights& weights,
                                                  const SelectHead& select_head,
                                                  const LossTerm& term, HeadGradients& gradients) {
  if (!replays(trajectory)) return std::nullopt;
  if (!step_encoder_) {
    return replay_with_gradient(trajectory, tables, weights, select_head, term, gradients);
  }
  step_gradients_.reset(shape_, trajectory.operations.size());
  step_score_gradients_.clear();
  step_encoder_->reset(tables, weights);
  const ReplayStatistics statistics =
      replay_with_gradient(trajectory, step_tables_, weights, select_head, term, step_gradients_);
  step_encoder_->backward(step_score_gradients_, step_gradients_);
  gradients.add(step_gradients_);
  return statistics;
}

ReplayStatistics HeadGradient::replay_with_gradient(
    const Trajectory& trajectory, const HeadTables& tables, const HeadWeights& weights,
    const SelectHead& select_head, const LossTerm& term, HeadGradients& gradients) {
  ReplayStatistics statistics;
  episode_.reset();
  place_head_.reset(tables, weights);
  looks_.clear();
  const bool places = place_policy_ != PlacePolicy::kEarliestStart;
  const std::size_t aggregate_slice = devices_ * shape_.contribution_width();
  for (std::size_t step = 0; step < trajectory.operations.size(); ++step) {
    const OperationId operation = trajectory.operations[step];
    step_looks_[step] = looks_.size();
    if (places) {
      const auto aggregates = place_head_.aggregates();
      std::copy(aggregates.begin(), aggregates.end(),
                aggregates_.begin() + static_cast<std::ptrdiff_t>(step * aggregate_slice));
    }
    if (select_policy_ == SelectPolicy::kLearned && step_encoder_) {
      replay_step_select(trajectory, step, term, gradients, statistics);
    } else if (select_policy_ == SelectPolicy::kLearned) {
      replay_select(trajectory, step, select_head, term, gradients, statistics);
    } else if (select_policy_ == SelectPolicy::kJoint) {
      replay_joint_select(trajectory, step, tables, term, gradients, statistics);
    }
    if (step_encoder_) {
      if (select_policy_ != SelectPolicy::kLearned) step_encoder_->mark(operation);
      const std::size_t row_width = shape_.row_width();
      const std::span rows(step_tables_.place_rows);
      if (places) {
        step_encoder_->place_row(operation, rows.subspan(operation.index() * row_width, row_width));
      }
      step_encoder_->place(operation, trajectory.devices[step]);
    }
    if (places) {
      replay_place(trajectory, step, look_at(operation, step_looks_[step]), term, statistics);
      place_head_.add(operation, trajectory.devices[step]);
    }
    episode_.select(operation);
    episode_.place(trajectory.devices[step]);
  }
  step_looks_[trajectory.operations.size()] = looks_.size();
  if (places) backward_place(trajectory, tables, weights, gradients);
  return statistics;
}

std::optional<ReplayStatistics> HeadGradient::replay(const Trajectory& trajectory,
                                                     const HeadTables& tables,
                                                     const HeadWeights& weights,
                                                     const SelectHead& select_head) {
  DP_CHECK(!step_encoder_);
  if (!replays(trajectory)) return std::nullopt;
  ReplayStatistics statistics;
  episode_.reset();
  place_head_.reset(tables, weights);
  const auto compare = [&](float found, float behaviour) {
    statistics.largest_log_probability_difference =
        std::max(statistics.largest_log_probability_difference, std::abs(found - behaviour));
  };
  for (std::size_t step = 0; step < trajectory.operations.size(); ++step) {
    const OperationId operation = trajectory.operations[step];
    const auto candidates = episode_.candidates();
    looks_.clear();
    float log_probability = 0;
    if (select_policy_ == SelectPolicy::kLearned) {
      log_probability = select_head.log_probability(operation, select_head.sum(candidates));
    } else if (select_policy_ == SelectPolicy::kJoint) {
      const std::span probabilities(probabilities_.data(), devices_);
      std::size_t chosen = 0;
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        look_at(candidates[c], 0);
        joint_scores_[c] =
            tables.select_scores[candidates[c].index()] + softmax(scores_, probabilities);
        if (candidates[c] == operation) chosen = c;
      }
      const std::span scores(joint_scores_.data(), candidates.size());
      log_probability =
          scores[chosen] - softmax(scores, std::span(probabilities_.data(), candidates.size()));
    }
    if (select_policy_ != SelectPolicy::kCriticalPath) {
      statistics.select_log_probability += static_cast<double>(log_probability);
      if (candidates.size() > 1)
        compare(log_probability, trajectory.select_log_probabilities[step]);
    }
    if (place_policy_ == PlacePolicy::kEarliestStart) {
      episode_.select(operation);
    } else {
      look_at(operation, 0);
      const float placed = scores_[trajectory.devices[step].index()] -
                           softmax(scores_, std::span(probabilities_.data(), devices_));
      statistics.place_log_probability += static_cast<double>(placed);
      compare(placed, trajectory.place_log_probabilities[step]);
      place_head_.add(operation, trajectory.devices[step]);
    }
    episode_.place(trajectory.devices[step]);
  }
  return statistics;
}

// Scores the operation on all devices, into scores_, and keeps what the reverse pass needs. An
// operation that was looked at in this step already keeps its place.
std::size_t HeadGradient::look_at(OperationId operation, std::size_t first_look) {
  episode_.select(operation);
  std::size_t look = first_look;
  while (look < looks_.size() && looks_[look] != operation) ++look;
  const std::size_t feature_slice = devices_ * kPlaceFeatureCount;
  const auto features = episode_.features();
  if (look == looks_.size()) {
    looks_.push_back(operation);
    if (features_.size() < looks_.size() * feature_slice) {  // joint policies only
      features_.resize(2 * looks_.size() * feature_slice);
      hidden_.resize(2 * looks_.size() * devices_ * shape_.place_hidden);
      score_gradients_.resize(2 * looks_.size() * devices_);
    }
    std::copy(features.begin(), features.end(),
              features_.begin() + static_cast<std::ptrdiff_t>(look * feature_slice));
    std::fill_n(score_gradients_.begin() + static_cast<std::ptrdiff_t>(look * devices_), devices_,
                0.0F);
  }
  place_head_.score(operation, features, episode_.used_features(), scores_,
                    hidden_.data() + look * devices_ * shape_.place_hidden);
  mask_scores(episode_, scores_);
  return look;
}

// The gradient of one choice among candidates with respect to their scores: add(c, gradient).
// probabilities_ and log_probabilities_ hold those of all candidates.
template <typename Add>
void HeadGradient::select_gradient(const Trajectory& trajectory, std::size_t step,
                                   const LossTerm& term, const Add& add,
                                   ReplayStatistics& statistics) {
  const auto candidates = episode_.candidates();
  const OperationId chosen = trajectory.operations[step];
  const auto chosen_at = static_cast<std::size_t>(
      std::find(candidates.begin(), candidates.end(), chosen) - candidates.begin());
  const std::span probabilities(probabilities_.data(), candidates.size());
  const std::span log_probabilities(log_probabilities_.data(), candidates.size());
  float entropy = 0;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (probabilities[c] > 0) entropy -= probabilities[c] * log_probabilities[c];
  }
  statistics.select_entropy += static_cast<double>(entropy);

  if (term.kind == LossKind::kImitation) {
    const std::span targets(targets_.data(), candidates.size());
    std::fill(targets.begin(), targets.end(), 0.0F);
    if (term.teacher == Teacher::kCriticalPath) {
      SimTime largest(-1);
      for (OperationId candidate : candidates) {
        largest = std::max(largest, levels_->bottom_level[candidate]);
      }
      float count = 0;
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        targets[c] = levels_->bottom_level[candidates[c]] == largest ? 1.0F : 0.0F;
        count += targets[c];
      }
      for (float& target : targets) target /= count;
    } else {
      targets[chosen_at] = 1.0F;
    }
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (targets[c] > 0) {
        statistics.loss -= static_cast<double>(targets[c] * log_probabilities[c]);
      }
      add(c, term.weight * (probabilities[c] - targets[c]));
    }
    return;
  }

  const float chosen_log_probability = log_probabilities[chosen_at];
  const float behaviour = trajectory.select_log_probabilities[step];
  statistics.largest_log_probability_difference = std::max(
      statistics.largest_log_probability_difference, std::abs(chosen_log_probability - behaviour));
  const DecisionLoss loss = surrogate(chosen_log_probability, behaviour, term, statistics);
  statistics.loss += static_cast<double>(loss.value - term.entropy_weight * entropy);
  const float coefficient = term.weight * loss.chosen_coefficient;
  const float bonus = term.weight * term.entropy_weight;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const float p = probabilities[c];
    float gradient = -coefficient * p;
    if (p > 0) gradient += bonus * p * (log_probabilities[c] + entropy);
    if (c == chosen_at) gradient += coefficient;
    add(c, gradient);
  }
}

void HeadGradient::replay_select(const Trajectory& trajectory, std::size_t step,
                                 const SelectHead& select_head, const LossTerm& term,
                                 HeadGradients& gradients, ReplayStatistics& statistics) {
  const auto candidates = episode_.candidates();
  const SelectHead::Sum sum = select_head.sum(candidates);
  const double log_total = std::log(sum.total);
  statistics.select_log_probability +=
      static_cast<double>(select_head.log_probability(trajectory.operations[step], sum, log_total));
  if (candidates.size() == 1) return;  // no decision, no gradient
  const double per_total = 1.0 / sum.total;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    // Weights may lie far below what a float holds, their shares do not.
    probabilities_[c] = static_cast<float>(select_head.weight(candidates[c], sum) * per_total);
    log_probabilities_[c] = select_head.log_probability(candidates[c], sum, log_total);
  }
  select_gradient(
      trajectory, step, term,
      [&](std::size_t c, float gradient) {
        gradients.tables.select_scores[candidates[c].index()] += gradient;
      },
      statistics);
}

void HeadGradient::replay_step_select(const Trajectory& trajectory, std::size_t step,
                                      const LossTerm& term, HeadGradients& gradients,
                                      ReplayStatistics& statistics) {
  const auto candidates = episode_.candidates();
  if (candidates.size() == 1) return;  // no decision: probability 1, and no gradient
  const std::span scores(joint_scores_.data(), candidates.size());
  step_encoder_->select_scores(candidates, scores);
  const float log_total = softmax(scores, std::span(probabilities_.data(), candidates.size()));
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    log_probabilities_[c] = scores[c] - log_total;
    if (candidates[c] != trajectory.operations[step]) continue;
    statistics.select_log_probability += static_cast<double>(log_probabilities_[c]);
  }
  select_gradient(
      trajectory, step, term,
      [&](std::size_t c, float gradient) {
        gradients.tables.select_scores[candidates[c].index()] += gradient;
        step_score_gradients_.push_back(gradient);
      },
      statistics);
}

// One softmax over all pairs of a candidate and a device, with scores s(v) + f(v, d), is SEL with
// scores s(v) + log(sum over d of exp(f(v, d))) followed by PLC. So SEL's gradient flows into f
// through the derivative of that sum, which is PLC's probability.
void HeadGradient::replay_joint_select(const Trajectory& trajectory, std::size_t step,
                                       const HeadTables& tables, const LossTerm& term,
                                       HeadGradients& gradients, ReplayStatistics& statistics) {
  const auto candidates = episode_.candidates();
  const std::size_t first_look = looks_.size();
  const std::span scores(joint_scores_.data(), candidates.size());
  joint_place_.resize(candidates.size() * devices_);
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    look_at(candidates[c], first_look);
    scores[c] = tables.select_scores[candidates[c].index()] +
                softmax(scores_, std::span(joint_place_).subspan(c * devices_, devices_));
  }
  const float log_total = softmax(scores, std::span(probabilities_.data(), candidates.size()));
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    log_probabilities_[c] = scores[c] - log_total;
    if (candidates[c] != trajectory.operations[step]) continue;
    statistics.select_log_probability += static_cast<double>(log_probabilities_[c]);
  }
  if (candidates.size() == 1) return;
  select_gradient(
      trajectory, step, term,
      [&](std::size_t c, float gradient) {
        gradients.tables.select_scores[candidates[c].index()] += gradient;
        for (std::size_t d = 0; d < devices_; ++d) {
          score_gradients_[(first_look + c) * devices_ + d] +=
              gradient * joint_place_[c * devices_ + d];
        }
      },
      statistics);
}

void HeadGradient::replay_place(const Trajectory& trajectory, std::size_t step, std::size_t look,
                                const LossTerm& term, ReplayStatistics& statistics) {
  const std::span probabilities(probabilities_.data(), devices_);
  const std::span gradients(score_gradients_.data() + look * devices_, devices_);
  const std::size_t chosen = trajectory.devices[step].index();
  const float log_total = softmax(scores_, probabilities);
  const float log_probability = scores_[chosen] - log_total;
  float entropy = 0;
  for (std::size_t d = 0; d < devices_; ++d) {
    if (probabilities[d] > 0) entropy -= probabilities[d] * (scores_[d] - log_total);
  }
  statistics.place_log_probability += static_cast<double>(log_probability);
  statistics.place_entropy += static_cast<double>(entropy);

  if (term.kind == LossKind::kImitation) {
    const std::span targets(targets_.data(), devices_);
    float count = 0;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (term.teacher == Teacher::kCriticalPath) {
        targets[d] = episode_.features()[d * kPlaceFeatureCount +
                                         static_cast<std::size_t>(PlaceFeature::kIsEarliest)];
      } else {
        targets[d] = d == chosen ? 1.0F : 0.0F;
      }
      count += targets[d];
    }
    for (std::size_t d = 0; d < devices_; ++d) {
      const float target = targets[d] / count;
      if (target > 0) statistics.loss -= static_cast<double>(target * (scores_[d] - log_total));
      gradients[d] += term.weight * (probabilities[d] - target);
    }
    return;
  }

  const float behaviour = trajectory.place_log_probabilities[step];
  statistics.largest_log_probability_difference = std::max(
      statistics.largest_log_probability_difference, std::abs(log_probability - behaviour));
  const DecisionLoss loss = surrogate(log_probability, behaviour, term, statistics);
  statistics.loss += static_cast<double>(loss.value - term.entropy_weight * entropy);
  const float coefficient = term.weight * loss.chosen_coefficient;
  const float bonus = term.weight * term.entropy_weight;
  for (std::size_t d = 0; d < devices_; ++d) {
    const float p = probabilities[d];
    gradients[d] -= coefficient * p;
    if (p > 0) gradients[d] += bonus * p * (scores_[d] - log_total + entropy);
  }
  gradients[chosen] += coefficient;
}

void HeadGradient::backward_place(const Trajectory& trajectory, const HeadTables& tables,
                                  const HeadWeights& weights, HeadGradients& gradients) {
  if (shape_.one_pass_devices > 0) {
    for (std::size_t look = 0; look < looks_.size(); ++look) {
      float* const row_gradient =
          gradients.tables.place_rows.data() + looks_[look].index() * shape_.row_width();
      for (std::size_t d = 0; d < devices_; ++d) {
        row_gradient[d] += score_gradients_[look * devices_ + d];
      }
    }
    return;
  }
  const std::size_t width = shape_.contribution_width();
  const std::size_t used = episode_.used_features();
  // As in PlaceHead::score: the usual widths as constants.
  const bool usual = shape_.aggregate_rank == 8 && shape_.place_hidden == 16;
  auto backward = &HeadGradient::backward_look<0, 0, 0>;
  if (usual && used == kUniformFeatureCount) {
    backward = &HeadGradient::backward_look<kUniformFeatureCount, 8, 16>;
  } else if (usual && used == kPlaceFeatureCount) {
    backward = &HeadGradient::backward_look<kPlaceFeatureCount, 8, 16>;
  }
  std::fill(aggregate_gradients_.begin(), aggregate_gradients_.end(), 0.0F);
  for (std::size_t step = trajectory.operations.size(); step-- > 0;) {
    // What the operation added to its device's aggregate was seen by every later step.
    const float* seen = aggregate_gradients_.data() + trajectory.devices[step].index() * width;
    float* contribution_gradient = gradients.tables.place_rows.data() +
                                   trajectory.operations[step].index() * shape_.row_width() +
                                   shape_.contribution_at();
    for (std::size_t i = 0; i < width; i += 8) {
      store8(contribution_gradient + i, load8(contribution_gradient + i) + load8(seen + i));
    }
    for (std::size_t look = step_looks_[step]; look < step_looks_[step + 1]; ++look) {
      (this->*backward)(look, step, tables, weights, gradients);
    }
  }
}

// A width of 0 is only known at run time. What all devices add to is summed over them first, in
// registers.
template <std::size_t kUsed, std::size_t kRank, std::size_t kHidden>
void HeadGradient::backward_look(std::size_t look, std::size_t step, const HeadTables& tables,
                                 const HeadWeights& weights, HeadGradients& gradients) {
  const std::size_t rank = kRank > 0 ? kRank : shape_.aggregate_rank;
  const std::size_t hidden_width = kHidden > 0 ? kHidden : shape_.place_hidden;
  const std::size_t used = kUsed > 0 ? kUsed : episode_.used_features();
  const std::size_t width = rank + hidden_width;
  const std::size_t row_at =
      looks_[look].index() * (kPlaceFeatureCount + rank + hidden_width + width);
  const float* const affinity = tables.place_rows.data() + row_at + kPlaceFeatureCount;
  float* const row_gradient = gradients.tables.place_rows.data() + row_at;
  float* const affinity_gradient = row_gradient + kPlaceFeatureCount;
  float* const bias_gradient = affinity_gradient + rank;
  const float* const g = score_gradients_.data() + look * devices_;
  const float* const features = features_.data() + look * devices_ * kPlaceFeatureCount;
  const float* const aggregates = aggregates_.data() + step * devices_ * width;
  const float* const hidden = hidden_.data() + look * devices_ * hidden_width;
  for (std::size_t f = 0; f < used; f += 8) {
    Vec8 sum{};
    for (std::size_t d = 0; d < devices_; ++d) {
      sum += broadcast8(g[d]) * load8(features + d * kPlaceFeatureCount + f);
    }
    store8(row_gradient + f, load8(row_gradient + f) + sum);
  }
  for (std::size_t r = 0; r < rank; r += 8) {
    Vec8 sum{};
    const Vec8 weight = load8(affinity + r);
    for (std::size_t d = 0; d < devices_; ++d) {
      const Vec8 score_gradient = broadcast8(g[d]);
      sum += score_gradient * load8(aggregates + d * width + r);
      float* const at = aggregate_gradients_.data() + d * width + r;
      store8(at, load8(at) + score_gradient * weight);
    }
    store8(affinity_gradient + r, load8(affinity_gradient + r) + sum);
  }
  for (std::size_t k = 0; k < hidden_width; k += 8) {
    Vec8 score_sum{};
    Vec8 bias_sum{};
    const Vec8 weight = load8(weights.hidden_to_score.data() + k);
    float* const column_gradient = gradients.weights.feature_to_hidden.data() + k;
    for (std::size_t d = 0; d < devices_; ++d) {
      const Vec8 score_gradient = broadcast8(g[d]);
      const Vec8 h = load8(hidden + d * hidden_width + k);
      score_sum += score_gradient * positive_part(h);
      const Vec8 through = score_gradient * weight;
      const Vec8 hidden_gradient = h > 0 ? through : Vec8{};
      bias_sum += hidden_gradient;
      float* const at = aggregate_gradients_.data() + d * width + rank + k;
      store8(at, load8(at) + hidden_gradient);
      store8(hidden_gradients_.data() + 8 * d, hidden_gradient);
    }
    float* const score_gradient = gradients.weights.hidden_to_score.data() + k;
    store8(score_gradient, load8(score_gradient) + score_sum);
    store8(bias_gradient + k, load8(bias_gradient + k) + bias_sum);
    for (std::size_t f = 0; f < used; ++f) {
      Vec8 sum{};
      for (std::size_t d = 0; d < devices_; ++d) {
        sum += broadcast8(features[d * kPlaceFeatureCount + f]) *
               load8(hidden_gradients_.data() + 8 * d);
      }
      float* const at = column_gradient + f * hidden_width;
      store8(at, load8(at) + sum);
    }
  }
}

}  // namespace doppler
