#include "learner/trajectory_archive.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/error.h"
#include "learner/file_operations.h"
#include "learner/segment_writer.h"

namespace doppler {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration to_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Many small episodes without decisions must not wait for the time alone.
constexpr std::size_t kCommitRows = 64 * 1024;

struct QueuedEpisode {
  Trajectory trajectory;
  TrajectoryStatus status = TrajectoryStatus::kTrained;
  bool with_decisions = false;
};

std::int64_t decision_count(const QueuedEpisode& episode) {
  return episode.with_decisions ? static_cast<std::int64_t>(episode.trajectory.operations.size())
                                : 0;
}

}  // namespace

// Two halves: what is shared, under mutex_, and what the thread alone touches.
class TrajectoryArchive::Writer {
 public:
  Writer(const std::string& run_dir, ArchiveHeader header, ArchiveOptions options)
      : header_(std::move(header)), options_(options), folder_(archive_folder(run_dir)) {
    make_folder(folder_);
    remove_unfinished();
    probe_locking();
    const std::vector<std::uint64_t> numbers = segment_numbers(folder_);
    next_number_ = numbers.empty() ? 1 : numbers.back() + 1;
    open_segment();
    retry_pause_ = options_.retry_seconds;
    thread_ = std::thread([this] { run(); });
  }

  ~Writer() { close(); }

  void append(QueuedEpisode episode) {
    const std::lock_guard lock(mutex_);
    DP_CHECK(!closed_);
    if (waiting_rows_ >= options_.max_waiting_rows) {
      if (counters_.lost_rows++ == 0) {
        alarm_ = "trajectory archive: " + std::to_string(waiting_rows_) +
                 " episodes wait to be written to " + folder_ +
                 " and no more fit; further ones are not logged until the disk takes them";
      }
      return;
    }
    if (waiting_decisions_ + decision_count(episode) > options_.max_waiting_decisions) {
      episode.with_decisions = false;
      ++counters_.shed_episodes;
    }
    ++waiting_rows_;
    waiting_decisions_ += decision_count(episode);
    queued_decisions_ += decision_count(episode);
    queue_.push_back(std::move(episode));
    if (is_enough_queued()) wake_.notify_one();
  }

  bool flush() {
    std::unique_lock lock(mutex_);
    if (closed_) return waiting_rows_ == 0;
    const std::uint64_t wanted = ++flush_wanted_;
    wake_.notify_one();
    flushed_.wait(lock, [&] { return flush_done_ >= wanted; });
    return flush_succeeded_;
  }

