// UpdateStatistics: what an update found in the trajectories that it trained on.
#ifndef DOPPLER_LEARNER_UPDATE_STATISTICS_H_
#define DOPPLER_LEARNER_UPDATE_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/replay_statistics.h"
#include "common/trajectory.h"

namespace doppler {

struct UpdateStatistics {
  std::size_t trained = 0;
  std::size_t invalid = 0;    // trajectories that did not replay
  double loss = 0;            // mean over trained trajectories
  double select_entropy = 0;  // mean over their decisions, nats
  double place_entropy = 0;
  double gradient_norm = 0;     // before clipping
  double clipped_fraction = 0;  // of the decisions
  bool skipped = false;         // the gradient was not finite; the weights did not change
  double largest_log_probability_difference = 0;
  // The same over trajectories that were played with the very weights that the update begins with:
  // anything but rounding there means that worker and learner compute different things.
  double log_probability_error = 0;
  // Of the importance ratios r of the decisions, (sum r)^2 / (n sum r^2): 1 where all weights are
  // current, towards 0 where few decisions speak for all.
  double effective_sample_fraction = 1;
};

// Adds up what replays found. The norm, `skipped` and log_probability_error are others' to say.
class ReplaySum {
 public:
  void add(const ReplayStatistics& replay, std::size_t episodes, std::size_t steps);
  // Of a batch of so many episodes; those that were not added are invalid.
  UpdateStatistics statistics(std::size_t batch_size) const;

 private:
  ReplayStatistics sum_;
  std::size_t episodes_ = 0;
  std::size_t steps_ = 0;
};

// Of a batch that the learner replayed with the weights of `version`: replays[i] is empty where
// batch[i] did not replay, and invalid[i] set.
UpdateStatistics statistics_of(const std::vector<Trajectory>& batch,
                               std::span<const std::optional<ReplayStatistics>> replays,
                               std::uint64_t version, std::vector<bool>& invalid);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_UPDATE_STATISTICS_H_
