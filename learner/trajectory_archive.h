// The log of all episodes of a run: RUN_DIR/trajectories/segment-000001.h5, ... Each process of a
// run (a resumed one too) begins a new segment, and so does a segment that is full.
//
// append() never waits for the disk: one thread of the archive's own writes. What happens when the
// disk is slow: waiting decisions are bounded, and beyond the bound an episode is logged without
// its decisions (counted as shed). Rows of episodes are small; they wait until a far higher bound,
// beyond which they are lost (counted, with an alarm): memory is bounded whatever happens. What
// happens when the disk is full or HDF5 fails: the segment ends at what was committed, an alarm is
// kept for the caller, the rows that were not committed wait for a new segment, which is tried
// after a pause. Training goes on.
#ifndef DOPPLER_LEARNER_TRAJECTORY_ARCHIVE_H_
#define DOPPLER_LEARNER_TRAJECTORY_ARCHIVE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/trajectory.h"
#include "learner/archive_format.h"

namespace doppler {

struct ArchiveOptions {
  std::int64_t segment_rows = 1000000;  // a segment that has as many episodes is full
  double commit_seconds = 1;            // what waits is committed this often,
  std::int64_t commit_decisions = 8 * kDecisionChunkRows;  // or when as many decisions wait
  std::int64_t max_waiting_decisions = 4 << 20;            // 64 MB
  std::int64_t max_waiting_rows = 1 << 20;                 // about 100 MB
  double retry_seconds = 10;       // until a new segment is tried; doubles at each failure,
  double max_retry_seconds = 600;  // up to this
};

struct ArchiveCounters {
  std::uint64_t committed_rows = 0;
  std::uint64_t committed_decisions = 0;
  std::uint64_t segments = 0;       // begun
  std::uint64_t shed_episodes = 0;  // logged without their decisions, which were wanted
  std::uint64_t lost_rows = 0;      // not logged at all
  std::uint64_t errors = 0;         // segments that were given up or could not be begun
};

// Where the log stands: what is committed in the segment being written.
struct ArchivePosition {
  std::string segment;  // file name; "" when there is none now
  std::uint64_t rows = 0;
};

// append(), flush(), position(), counters() and take_alarm() may be called from any thread; close()
// once, after which only position(), counters() and take_alarm() may be called.
class TrajectoryArchive {
 public:
  // Begins a segment, so that a run that cannot log at all is told at once: SystemError.
  TrajectoryArchive(const std::string& run_dir, ArchiveHeader header, ArchiveOptions options = {});
  ~TrajectoryArchive();  // closes
  TrajectoryArchive(const TrajectoryArchive&) = delete;
  TrajectoryArchive& operator=(const TrajectoryArchive&) = delete;

  // Each episode once. `with_decisions` false: its decisions are not logged.
  void append(Trajectory trajectory, TrajectoryStatus status, bool with_decisions);

  // Returns once all that was appended before is committed and on the disk (true), or the archive
  // is failing (false).
  bool flush();
  // flush(), then ends the segment. False when something could not be written.
  bool close();

  ArchivePosition position() const;
  ArchiveCounters counters() const;
  // The newest problem that was not yet taken, as a sentence for the log.
  std::optional<std::string> take_alarm();
  // A sentence for the log when file locking does not work in the run folder and is not used, else
  // "".
  const std::string& locking_note() const;

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TRAJECTORY_ARCHIVE_H_
