// Reads the log of a run: also while it is written, after its writer was killed, and where segments
// are damaged.
//
// Only committed rows are shown. Rows that a later lineage played again are left out, so that an
// episode counts once.
#ifndef DOPPLER_LEARNER_ARCHIVE_READER_H_
#define DOPPLER_LEARNER_ARCHIVE_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/sim_time.h"
#include "common/stage.h"
#include "common/trajectory.h"
#include "learner/archive_format.h"

namespace doppler {

struct EpisodeRow {
  std::uint64_t episode = 0;
  std::uint32_t graph = 0;  // position in the header's graphs
  Stage stage = Stage::kSimulation;
  std::uint64_t ticket = 0;
  std::uint32_t attempt = 0;
  std::uint32_t lineage = 0;
  std::uint64_t weight_version = 0;
  std::uint32_t worker = 0;
  std::uint64_t seed = 0;
  TrajectoryStatus status = TrajectoryStatus::kTrained;
  SimTime makespan;
  double measured_seconds = 0;
  std::uint32_t repeats = 0;
  double spread_seconds = 0;
  std::int64_t decision_offset = -1;  // -1: the decisions were not logged
  std::int64_t decision_count = 0;
  std::size_t segment = 0;  // position in segments()
  bool operator==(const EpisodeRow&) const = default;
};

struct Decision {
  OperationId operation;
  DeviceId device;
  float select_log_probability = 0;
  float place_log_probability = 0;
  bool operator==(const Decision&) const = default;
};

struct SegmentInfo {
  std::string path;
  std::uint64_t number = 0;  // 0: the file has another name
  ArchiveHeader header;
  std::int64_t committed_episodes = 0;    // rows
  std::int64_t committed_decisions = 0;   // rows, with those that belong to no episode
  std::int64_t uncommitted_episodes = 0;  // rows that a kill left, or that are being written
  std::string damage;                     // why (further) rows of it are not shown; "": none
};

// What a pass over the log found.
struct ArchiveSummary {
  std::uint64_t episodes = 0;    // shown
  std::uint64_t superseded = 0;  // played again by a later lineage
  std::uint64_t duplicates = 0;  // second rows of an episode; the first is shown
  std::uint64_t late = 0;        // shown: came in from an earlier lineage than the segment's
  // Numbers between the first and the last episode that have no row; none are missed in a log of
  // asynchronous mode.
  std::uint64_t missing = 0;
  std::optional<std::uint64_t> first_missing;
};

class ArchiveReader {
 public:
  // The segments that a run has now; none when it has no log. SystemError when its folder cannot be
  // read.
  explicit ArchiveReader(const std::string& run_dir);
  // One segment by itself.
  static ArchiveReader of_file(const std::string& path);
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;

  // Ascending by number. A segment that cannot be read is there, with its damage.
  const std::vector<SegmentInfo>& segments() const { return segments_; }

  // Calls visit for each row, by segment and place in it. Uses memory for a few thousand rows and
  // one bit an episode. Where rows cannot be read, the rest of that segment is passed over and its
  // damage noted.
  ArchiveSummary visit(const std::function<void(const EpisodeRow&)>& visit);
  std::vector<EpisodeRow> episodes();
  std::optional<EpisodeRow> find(std::uint64_t episode);

  // In their order; none when they were not logged. FormatError or SystemError when they cannot be
  // read.
  std::vector<Decision> decisions(const EpisodeRow& row);

  // One sentence for each thing that a reader should know: damaged segments, uncommitted rows, and,
  // of the newest visit, duplicates and gaps.
  std::vector<std::string> problems() const;

 private:
  class OpenSegment;

  ArchiveReader();
  void add_segment(const std::string& path, std::uint64_t number);
  OpenSegment& open(std::size_t segment);
  // Of the rows from `first` on; empty, and damage noted, when they cannot be read.
  EpisodeColumns read_block(std::size_t segment, std::int64_t first);
  // Calls take for each committed row, void ones too.
  void visit_segment(std::size_t segment,
                     const std::function<void(const EpisodeRow&, std::uint64_t row)>& take);
  void note_damage(std::size_t segment, std::int64_t row, const std::string& reason);
  // Rows with this episode number or a later one are void in a segment of this lineage.
  std::uint64_t cutoff(std::uint32_t lineage) const;
  // Rows of this segment from this one on are void.
  std::uint64_t row_cutoff(std::size_t segment) const;

  std::vector<SegmentInfo> segments_;
  std::unique_ptr<OpenSegment> open_;  // the one that was read last
  ArchiveSummary summary_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_ARCHIVE_READER_H_
