#include "learner/schedule.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"

namespace doppler {

Schedule::Schedule(const StagesConfig& stages, const LearnerConfig& learner,
                   double training_seconds)
    : training_seconds_(training_seconds) {
  double shares = 0;
  if (stages.imitation.enabled) shares += stages.imitation.share_of_seconds;
  if (stages.simulation.enabled) shares += stages.simulation.share_of_seconds;
  if (stages.real.enabled) shares += stages.real.share_of_seconds;
  double begin = 0;
  const auto add = [&](Stage stage, const StageConfig& config) {
    if (!config.enabled) return;
    // Shares of the enabled stages make up the whole, whatever they sum to.
    const double length = by_seconds() ? training_seconds_ * config.share_of_seconds / shares
                                       : std::ceil(static_cast<double>(config.episodes) /
                                                   static_cast<double>(learner.batch_episodes));
    if (length <= 0) return;
    spans_.push_back({stage, config, begin, begin + length});
    begin += length;
  };
  add(Stage::kImitation, stages.imitation);
  add(Stage::kSimulation, stages.simulation);
  add(Stage::kReal, stages.real);
}

// Batches count from 1: the first begins at 0.
double Schedule::position(std::uint64_t batch, double elapsed_seconds) const {
  return by_seconds() ? elapsed_seconds : static_cast<double>(batch) - 1.0;
}

StagePoint Schedule::point(const Span& span, double position) const {
  StagePoint result;
  result.stage = span.stage;
  result.used_fraction = std::clamp((position - span.begin) / (span.end - span.begin), 0.0, 1.0);
  const auto between = [&](double start, double end) {
    return start + (end - start) * result.used_fraction;
  };
  result.learning_rate = between(span.config.learning_rate_start, span.config.learning_rate_end);
  result.entropy_weight = between(span.config.entropy_start, span.config.entropy_end);
  result.self_imitation_weight =
      between(span.config.self_imitation_start, span.config.self_imitation_end);
  result.transfer_weight =
      between(span.config.transfer_weight_start, span.config.transfer_weight_end);
  return result;
}

std::optional<StagePoint> Schedule::at(std::uint64_t batch, double elapsed_seconds) const {
  const double now = position(batch, elapsed_seconds);
  for (const Span& span : spans_) {
    if (now < span.end) return point(span, now);
  }
  return std::nullopt;
}

StagePoint Schedule::within(Stage stage, std::uint64_t batch, double elapsed_seconds) const {
  for (const Span& span : spans_) {
    if (span.stage == stage) return point(span, position(batch, elapsed_seconds));
  }
  DP_CHECK(false);
  return {};
}

double Schedule::used_fraction(std::uint64_t batch, double elapsed_seconds) const {
  if (spans_.empty()) return 1;
  return std::clamp(position(batch, elapsed_seconds) / spans_.back().end, 0.0, 1.0);
}

}  // namespace doppler
