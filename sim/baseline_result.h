// What a baseline found. Every baseline is costed by the same executor as the learned policy.
#ifndef DOPPLER_SIM_BASELINE_RESULT_H_
#define DOPPLER_SIM_BASELINE_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/assignment.h"
#include "common/executor.h"
#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

struct BaselineResult {
  std::string name;
  Assignment assignment;                      // [operations], the best one
  std::vector<OperationId> order;             // [operations], in which it was decided
  SimTime makespan;                           // of `assignment`, by the executor
  bool feasible = true;                       // false: nothing that was tried fits into memory
  bool optimal = false;                       // true: proven that no assignment is faster
  bool stopped_early = false;                 // true: asked to stop before all was tried
  std::optional<double> mean_makespan_ticks;  // over all tries, where there were several
  double seconds = 0;                         // that the baseline took
  std::int64_t evaluations = 0;               // executor runs

  // Whether a try that costs `other` would be better. A feasible one is better than any other.
  bool improved_by(SimTime other, bool other_feasible) const {
    return feasible != other_feasible ? other_feasible : other < makespan;
  }
};

// The result of a baseline that makes one assignment.
BaselineResult cost_of(Executor& executor, Assignment assignment, std::vector<OperationId> order);

}  // namespace doppler

#endif  // DOPPLER_SIM_BASELINE_RESULT_H_
