// What the worker programs have in common: from the command line that a supervisor writes
// (common/worker_supervisor.h) to the learner's goodbye.
#ifndef DOPPLER_ACTORS_WORKER_PROGRAM_H_
#define DOPPLER_ACTORS_WORKER_PROGRAM_H_

#include <functional>
#include <memory>

#include "common/config.h"
#include "common/cost_table.h"
#include "common/executor.h"
#include "common/physical_options.h"
#include "common/topology.h"

namespace doppler {

// What a real stage measures on. Cost table and topology outlive it. May throw SystemError: the
// worker ends, and its supervisor starts another.
using RealExecutorFactory = std::function<std::unique_ptr<Executor>(
    const ExecutionConfig&, const CostTable&, const Topology&, const PhysicalOptions&)>;

// `make_real` is empty in the program that only simulates. Returns an exit code; throws what
// run_program() reports.
int run_worker_program(int argc, char** argv, const RealExecutorFactory& make_real);

}  // namespace doppler

#endif  // DOPPLER_ACTORS_WORKER_PROGRAM_H_
