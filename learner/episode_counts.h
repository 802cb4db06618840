// EpisodeCounts: the books of a run's episodes, and what everybody calls their entries.
#ifndef DOPPLER_LEARNER_EPISODE_COUNTS_H_
#define DOPPLER_LEARNER_EPISODE_COUNTS_H_

#include <array>
#include <cstdint>

namespace doppler {

// Fates of tickets' episodes so far (attempts apart); the accounting identity is
// opened = trained + dropped_* + failed + discarded_at_resume + outstanding.
struct EpisodeCounts {
  std::uint64_t opened = 0;
  std::uint64_t trained = 0;
  std::uint64_t dropped_stale = 0;
  std::uint64_t dropped_invalid = 0;
  std::uint64_t dropped_lineage = 0;
  std::uint64_t failed = 0;
  std::uint64_t discarded_at_resume = 0;
  std::uint64_t outstanding = 0;
  bool operator==(const EpisodeCounts&) const = default;
};

// In checkpoints, metrics, summaries and reports.
struct EpisodeCountField {
  const char* name;
  std::uint64_t EpisodeCounts::*count;
};
inline constexpr std::array<EpisodeCountField, 8> kEpisodeCountFields = {{
    {"opened", &EpisodeCounts::opened},
    {"trained", &EpisodeCounts::trained},
    {"dropped_stale", &EpisodeCounts::dropped_stale},
    {"dropped_invalid", &EpisodeCounts::dropped_invalid},
    {"dropped_lineage", &EpisodeCounts::dropped_lineage},
    {"failed", &EpisodeCounts::failed},
    {"discarded_at_resume", &EpisodeCounts::discarded_at_resume},
    {"outstanding", &EpisodeCounts::outstanding},
}};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_EPISODE_COUNTS_H_
