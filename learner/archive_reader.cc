#include "learner/archive_reader.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "common/check.h"
#include "common/error.h"
#include "learner/episode_set.h"
#include "learner/file_operations.h"
#include "learner/hdf5_file.h"

namespace doppler {
namespace {

constexpr std::int64_t kBlockRows = 32 * 1024;

// A file that is being written may be read at an unhappy moment: opened anew, it is fine.
constexpr int kAttempts = 4;

ArchiveHeader read_header(const Hdf5Group& root) {
  const std::string format = root.string_attribute("format");
  if (format != kArchiveFormat) {
    throw FormatError(root.place() + " @format: expected \"" + kArchiveFormat + "\", found \"" +
                      format + "\"; this is no trajectory segment");
  }
  const auto version = root.attribute<std::int64_t>("format_version");
  if (version != kArchiveFormatVersion) {
    throw FormatError(root.place() + " @format_version: " + std::to_string(version) +
                      ", but this program reads version " + std::to_string(kArchiveFormatVersion) +
                      "; read it with the release of Doppler that wrote it");
  }
  ArchiveHeader header;
  header.run_name = root.string_attribute("run_name");
  header.lineage = root.attribute<std::uint32_t>("lineage");
  header.first_episode = root.attribute<std::uint64_t>("first_episode");
  if (root.has_attribute("asynchronous")) {
    header.asynchronous = root.attribute<std::uint8_t>("asynchronous") != 0;
    header.resumed_segment = root.attribute<std::uint64_t>("resumed_segment");
    header.resumed_row = root.attribute<std::uint64_t>("resumed_row");
  }
  header.tick_unit = root.string_attribute("tick_unit");
  const Hdf5Group graphs = root.group("graphs");
  const std::vector<std::string> names = graphs.dataset("name").read_strings();
  const std::vector<std::uint64_t> hashes = graphs.dataset("content_hash").read<std::uint64_t>();
  const std::vector<std::int64_t> counts = graphs.dataset("operation_count").read<std::int64_t>();
  if (names.size() != hashes.size() || names.size() != counts.size()) {
    throw FormatError(graphs.place() + ": its columns differ in length");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    header.graphs.push_back({names[i], hashes[i], counts[i]});
  }
  return header;
}

// The newest row of /commit that was written whole.
CommitRow last_commit(const Hdf5Group& root) {
  const Hdf5Dataset commit = root.dataset("commit");
  const std::vector<std::int64_t> shape = commit.shape();
  if (shape.size() != 2 || shape[1] != kCommitWidth) {
    throw FormatError(commit.place() + ": expected shape [n, " + std::to_string(kCommitWidth) +
                      "]");
  }
  const std::vector<std::uint64_t> values = commit.read<std::uint64_t>();
  for (std::size_t row = values.size() / kCommitWidth; row > 0; --row) {
    CommitRow candidate;
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>((row - 1) * kCommitWidth),
                kCommitWidth, candidate.begin());
    if (is_valid_commit_row(candidate, row)) return candidate;
  }
  return {};
}

}  // namespace

class ArchiveReader::OpenSegment {
 public:
  OpenSegment(std::size_t position, const std::string& path)
      : position_(position), file_(Hdf5File::open_swmr_read(path)), root_(file_.root()) {}

  std::size_t position() const { return position_; }

  void read_info(SegmentInfo& info) const {
    info.header = read_header(root_);
    const CommitRow commit = last_commit(root_);
    info.committed_episodes = static_cast<std::int64_t>(commit[1]);
    info.committed_decisions = static_cast<std::int64_t>(commit[2]);
    EpisodeColumns episodes;
    for_each_episode_column(episodes, [&]<typename T>(const char* name, std::vector<T>&) {
      require_rows<T>(std::string("episodes/") + name, info.committed_episodes);
    });
    DecisionColumns decisions;
    for_each_decision_column(decisions, [&]<typename T>(const char* name, std::vector<T>&) {
      require_rows<T>(std::string("decisions/") + name, info.committed_decisions);
    });
    info.uncommitted_episodes = root_.dataset("episodes/episode").rows() - info.committed_episodes;
  }

  EpisodeColumns read_episodes(std::int64_t first, std::int64_t count) const {
    EpisodeColumns columns;
    for_each_episode_column(columns, [&]<typename T>(const char* name, std::vector<T>& column) {
      column = root_.dataset(std::string("episodes/") + name).read_rows<T>(first, count);
    });
    return columns;
  }

  DecisionColumns read_decisions(std::int64_t first, std::int64_t count) const {
    DecisionColumns columns;
    for_each_decision_column(columns, [&]<typename T>(const char* name, std::vector<T>& column) {
      column = root_.dataset(std::string("decisions/") + name).read_rows<T>(first, count);
    });
    return columns;
  }

