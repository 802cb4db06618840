// EpisodeLog: what a run writes to its trajectory log. Every episode with how it ended; its
// decisions as often as the configuration wants them, and always where it improved on the best or
// was played to judge the policy.
#ifndef DOPPLER_LEARNER_EPISODE_LOG_H_
#define DOPPLER_LEARNER_EPISODE_LOG_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/trajectory.h"
#include "learner/ticket_book.h"
#include "learner/trajectory_archive.h"

namespace doppler {

// One thread. What goes wrong is told in the run's log, once.
class EpisodeLog {
 public:
  // Throws SystemError where nothing can be logged at all.
  EpisodeLog(const std::string& run_dir, const ArchiveHeader& header, const ArchiveConfig& config);

  // Of an update, at that time of the run: invalid[i] is whether batch[i] did not replay;
  // `improvements` are the numbers of episodes that improved on the best.
  void add_batch(std::vector<Trajectory> batch, const std::vector<bool>& invalid,
                 const std::set<std::uint64_t>& improvements, double now_seconds);
  void add_stale(std::vector<ClosedTicket> tickets);
  void add_evaluated(std::vector<ClosedTicket> tickets);

  // Returns once all of it is on the disk, or the log is failing.
  void flush() { archive_.flush(); }
  ArchivePosition position() const { return archive_.position(); }
  // Ends it. Whether all of it was written.
  bool close();

 private:
  bool wants_decisions(double now_seconds);
  void tell_of_alarms();

  TrajectoryArchive archive_;
  double decisions_per_second_;  // < 0: of all episodes
  double last_decisions_seconds_ = -1e9;
  bool failed_ = false;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_EPISODE_LOG_H_
