// Executor: carries an assignment out, in simulation or for real. The seam between the policies and the machine.
#ifndef DOPPLER_COMMON_EXECUTOR_H_
#define DOPPLER_COMMON_EXECUTOR_H_

#include <span>
#include <vector>

#include "common/assignment.h"
#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

// What happened. Filled on request (a Gantt chart, a trace); evaluations alone need only the makespan.
struct Execution {
  SimTime makespan;
  IdVector<OperationId, SimTime> start;  // [operations]
  IdVector<OperationId, SimTime> end;    // [operations]
};

class Executor {
 public:
  virtual ~Executor() = default;

  // The makespan of `assignment` ([operations], every device in range). `order` is the order in which SEL selected the
  // operations, for executors that dispatch by priority; it may be empty. Not thread-safe: one executor a thread.
  virtual SimTime run(const Assignment& assignment, std::span<const OperationId> order) = 0;

  // The same, with the record of it.
  virtual Execution run_recorded(const Assignment& assignment,
                                 std::span<const OperationId> order) = 0;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_EXECUTOR_H_
