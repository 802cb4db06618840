// What a run folder holds, as far as it can be told without its graphs: `doppler inspect` prints
// it, as text or as JSON.
#ifndef DOPPLER_LEARNER_INSPECT_REPORT_H_
#define DOPPLER_LEARNER_INSPECT_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace doppler {

// {"checkpoints": [...], "segments": [...], "episodes": {...}, "graphs": [...], "problems": [...]};
// the names within are those of docs/formats.md. `best_episodes`: how many of the shortest episodes
// of each graph are listed.
nlohmann::ordered_json inspect_run(const std::string& run_dir, std::size_t best_episodes);

// The same of one file, a checkpoint or a trajectory segment. FormatError when it is damaged.
nlohmann::ordered_json inspect_file(const std::string& path, std::size_t best_episodes);

// One episode with its decisions. `path`: a run folder or a segment. ConfigError when there is no
// such episode.
nlohmann::ordered_json inspect_episode(const std::string& path, std::uint64_t episode);

// For people.
std::string inspect_text(const nlohmann::ordered_json& report);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_INSPECT_REPORT_H_