  bool close() {
    const bool written = flush();
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return written;
      closed_ = true;
      wake_.notify_one();
    }
    thread_.join();
    if (!segment_) return written;
    try {
      segment_->close();
      segment_.reset();
    } catch (const Error& problem) {
      give_up(problem.what());
      return false;
    }
    return written;
  }

  ArchivePosition position() const {
    const std::lock_guard lock(mutex_);
    return position_;
  }

  ArchiveCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  std::optional<std::string> take_alarm() {
    const std::lock_guard lock(mutex_);
    return std::exchange(alarm_, std::nullopt);
  }

  const std::string& locking_note() const { return locking_note_; }

 private:
  // ---- under mutex_

  bool is_enough_queued() const {
    return queued_decisions_ >= options_.commit_decisions || queue_.size() >= kCommitRows;
  }

  // ---- the thread

  void run() {
    std::vector<QueuedEpisode> taken;
    while (true) {
      std::uint64_t flush_wanted = 0;
      {
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, to_duration(options_.commit_seconds), [&] {
          return closed_ || flush_wanted_ > flush_done_ || is_enough_queued();
        });
        if (closed_) return;  // close() has flushed
        taken.swap(queue_);
        queued_decisions_ = 0;
        flush_wanted = flush_wanted_;
      }
      for (const QueuedEpisode& episode : taken) {
        rows_.append(episode.trajectory, episode.status, episode.with_decisions);
      }
      taken.clear();
      commit();
      if (flush_wanted > flush_done_) finish_flush(flush_wanted);
    }
  }

  void commit() {
    if (rows_.episode_count() == 0) return;
    try {
      if (!segment_) {
        if (Clock::now() < retry_at_) return;
        open_segment();
      }
      segment_->commit(rows_);
    } catch (const std::exception& problem) {
      give_up(problem.what());
      return;
    }
    retry_pause_ = options_.retry_seconds;
    book_commit();
    if (segment_->committed_episodes() >= options_.segment_rows) rotate();
  }

  void book_commit() {
    const std::lock_guard lock(mutex_);
    counters_.committed_rows += static_cast<std::uint64_t>(rows_.episode_count());
    counters_.committed_decisions += static_cast<std::uint64_t>(rows_.decision_count());
    waiting_rows_ -= rows_.episode_count();
    waiting_decisions_ -= rows_.decision_count();
    position_.rows = static_cast<std::uint64_t>(segment_->committed_episodes());
    rows_.clear();
  }

  void rotate() {
    try {
      segment_->close();
      segment_.reset();
      open_segment();
    } catch (const std::exception& problem) {
      give_up(problem.what());
    }
  }

  void finish_flush(std::uint64_t flush_wanted) {
    bool succeeded = rows_.episode_count() == 0;
    if (succeeded && segment_) {
      try {
        segment_->sync();
      } catch (const std::exception& problem) {
        give_up(problem.what());
        succeeded = false;
      }
    }
    const std::lock_guard lock(mutex_);
    flush_done_ = flush_wanted;
    flush_succeeded_ = succeeded;
    flushed_.notify_all();
  }

  // ---- of the thread, or before it starts and after it ended

  void open_segment() {
    const std::string name = segment_name(next_number_);
    segment_ =
        std::make_unique<SegmentWriter>(folder_ + "/" + name, header_, locking_note_.empty());
    ++next_number_;
    const std::lock_guard lock(mutex_);
    ++counters_.segments;
    position_ = {name, 0};
  }

  void give_up(const std::string& reason) {
    std::string what = "trajectory archive: " + reason;
    if (segment_) {
      what += "; " + segment_->path() + " ends at row " +
              std::to_string(segment_->committed_episodes());
      const bool is_empty = segment_->committed_episodes() == 0;
      const std::string path = segment_->path();
      segment_.reset();
      std::error_code ignored;
      if (is_empty) std::filesystem::remove(path, ignored);
    }
    what += "; training goes on, " + std::to_string(rows_.episode_count()) +
            " episodes wait for a new segment, tried in " +
            std::to_string(static_cast<std::int64_t>(retry_pause_)) + " s";
    retry_at_ = Clock::now() + to_duration(retry_pause_);
    retry_pause_ = std::min(retry_pause_ * 2, options_.max_retry_seconds);
    const std::lock_guard lock(mutex_);
    ++counters_.errors;
    position_ = {};
    alarm_ = what;
  }

  void remove_unfinished() {
    for (const std::string& name : file_names(folder_)) {
      if (!name.ends_with(kTemporarySuffix)) continue;
      const std::string base = name.substr(0, name.size() - std::string(kTemporarySuffix).size());
      if (segment_number(base)) system_file_operations().unlink(folder_ + "/" + name);
    }
  }

  void probe_locking() {
    const std::string reason = why_flock_fails(folder_);
    if (reason.empty()) return;
    locking_note_ = "file locking does not work in " + folder_ + " (" + reason +
                    "): segments are written without it; other HDF5 programs read them with "
                    "HDF5_USE_FILE_LOCKING=FALSE in their environment";
  }

  const ArchiveHeader header_;
  const ArchiveOptions options_;
  const std::string folder_;
  std::string locking_note_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable flushed_;
  std::vector<QueuedEpisode> queue_;
  std::int64_t queued_decisions_ = 0;   // in queue_
  std::int64_t waiting_rows_ = 0;       // in queue_ and rows_
  std::int64_t waiting_decisions_ = 0;  // in queue_ and rows_
  std::uint64_t flush_wanted_ = 0;
  std::uint64_t flush_done_ = 0;  // written by the thread alone
  bool flush_succeeded_ = false;
  bool closed_ = false;
  ArchiveCounters counters_;
  ArchivePosition position_;
  std::optional<std::string> alarm_;

  WaitingRows rows_;
  std::unique_ptr<SegmentWriter> segment_;
  std::uint64_t next_number_ = 1;
  Clock::time_point retry_at_;
  double retry_pause_ = 0;

  std::thread thread_;
};

TrajectoryArchive::TrajectoryArchive(const std::string& run_dir, ArchiveHeader header,
                                     ArchiveOptions options)
    : writer_(std::make_unique<Writer>(run_dir, std::move(header), options)) {}

TrajectoryArchive::~TrajectoryArchive() = default;

void TrajectoryArchive::append(Trajectory trajectory, TrajectoryStatus status,
                               bool with_decisions) {
  writer_->append({std::move(trajectory), status, with_decisions});
}

bool TrajectoryArchive::flush() {
  return writer_->flush();
}
bool TrajectoryArchive::close() {
  return writer_->close();
}
ArchivePosition TrajectoryArchive::position() const {
  return writer_->position();
}
ArchiveCounters TrajectoryArchive::counters() const {
  return writer_->counters();
}
std::optional<std::string> TrajectoryArchive::take_alarm() {
  return writer_->take_alarm();
}
const std::string& TrajectoryArchive::locking_note() const {
  return writer_->locking_note();
}

}  // namespace doppler
