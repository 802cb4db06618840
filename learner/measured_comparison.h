// MeasuredComparison: what placements of one graph take in reality, side by side: the learned ones
// and the baselines', measured in turn at the end of a run with a real stage. Plain data, and how
// it is told.
#ifndef DOPPLER_LEARNER_MEASURED_COMPARISON_H_
#define DOPPLER_LEARNER_MEASURED_COMPARISON_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "learner/checkpoint.h"

namespace doppler {

struct LearnedPlacement {
  std::string name;
  BestPlacement placement;
};

struct MeasuredPlacement {
  std::string name;  // "heft", "stage II, best", ...
  bool learned = false;
  BestPlacement placement;  // makespan: the median, in picoseconds
  double low_seconds = 0;   // interval for the median
  double high_seconds = 0;
  std::string failure;  // why it was not measured, else empty
};

struct MeasuredComparison {
  std::string backend;
  int rounds = 0;
  std::vector<MeasuredPlacement> placements;
  // Positions of the fastest; none where all failed.
  std::optional<std::size_t> best_learned;
  std::optional<std::size_t> best_baseline;
  // best_learned against best_baseline within rounds: the median ratio and an interval for it. 0
  // unless there are both.
  double ratio = 0;
  double ratio_low = 0;
  double ratio_high = 0;
};

std::string comparison_table(const MeasuredComparison& comparison);
// JSON text of an object, for summary.json.
std::string comparison_json(const MeasuredComparison& comparison);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_MEASURED_COMPARISON_H_
