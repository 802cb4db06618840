#include "common/group_gradient.h"

#include <cmath>

#include "common/advantages.h"
#include "common/check.h"
#include "common/energy.h"
#include "common/head_gradient.h"

namespace doppler {
namespace {

// Without a branch per number, so that the compiler takes eight at a time: 0 * x is 0 for finite x
// and NaN for all others.
bool all_finite(const std::vector<float>& values) {
  float sum = 0;
  constexpr std::size_t kLanes = 8;
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += 0.0F * values[i + lane];
  }
  for (; i < values.size(); ++i) sum += 0.0F * values[i];
  for (float lane : lanes) sum += lane;
  return sum == 0.0F;
}

}  // namespace

GroupGradient group_gradient(std::span<const Trajectory> trajectories,
                             const WeightSnapshot& snapshot, const SelectHead& select_head,
                             const GradientOrder& order, HeadGradient& replay) {
  DP_CHECK(!trajectories.empty());
  const HeadTables& tables = snapshot.tables[trajectories.front().graph];
  GroupGradient result;
  result.sum.reset(snapshot.shape, tables.select_scores.size());
  std::vector<SimTime> energies;
  std::vector<double> noise;
  for (const Trajectory& trajectory : trajectories) {
    energies.push_back(energy(replay.costs(), trajectory, order.transfer_weight));
    noise.push_back(noise_variance(trajectory));
  }
  std::vector<float> advantages = normalised_advantages(energies);
  shrink_by_noise(energies, noise, advantages);
  LossTerm term;
  term.kind = trajectories.front().stage == Stage::kImitation ? LossKind::kImitation
                                                              : LossKind::kPolicyGradient;
  term.weight = order.episode_weight;
  term.entropy_weight = order.entropy_weight;
  term.clip_ratio = order.clip_ratio;
  term.teacher = order.teacher;
  for (std::size_t i = 0; i < trajectories.size(); ++i) {
    term.advantage = advantages[i];
    const auto statistics =
        replay.add(trajectories[i], tables, snapshot.weights, select_head, term, result.sum);
    DP_CHECK(statistics.has_value());
    result.statistics.add(*statistics);
  }
  return result;
}

bool is_sound(const GroupGradient& gradient, const HeadShape& shape, std::size_t operation_count) {
  const HeadGradients& sum = gradient.sum;
  const ReplayStatistics& statistics = gradient.statistics;
  return sum.tables.select_scores.size() == operation_count &&
         sum.tables.place_rows.size() == operation_count * shape.row_width() &&
         sum.weights.feature_to_hidden.size() == kPlaceFeatureCount * shape.place_hidden &&
         sum.weights.hidden_to_score.size() == shape.place_hidden &&
         all_finite(sum.tables.select_scores) && all_finite(sum.tables.place_rows) &&
         all_finite(sum.weights.feature_to_hidden) && all_finite(sum.weights.hidden_to_score) &&
         std::isfinite(statistics.loss) && std::isfinite(statistics.select_entropy) &&
         std::isfinite(statistics.place_entropy) &&
         std::isfinite(statistics.select_log_probability) &&
         std::isfinite(statistics.place_log_probability) && std::isfinite(statistics.ratio_sum) &&
         std::isfinite(statistics.ratio_square_sum) &&
         std::isfinite(statistics.largest_log_probability_difference);
}

}  // namespace doppler
