// Assignments spread over the range of makespans, from bad ones to searched ones: what fidelity is
// judged on.
#ifndef DOPPLER_GPUEXEC_SPREAD_ASSIGNMENTS_H_
#define DOPPLER_GPUEXEC_SPREAD_ASSIGNMENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/executor.h"
#include "common/sim_time.h"

namespace doppler {

struct SpreadAssignment {
  Assignment assignment;
  SimTime simulated;
};

// `count` (at least 2) assignments by falling makespan. They are chosen from 40 times as many: the
// best of local search (`evaluations` of it), everything on one device, round robin, random ones,
// and mixtures of the best with these, operation by operation in growing shares. Chosen are those
// nearest to evenly spaced makespans, none twice as long as there are others; best and worst are
// among them. Infeasible ones are left out. A function of the seed.
std::vector<SpreadAssignment> spread_assignments(const CostTable& costs, Executor& simulator,
                                                 std::size_t count, std::int64_t evaluations,
                                                 std::uint64_t seed);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_SPREAD_ASSIGNMENTS_H_
