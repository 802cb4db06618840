// ReplayStatistics: what a replay found, summed over the decisions of one trajectory or of several.
#ifndef DOPPLER_COMMON_REPLAY_STATISTICS_H_
#define DOPPLER_COMMON_REPLAY_STATISTICS_H_

#include <algorithm>
#include <cstdint>

namespace doppler {

struct ReplayStatistics {
  double select_log_probability = 0;
  double place_log_probability = 0;
  double select_entropy = 0;  // nats
  double place_entropy = 0;
  double loss = 0;
  std::int64_t clipped_decisions = 0;
  // Of the importance ratios of its decisions, where there are ratios.
  double ratio_sum = 0;
  double ratio_square_sum = 0;
  std::int64_t ratio_count = 0;
  float largest_log_probability_difference = 0;  // replayed against the behaviour policy's

  void add(const ReplayStatistics& other) {
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
  bool operator==(const ReplayStatistics&) const = default;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_REPLAY_STATISTICS_H_
