// How a trajectory segment lies in an HDF5 file: what writer and reader must agree on.
// docs/formats.md says the same for everybody else.
//
//   /episodes/<column>   one row an episode, each column a dataset of its own
//   /decisions/<column>  one row a decision; an episode's rows follow each other from its
//   decision_offset /graphs/<column>     one row a graph of the run /commit              [n, 4]:
//   row k says how many rows of the others may be trusted; written last
#ifndef DOPPLER_LEARNER_ARCHIVE_FORMAT_H_
#define DOPPLER_LEARNER_ARCHIVE_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/hash.h"

namespace doppler {

inline constexpr std::int64_t kArchiveFormatVersion = 1;
inline constexpr const char* kArchiveFormat = "doppler-trajectories";

struct ArchiveGraph {
  std::string name;
  std::uint64_t content_hash = 0;
  std::int64_t operation_count = 0;
  bool operator==(const ArchiveGraph&) const = default;
};

// What is the same for all rows of a segment.
struct ArchiveHeader {
  std::string run_name;
  std::uint32_t lineage = 0;  // how often the run had been resumed
  // Rows of segments of smaller lineages with this episode or a later one are void: this lineage
  // plays them again.
  std::uint64_t first_episode = 0;
  // Episodes are trained in another order than that of their numbers, and numbers of those that are
  // lost with a learner stay without a row.
  bool asynchronous = false;
  // Where the log ended for the checkpoint that this lineage began with: rows of smaller lineages
  // from there on are void, whatever their numbers. Segment 0: nowhere.
  std::uint64_t resumed_segment = 0;
  std::uint64_t resumed_row = 0;
  std::vector<ArchiveGraph> graphs;
  std::string tick_unit;  // of makespan_ticks: "picoseconds", or what the graph file's costs count
  bool operator==(const ArchiveHeader&) const = default;
};

struct EpisodeColumns {
  std::vector<std::uint64_t> episode;
  std::vector<std::uint32_t> graph;
  std::vector<std::uint8_t> stage;
  std::vector<std::uint64_t> ticket;
  std::vector<std::uint32_t> attempt;
  std::vector<std::uint32_t> lineage;
  std::vector<std::uint64_t> weight_version;
  std::vector<std::uint32_t> worker;
  std::vector<std::uint64_t> seed;
  std::vector<std::uint8_t> status;
  std::vector<std::int64_t> makespan_ticks;
  std::vector<double> measured_seconds;
  std::vector<std::uint32_t> repeats;
  std::vector<double> spread_seconds;
  std::vector<std::int64_t> decision_offset;  // -1: the decisions were not logged
  std::vector<std::int64_t> decision_count;   // 0: the decisions were not logged
};

struct DecisionColumns {
  std::vector<std::int32_t> operation;
  std::vector<std::int32_t> device;
  std::vector<float> select_log_probability;
  std::vector<float> place_log_probability;
};

// visit(name, column) for each, in the order above.
template <typename Columns, typename Visitor>
void for_each_episode_column(Columns& columns, Visitor visit) {
  visit("episode", columns.episode);
  visit("graph", columns.graph);
  visit("stage", columns.stage);
  visit("ticket", columns.ticket);
  visit("attempt", columns.attempt);
  visit("lineage", columns.lineage);
  visit("weight_version", columns.weight_version);
  visit("worker", columns.worker);
  visit("seed", columns.seed);
  visit("status", columns.status);
  visit("makespan_ticks", columns.makespan_ticks);
  visit("measured_seconds", columns.measured_seconds);
  visit("repeats", columns.repeats);
  visit("spread_seconds", columns.spread_seconds);
  visit("decision_offset", columns.decision_offset);
  visit("decision_count", columns.decision_count);
}

template <typename Columns, typename Visitor>
void for_each_decision_column(Columns& columns, Visitor visit) {
  visit("operation", columns.operation);
  visit("device", columns.device);
  visit("select_log_probability", columns.select_log_probability);
  visit("place_log_probability", columns.place_log_probability);
}

// Chunks of episode columns and of /commit. They are not compressed, and are written again in place
// as they fill: what was committed in them stays as it is, byte by byte.
inline constexpr std::int64_t kChunkBytes = 64 * 1024;
// Chunks of decision columns are compressed. A compressed chunk that is written again may move or
// tear, so each is written once: every commit begins new ones, and rows that it leaves free hold
// operation -1.
inline constexpr std::int64_t kDecisionChunkRows = 32 * 1024;
inline constexpr std::int64_t kNoOperation = -1;

// A row of /commit: number of the row from 1, episode rows, decision rows, check. 32 bytes, so that
// none lies across two pages; the check tells a row that was written from one that was not,
// whatever a kill left.
inline constexpr std::int64_t kCommitWidth = 4;
using CommitRow = std::array<std::uint64_t, static_cast<std::size_t>(kCommitWidth)>;

inline CommitRow make_commit_row(std::uint64_t number, std::uint64_t episode_rows,
                                 std::uint64_t decision_rows) {
  Hasher hasher;
  hasher.add(number);
  hasher.add(episode_rows);
  hasher.add(decision_rows);
  return {number, episode_rows, decision_rows, hasher.digest()};
}

inline bool is_valid_commit_row(const CommitRow& row, std::uint64_t number) {
  return row[0] == number && row == make_commit_row(row[0], row[1], row[2]);
}

// RUN_DIR/trajectories/segment-000001.h5
std::string archive_folder(const std::string& run_dir);
std::string segment_name(std::uint64_t number);
// The number in exactly such a name; of any other name none.
std::optional<std::uint64_t> segment_number(std::string_view name);
// Numbers of the segments in a folder, ascending; none when it does not exist. SystemError when it
// cannot be read.
std::vector<std::uint64_t> segment_numbers(const std::string& folder);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_ARCHIVE_FORMAT_H_
