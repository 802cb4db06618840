#include "common/head_gradient.h"

#include <algorithm>
#include <cmath>

namespace doppler {

HeadGradient::HeadGradient(const HeadShape& shape, const CostTable& costs, const Levels& levels,
                           SelectPolicy select_policy, PlacePolicy place_policy)
    : shape_(shape),
      costs_(&costs),
      levels_(&levels),
      select_policy_(select_policy),
      place_policy_(place_policy),
      devices_(static_cast<std::size_t>(costs.device_count())),
      check_(costs),
      episode_(costs),
      place_head_(shape, devices_),
      place_tape_(shape, costs.graph().operation_count(), devices_) {
  const std::size_t steps = costs.graph().operation_count();
  joint_scores_.resize(steps);
  scores_.resize(devices_);
  probabilities_.resize(std::max(steps, devices_));
  log_probabilities_.resize(steps);
  targets_.resize(std::max(steps, devices_));
  if (!shape.step.used()) return;
  step_encoder_ = std::make_unique<StepEncoder>(shape, costs.graph(), levels, true);
  step_tables_.select_scores.resize(steps);
  step_tables_.place_rows.resize(steps * shape.row_width());
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
  place_tape_.reset();
  const bool places = place_policy_ != PlacePolicy::kEarliestStart;
  for (std::size_t step = 0; step < trajectory.operations.size(); ++step) {
    const OperationId operation = trajectory.operations[step];
    if (places) place_tape_.begin_step(place_head_.aggregates());
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
      replay_place(trajectory, step, look_at(operation), term, statistics);
      place_head_.add(operation, trajectory.devices[step]);
    }
    episode_.select(operation);
    episode_.place(trajectory.devices[step]);
  }
  if (places) {
    place_tape_.backward(trajectory, tables, weights, episode_.used_features(), gradients);
  }
  return statistics;
}

// Selects and scores an operation on all devices, into scores_. Returns the look.
std::size_t HeadGradient::look_at(OperationId operation) {
  episode_.select(operation);
  const std::size_t look = place_tape_.look(operation, episode_.features());
  place_head_.score(operation, episode_.features(), episode_.used_features(), scores_,
                    place_tape_.hidden(look));
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
  const std::size_t first_look = place_tape_.look_count();
  const std::span scores(joint_scores_.data(), candidates.size());
  joint_place_.resize(candidates.size() * devices_);
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    look_at(candidates[c]);
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
        const std::span score_gradients = place_tape_.score_gradients(first_look + c);
        for (std::size_t d = 0; d < devices_; ++d) {
          score_gradients[d] += gradient * joint_place_[c * devices_ + d];
        }
      },
      statistics);
}

void HeadGradient::replay_place(const Trajectory& trajectory, std::size_t step, std::size_t look,
                                const LossTerm& term, ReplayStatistics& statistics) {
  const std::span probabilities(probabilities_.data(), devices_);
  const std::span gradients = place_tape_.score_gradients(look);
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

}  // namespace doppler