 private:
  template <typename T>
  void require_rows(const std::string& name, std::int64_t committed) const {
    const Hdf5Dataset dataset = root_.dataset(name);
    if (dataset.shape().size() != 1 || dataset.type() != hdf5_type_of<T>()) {
      throw FormatError(dataset.place() + ": expected one axis of " +
                        hdf5_type_name(hdf5_type_of<T>()));
    }
    if (dataset.rows() < committed) {
      throw FormatError(dataset.place() + ": " + std::to_string(dataset.rows()) + " rows, but " +
                        std::to_string(committed) + " were committed");
    }
  }

  std::size_t position_;
  Hdf5File file_;
  Hdf5Group root_;
};

namespace {

EpisodeRow make_row(const EpisodeColumns& columns, std::size_t i, std::size_t segment) {
  EpisodeRow row;
  row.episode = columns.episode[i];
  row.graph = columns.graph[i];
  row.stage = static_cast<Stage>(columns.stage[i]);
  row.ticket = columns.ticket[i];
  row.attempt = columns.attempt[i];
  row.lineage = columns.lineage[i];
  row.weight_version = columns.weight_version[i];
  row.worker = columns.worker[i];
  row.seed = columns.seed[i];
  row.status = static_cast<TrajectoryStatus>(columns.status[i]);
  row.makespan = SimTime(columns.makespan_ticks[i]);
  row.measured_seconds = columns.measured_seconds[i];
  row.repeats = columns.repeats[i];
  row.spread_seconds = columns.spread_seconds[i];
  row.decision_offset = columns.decision_offset[i];
  row.decision_count = columns.decision_count[i];
  row.segment = segment;
  return row;
}

// What makes a row impossible; nullptr: nothing.
const char* why_impossible(const EpisodeRow& row, const SegmentInfo& info) {
  if (row.graph >= info.header.graphs.size()) return "no such graph";
  if (row.stage < Stage::kImitation || row.stage > Stage::kReal) return "no such stage";
  if (row.status > TrajectoryStatus::kEvaluated) return "no such status";
  if (row.decision_offset == -1)
    return row.decision_count == 0 ? nullptr : "decisions without a place";
  if (row.decision_offset < 0 || row.decision_count < 0 ||
      row.decision_offset > info.committed_decisions - row.decision_count) {
    return "its decisions lie outside of what is committed";
  }
  return nullptr;
}

}  // namespace

ArchiveReader::ArchiveReader() = default;
ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;

ArchiveReader::ArchiveReader(const std::string& run_dir) {
  const std::string folder = archive_folder(run_dir);
  for (std::uint64_t number : segment_numbers(folder)) {
    add_segment(folder + "/" + segment_name(number), number);
  }
}

ArchiveReader ArchiveReader::of_file(const std::string& path) {
  ArchiveReader reader;
  const auto number = segment_number(std::filesystem::path(path).filename().string());
  reader.add_segment(path, number.value_or(0));
  return reader;
}

void ArchiveReader::add_segment(const std::string& path, std::uint64_t number) {
  segments_.push_back({.path = path, .number = number, .header = {}, .damage = {}});
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    SegmentInfo info{.path = path, .number = number, .header = {}, .damage = {}};
    try {
      open_.reset();
      open(segments_.size() - 1).read_info(info);
    } catch (const Error& problem) {
      // A damaged number in the header may say anything; nothing of the segment is trusted.
      info = {.path = path, .number = number, .header = {}, .damage = problem.what()};
    }
    segments_.back() = std::move(info);
    if (segments_.back().damage.empty()) return;
  }
}

ArchiveReader::OpenSegment& ArchiveReader::open(std::size_t segment) {
  if (!open_ || open_->position() != segment) {
    open_.reset();
    open_ = std::make_unique<OpenSegment>(segment, segments_[segment].path);
  }
  return *open_;
}

std::uint64_t ArchiveReader::cutoff(std::uint32_t lineage) const {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (const SegmentInfo& info : segments_) {
    if (info.damage.empty() && info.header.lineage > lineage) {
      first = std::min(first, info.header.first_episode);
    }
  }
  return first;
}

std::uint64_t ArchiveReader::row_cutoff(std::size_t segment) const {
  const SegmentInfo& own = segments_[segment];
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (const SegmentInfo& info : segments_) {
    const ArchiveHeader& later = info.header;
    if (!info.damage.empty() || later.lineage <= own.header.lineage || later.resumed_segment == 0 ||
        later.resumed_segment > own.number) {
      continue;
    }
    first = std::min(first, later.resumed_segment == own.number ? later.resumed_row : 0);
  }
  return first;
}

void ArchiveReader::note_damage(std::size_t segment, std::int64_t row, const std::string& reason) {
  SegmentInfo& info = segments_[segment];
  info.damage = info.path + ": row " + std::to_string(row) + ": " + reason +
                "; its rows from there on are left out";
}

EpisodeColumns ArchiveReader::read_block(std::size_t segment, std::int64_t first) {
  const std::int64_t count = std::min(kBlockRows, segments_[segment].committed_episodes - first);
  for (int attempt = 1;; ++attempt) {
    try {
      return open(segment).read_episodes(first, count);
    } catch (const Error& problem) {
      open_.reset();
      if (attempt < kAttempts) continue;
      note_damage(segment, first, problem.what());
      return {};
    }
  }
}

