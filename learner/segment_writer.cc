#include "learner/segment_writer.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "common/check.h"
#include "learner/file_operations.h"
#include "learner/hdf5_file.h"

namespace doppler {
namespace {

// A segment without rows, closed.
void create_segment(const std::string& path, const ArchiveHeader& header, bool lock) {
  Hdf5File file = Hdf5File::create_for_swmr(path, lock);
  {
    Hdf5Group root = file.root();
    root.set_attribute("format", kArchiveFormat);
    root.set_attribute("format_version", kArchiveFormatVersion);
    root.set_attribute("hdf5_version", hdf5_library_version());
    root.set_attribute("run_name", header.run_name);
    root.set_attribute("lineage", header.lineage);
    root.set_attribute("first_episode", header.first_episode);
    root.set_attribute("asynchronous", static_cast<std::uint8_t>(header.asynchronous));
    root.set_attribute("resumed_segment", header.resumed_segment);
    root.set_attribute("resumed_row", header.resumed_row);
    root.set_attribute("tick_unit", header.tick_unit);
    std::vector<std::string> names;
    std::vector<std::uint64_t> hashes;
    std::vector<std::int64_t> counts;
    for (const ArchiveGraph& graph : header.graphs) {
      names.push_back(graph.name);
      hashes.push_back(graph.content_hash);
      counts.push_back(graph.operation_count);
    }
    Hdf5Group graphs = root.create_group("graphs");
    graphs.write_strings("name", names);
    graphs.write<std::uint64_t>("content_hash", hashes);
    graphs.write<std::int64_t>("operation_count", counts);

    Hdf5Group episodes = root.create_group("episodes");
    EpisodeColumns episode_columns;
    for_each_episode_column(episode_columns, [&]<typename T>(const char* name, std::vector<T>&) {
      constexpr std::int64_t kRows = kChunkBytes / static_cast<std::int64_t>(sizeof(T));
      episodes.create_column(name, {.type = hdf5_type_of<T>(), .chunk_rows = kRows});
    });
    Hdf5Group decisions = root.create_group("decisions");
    DecisionColumns decision_columns;
    for_each_decision_column(decision_columns, [&]<typename T>(const char* name, std::vector<T>&) {
      decisions.create_column(name, {.type = hdf5_type_of<T>(),
                                     .chunk_rows = kDecisionChunkRows,
                                     .compressed = true,
                                     .fill = kNoOperation});
    });
    root.create_column("commit",
                       {.type = Hdf5Type::kUint64,
                        .width = kCommitWidth,
                        .chunk_rows = kChunkBytes / static_cast<std::int64_t>(sizeof(CommitRow))});
  }
  file.close();
}

template <typename T>
void append_column(Hdf5Dataset& dataset, std::int64_t first, std::int64_t rows,
                   const std::vector<T>& values) {
  dataset.set_rows(rows);
  dataset.write_rows<T>(first, values);
  dataset.flush();
}

}  // namespace

// ---- WaitingRows

void WaitingRows::append(const Trajectory& trajectory, TrajectoryStatus status,
                         bool with_decisions) {
  const std::size_t count = trajectory.operations.size();
  DP_CHECK_EQ(trajectory.devices.size(), count);
  DP_CHECK_EQ(trajectory.select_log_probabilities.size(), count);
  DP_CHECK_EQ(trajectory.place_log_probabilities.size(), count);
  const bool logged = with_decisions && count > 0;
  episodes_.episode.push_back(trajectory.episode);
  episodes_.graph.push_back(trajectory.graph);
  episodes_.stage.push_back(static_cast<std::uint8_t>(trajectory.stage));
  episodes_.ticket.push_back(trajectory.ticket);
  episodes_.attempt.push_back(trajectory.attempt);
  episodes_.lineage.push_back(trajectory.lineage);
  episodes_.weight_version.push_back(trajectory.weight_version);
  episodes_.worker.push_back(trajectory.worker);
  episodes_.seed.push_back(trajectory.seed);
  episodes_.status.push_back(static_cast<std::uint8_t>(status));
  episodes_.makespan_ticks.push_back(trajectory.makespan.ticks());
  episodes_.measured_seconds.push_back(trajectory.measured_seconds);
  episodes_.repeats.push_back(trajectory.repeats);
  episodes_.spread_seconds.push_back(trajectory.spread_seconds);
  episodes_.decision_offset.push_back(logged ? decision_count() : -1);
  episodes_.decision_count.push_back(logged ? static_cast<std::int64_t>(count) : 0);
  if (!logged) return;
  for (const OperationId operation : trajectory.operations) {
    decisions_.operation.push_back(operation.value());
  }
  for (const DeviceId device : trajectory.devices) decisions_.device.push_back(device.value());
  const auto append = [](std::vector<float>& to, const std::vector<float>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(decisions_.select_log_probability, trajectory.select_log_probabilities);
  append(decisions_.place_log_probability, trajectory.place_log_probabilities);
}

void WaitingRows::clear() {
  for_each_episode_column(episodes_, [](const char*, auto& column) { column.clear(); });
  for_each_decision_column(decisions_, [](const char*, auto& column) { column.clear(); });
}

// ---- SegmentWriter

struct SegmentWriter::Columns {
  Hdf5File file;
  std::vector<Hdf5Dataset> episodes;   // in the order of for_each_episode_column
  std::vector<Hdf5Dataset> decisions;  // in the order of for_each_decision_column
  Hdf5Dataset commit;
};

SegmentWriter::SegmentWriter(const std::string& path, const ArchiveHeader& header, bool lock)
    : path_(path) {
  FileOperations& operations = system_file_operations();
  const std::string temporary = path + kTemporarySuffix;
  try {
    create_segment(temporary, header, lock);
    sync_file(temporary);
    operations.rename(temporary, path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  operations.fsync_folder(std::filesystem::path(path).parent_path().string());
  open(lock);
}

SegmentWriter::~SegmentWriter() {
  if (columns_) columns_->file.abandon();
}

void SegmentWriter::open(bool lock) {
  Hdf5File file = Hdf5File::open_swmr_write(path_, lock);
  const Hdf5Group root = file.root();
  std::vector<Hdf5Dataset> episodes;
  EpisodeColumns episode_columns;
  for_each_episode_column(episode_columns, [&](const char* name, auto&) {
    episodes.push_back(root.dataset(std::string("episodes/") + name));
  });
  std::vector<Hdf5Dataset> decisions;
  DecisionColumns decision_columns;
  for_each_decision_column(decision_columns, [&](const char* name, auto&) {
    decisions.push_back(root.dataset(std::string("decisions/") + name));
  });
  columns_ = std::make_unique<Columns>(Columns{.file = std::move(file),
                                               .episodes = std::move(episodes),
                                               .decisions = std::move(decisions),
                                               .commit = root.dataset("commit")});
}

void SegmentWriter::commit(const WaitingRows& rows) {
  if (rows.episode_count() == 0) return;
  const std::int64_t first_decision = committed_decisions_;
  const std::int64_t chunks = (rows.decision_count() + kDecisionChunkRows - 1) / kDecisionChunkRows;
  const std::int64_t decisions = first_decision + chunks * kDecisionChunkRows;
  if (chunks > 0) {
    auto dataset = columns_->decisions.begin();
    for_each_decision_column(rows.decisions(), [&](const char*, const auto& column) {
      append_column(*dataset++, first_decision, decisions, column);
    });
  }
  std::vector<std::int64_t> offsets = rows.episodes().decision_offset;
  for (std::int64_t& offset : offsets) {
    if (offset >= 0) offset += first_decision;
  }
  const std::int64_t episodes = committed_episodes_ + rows.episode_count();
  auto dataset = columns_->episodes.begin();
  for_each_episode_column(rows.episodes(), [&](const char*, const auto& column) {
    if (static_cast<const void*>(&column) == &rows.episodes().decision_offset) {
      append_column(*dataset++, committed_episodes_, episodes, offsets);
    } else {
      append_column(*dataset++, committed_episodes_, episodes, column);
    }
  });
  const CommitRow row =
      make_commit_row(static_cast<std::uint64_t>(commits_ + 1),
                      static_cast<std::uint64_t>(episodes), static_cast<std::uint64_t>(decisions));
  append_column(columns_->commit, commits_, commits_ + 1, std::vector(row.begin(), row.end()));
  ++commits_;
  committed_episodes_ = episodes;
  committed_decisions_ = decisions;
}

void SegmentWriter::sync() {
  sync_file(path_);
}

void SegmentWriter::close() {
  Hdf5File file = std::move(columns_->file);
  columns_.reset();
  file.close();
  sync_file(path_);
}

}  // namespace doppler
