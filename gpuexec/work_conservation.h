// How well a run kept its devices at work: the times that a device was idle although an operation
// could have run there.
#ifndef DOPPLER_GPUEXEC_WORK_CONSERVATION_H_
#define DOPPLER_GPUEXEC_WORK_CONSERVATION_H_

#include <vector>

#include "common/assignment.h"
#include "common/executor.h"
#include "common/graph.h"

namespace doppler {

// For each operation that ran, by device and start: the time before its start in which its device
// was idle while at least one operation of that device that had not started yet had all inputs
// there (the operations that it reads from had ended, and so had their transfers). From ends and
// starts alone; what the executor noted as ready does not count.
std::vector<SimTime> idle_with_ready_work(const Graph& graph, const Assignment& assignment,
                                          const Execution& execution);

// The smallest value that at least `fraction` of `times` do not exceed; 0 for none.
SimTime quantile(std::vector<SimTime> times, double fraction);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_WORK_CONSERVATION_H_
