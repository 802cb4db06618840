// Sums up the rows of a trajectory log: counts, ranges, the shortest episodes.
#ifndef DOPPLER_LEARNER_LOG_STATISTICS_H_
#define DOPPLER_LEARNER_LOG_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "learner/archive_format.h"
#include "learner/archive_reader.h"

namespace doppler {

struct ValueRange {
  double smallest = 0;
  double largest = 0;
  double sum = 0;
  std::uint64_t count = 0;

  void add(double value);
};

class LogStatistics {
 public:
  // `best_episodes`: how many of the shortest episodes of each graph are kept.
  explicit LogStatistics(std::size_t best_episodes) : best_episodes_(best_episodes) {}

  void add(const EpisodeRow& row);

  // {"count", "superseded", ..., "by_status", "by_stage", "ranges"}
  nlohmann::ordered_json episodes_json(const ArchiveSummary& summary) const;
  // [{"graph", "name", "operation_count", "makespan_ticks", "best_episodes"}]
  nlohmann::ordered_json graphs_json(const std::vector<ArchiveGraph>& graphs) const;

 private:
  struct GraphLog {
    ValueRange makespans;
    std::vector<EpisodeRow> shortest;  // ascending; of equal ones the earlier first
  };
  void add_makespan(const EpisodeRow& row);

  std::size_t best_episodes_;
  std::map<std::string, std::uint64_t> by_status_;
  std::map<std::string, std::uint64_t> by_stage_;
  std::map<std::string, ValueRange> ranges_;  // by column
  std::map<std::uint32_t, GraphLog> graphs_;
  std::uint64_t with_decisions_ = 0;
};

// The row's columns by their names in docs/formats.md, stage and status in words.
nlohmann::ordered_json episode_json(const EpisodeRow& row);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_LOG_STATISTICS_H_
