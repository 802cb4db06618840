// What held a schedule up, for people: its critical path, and what each step of it waited for (an
// input, its device, a link of its route).
#ifndef DOPPLER_SIM_EXPLAIN_H_
#define DOPPLER_SIM_EXPLAIN_H_

#include <string>

#include "common/assignment.h"
#include "common/executor.h"
#include "common/graph.h"
#include "common/topology.h"

namespace doppler {

// A table with a line for each step, in the order of time, and what the makespan was spent on in
// all. Times in seconds. `execution` is a record of the physical simulator.
std::string explain(const Graph& graph, const Topology& topology, const Assignment& assignment,
                    const Execution& execution);

// "matmul_3 (17)", "17" for an operation without a name.
std::string operation_label(const Graph& graph, OperationId operation);

}  // namespace doppler

#endif  // DOPPLER_SIM_EXPLAIN_H_
