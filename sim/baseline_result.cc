#include "sim/baseline_result.h"

#include <utility>

namespace doppler {

BaselineResult cost_of(Executor& executor, Assignment assignment, std::vector<OperationId> order) {
  BaselineResult result;
  result.makespan = executor.run(assignment, order);
  result.feasible = executor.feasible();
  result.assignment = std::move(assignment);
  result.order = std::move(order);
  result.evaluations = 1;
  return result;
}

}  // namespace doppler
