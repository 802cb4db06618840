#include "learner/episode_log.h"

#include <algorithm>
#include <utility>

#include "common/log.h"

namespace doppler {

EpisodeLog::EpisodeLog(const std::string& run_dir, const ArchiveHeader& header,
                       const ArchiveConfig& config)
    : archive_(run_dir, header, {.segment_rows = config.segment_rows}),
      decisions_per_second_(config.decisions_per_second) {
  if (!archive_.locking_note().empty()) log_warning("{}", archive_.locking_note());
}

void EpisodeLog::add_batch(std::vector<Trajectory> batch, const std::vector<bool>& invalid,
                           const std::set<std::uint64_t>& improvements, double now_seconds) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool improves = improvements.contains(batch[i].episode);
    const bool with_decisions = wants_decisions(now_seconds) || improves;
    archive_.append(std::move(batch[i]),
                    invalid[i] ? TrajectoryStatus::kDroppedInvalid : TrajectoryStatus::kTrained,
                    with_decisions);
  }
  tell_of_alarms();
}

void EpisodeLog::add_stale(std::vector<ClosedTicket> tickets) {
  for (ClosedTicket& ticket : tickets) {
    for (Trajectory& trajectory : ticket.trajectories) {
      archive_.append(std::move(trajectory), TrajectoryStatus::kDroppedStale, false);
    }
  }
}

void EpisodeLog::add_evaluated(std::vector<ClosedTicket> tickets) {
  for (ClosedTicket& ticket : tickets) {
    for (Trajectory& trajectory : ticket.trajectories) {
      archive_.append(std::move(trajectory), TrajectoryStatus::kEvaluated, true);
    }
  }
  tell_of_alarms();
}

bool EpisodeLog::close() {
  if (!archive_.close()) {
    failed_ = true;
    log_warning("the trajectory archive could not be completed: {}",
                archive_.take_alarm().value_or("unknown reason"));
  }
  return !failed_;
}

bool EpisodeLog::wants_decisions(double now_seconds) {
  if (decisions_per_second_ < 0) return true;
  if (decisions_per_second_ == 0) return false;
  const double interval = 1.0 / decisions_per_second_;
  if (now_seconds - last_decisions_seconds_ < interval) return false;
  // Credit that was not used is not saved up beyond one second's worth.
  last_decisions_seconds_ = std::max(last_decisions_seconds_ + interval, now_seconds - 1.0);
  return true;
}

void EpisodeLog::tell_of_alarms() {
  if (const auto alarm = archive_.take_alarm()) {
    failed_ = true;
    log_error("{}", *alarm);
  }
}

}  // namespace doppler
