#include "learner/update_statistics.h"

#include <algorithm>

namespace doppler {

void ReplaySum::add(const ReplayStatistics& replay, std::size_t episodes, std::size_t steps) {
  sum_.add(replay);
  episodes_ += episodes;
  steps_ += steps;
}

UpdateStatistics ReplaySum::statistics(std::size_t batch_size) const {
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

UpdateStatistics statistics_of(const std::vector<Trajectory>& batch,
                               std::span<const std::optional<ReplayStatistics>> replays,
                               std::uint64_t version, std::vector<bool>& invalid) {
  invalid.assign(batch.size(), false);
  ReplaySum sum;
  double error = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!replays[i]) {
      invalid[i] = true;
      continue;
    }
    sum.add(*replays[i], 1, batch[i].operations.size());
    if (batch[i].weight_version == version) {
      error = std::max(error, static_cast<double>(replays[i]->largest_log_probability_difference));
    }
  }
  UpdateStatistics statistics = sum.statistics(batch.size());
  statistics.log_probability_error = error;
  return statistics;
}

}  // namespace doppler
