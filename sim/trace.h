// Traces of executions in the JSON of Chrome's trace viewer, which Perfetto reads too.
//
// Process "devices" has a row for each device with the operations that it ran, process "links" a
// row for each link with the transfers on it (more rows where transfers overlap). Arrows lead from
// each operation to those that read its output, over the transfer where there is one. Times are
// microseconds with all their digits. Format: "Trace Event Format", Google, phases X, M, s and f.
#ifndef DOPPLER_SIM_TRACE_H_
#define DOPPLER_SIM_TRACE_H_

#include <string>

#include "common/assignment.h"
#include "common/executor.h"
#include "common/graph.h"
#include "common/topology.h"

namespace doppler {

// `execution` is a record of the physical simulator.
std::string chrome_trace(const Graph& graph, const Topology& topology, const Assignment& assignment,
                         const Execution& execution);

}  // namespace doppler

#endif  // DOPPLER_SIM_TRACE_H_