void ArchiveReader::visit_segment(
    std::size_t segment, const std::function<void(const EpisodeRow&, std::uint64_t)>& take) {
  const SegmentInfo& info = segments_[segment];
  for (std::int64_t first = 0; first < info.committed_episodes && info.damage.empty();
       first += kBlockRows) {
    const EpisodeColumns columns = read_block(segment, first);
    for (std::size_t i = 0; i < columns.episode.size(); ++i) {
      const EpisodeRow row = make_row(columns, i, segment);
      if (const char* reason = why_impossible(row, info)) {
        note_damage(segment, first + static_cast<std::int64_t>(i), reason);
        return;
      }
      take(row, static_cast<std::uint64_t>(first) + i);
    }
  }
}

ArchiveSummary ArchiveReader::visit(const std::function<void(const EpisodeRow&)>& visit) {
  ArchiveSummary summary;
  EpisodeSet seen;
  EpisodeSet numbered;  // with evaluations, which have numbers as well
  for (std::size_t segment = 0; segment < segments_.size(); ++segment) {
    const std::uint32_t lineage = segments_[segment].header.lineage;
    const std::uint64_t void_from = cutoff(lineage);
    const std::uint64_t void_from_row = row_cutoff(segment);
    visit_segment(segment, [&](const EpisodeRow& row, std::uint64_t index) {
      const bool is_late = row.lineage != lineage;
      const bool is_counted = !is_late && row.status != TrajectoryStatus::kEvaluated;
      if (row.episode >= void_from || index >= void_from_row) {
        ++summary.superseded;
      } else if (is_counted && !seen.insert(row.episode)) {
        ++summary.duplicates;
      } else {
        if (!is_late) numbered.insert(row.episode);
        ++summary.episodes;
        summary.late += is_late ? 1 : 0;
        visit(row);
      }
    });
  }
  const bool in_order = std::none_of(segments_.begin(), segments_.end(),
                                     [](const auto& info) { return info.header.asynchronous; });
  if (in_order) {
    summary.missing = numbered.missing();
    summary.first_missing = numbered.first_missing();
  }
  summary_ = summary;
  return summary;
}

std::vector<EpisodeRow> ArchiveReader::episodes() {
  std::vector<EpisodeRow> rows;
  visit([&](const EpisodeRow& row) { rows.push_back(row); });
  return rows;
}

std::optional<EpisodeRow> ArchiveReader::find(std::uint64_t episode) {
  std::optional<EpisodeRow> found;
  visit([&](const EpisodeRow& row) {
    if (row.episode == episode && (!found || row.lineage > found->lineage)) found = row;
  });
  return found;
}

std::vector<Decision> ArchiveReader::decisions(const EpisodeRow& row) {
  if (row.decision_offset < 0) return {};
  DP_CHECK_LT(row.segment, segments_.size());
  DecisionColumns columns;
  for (int attempt = 1;; ++attempt) {
    try {
      columns = open(row.segment).read_decisions(row.decision_offset, row.decision_count);
      break;
    } catch (const Error&) {
      open_.reset();
      if (attempt == kAttempts) throw;
    }
  }
  const ArchiveHeader& header = segments_[row.segment].header;
  std::vector<Decision> decisions;
  for (std::size_t i = 0; i < columns.operation.size(); ++i) {
    const std::int32_t operation = columns.operation[i];
    if (operation < 0 || operation >= header.graphs[row.graph].operation_count ||
        columns.device[i] < 0) {
      throw FormatError(segments_[row.segment].path + ": episode " + std::to_string(row.episode) +
                        ": decision " + std::to_string(i) +
                        " is impossible; the segment is damaged");
    }
    decisions.push_back({OperationId(operation), DeviceId(columns.device[i]),
                         columns.select_log_probability[i], columns.place_log_probability[i]});
  }
  return decisions;
}

std::vector<std::string> ArchiveReader::problems() const {
  std::vector<std::string> sentences;
  for (const SegmentInfo& info : segments_) {
    if (!info.damage.empty()) sentences.push_back("damaged: " + info.damage);
    if (info.uncommitted_episodes > 0) {
      sentences.push_back(
          info.path + ": " + std::to_string(info.uncommitted_episodes) +
          " rows at the end are not committed and left out (being written, or the writer was "
          "killed)");
    }
  }
  for (std::size_t i = 1; i < segments_.size(); ++i) {
    if (segments_[i].number != segments_[i - 1].number + 1) {
      sentences.push_back("between " + segments_[i - 1].path + " and " + segments_[i].path +
                          " a segment is missing");
    }
  }
  if (summary_.duplicates > 0) {
    sentences.push_back(std::to_string(summary_.duplicates) +
                        " rows repeat an episode that an earlier row holds; they are left out");
  }
  if (summary_.missing > 0) {
    sentences.push_back(std::to_string(summary_.missing) + " episodes have no row, the first is " +
                        std::to_string(*summary_.first_missing));
  }
  return sentences;
}

}  // namespace doppler
