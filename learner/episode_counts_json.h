// The books of a run's episodes in JSON, under the names that everybody calls them by.
#ifndef DOPPLER_LEARNER_EPISODE_COUNTS_JSON_H_
#define DOPPLER_LEARNER_EPISODE_COUNTS_JSON_H_

#include <nlohmann/json.hpp>

#include "learner/episode_counts.h"

namespace doppler {

inline nlohmann::ordered_json counts_json(const EpisodeCounts& counts) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const EpisodeCountField& field : kEpisodeCountFields) json[field.name] = counts.*field.count;
  return json;
}

}  // namespace doppler

#endif  // DOPPLER_LEARNER_EPISODE_COUNTS_JSON_H_
