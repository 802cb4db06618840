// Writes one trajectory segment (archive_format.h) so that others can read it while it grows, and
// after its writer was killed at any moment.
#ifndef DOPPLER_LEARNER_SEGMENT_WRITER_H_
#define DOPPLER_LEARNER_SEGMENT_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "common/trajectory.h"
#include "learner/archive_format.h"

namespace doppler {

// Episodes that wait to be written; offsets count from the first waiting decision.
class WaitingRows {
 public:
  // The vectors of the trajectory must be of one length.
  void append(const Trajectory& trajectory, TrajectoryStatus status, bool with_decisions);
  void clear();

  std::int64_t episode_count() const { return static_cast<std::int64_t>(episodes_.episode.size()); }
  std::int64_t decision_count() const {
    return static_cast<std::int64_t>(decisions_.operation.size());
  }
  const EpisodeColumns& episodes() const { return episodes_; }
  const DecisionColumns& decisions() const { return decisions_; }

 private:
  EpisodeColumns episodes_;
  DecisionColumns decisions_;
};

// Not thread-safe. After an exception the object can only be destroyed; what was committed before
// stays readable.
class SegmentWriter {
 public:
  // Makes `path`, which appears complete or not at all. `lock`: whether HDF5 may lock the file.
  SegmentWriter(const std::string& path, const ArchiveHeader& header, bool lock);
  // Without close() the file stays as the newest commit left it, as after a kill.
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  // Returns once the rows are committed: readers see them, and a kill does not lose them.
  void commit(const WaitingRows& rows);
  // Returns once what is committed survives a power failure, too.
  void sync();
  // Afterwards HDF5 programs that know nothing of SWMR read the file.
  void close();

  const std::string& path() const { return path_; }
  std::int64_t committed_episodes() const { return committed_episodes_; }
  std::int64_t committed_decisions() const { return committed_decisions_; }

 private:
  struct Columns;  // the open datasets

  void open(bool lock);

  std::string path_;
  std::unique_ptr<Columns> columns_;
  std::int64_t commits_ = 0;
  std::int64_t committed_episodes_ = 0;
  std::int64_t committed_decisions_ = 0;  // with the free rows; a multiple of kDecisionChunkRows
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_SEGMENT_WRITER_H_
