// Energy: what learning and search lower. The makespan, plus a share of all transfers.
//
// Makespans are flat: most changes of a placement change none, and of placements with one makespan
// the one that transfers less leaves more room for the next change. On a real machine it is quicker
// besides, because transfers cost those who compute.
#ifndef DOPPLER_COMMON_ENERGY_H_
#define DOPPLER_COMMON_ENERGY_H_

#include <cstdint>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/sim_time.h"
#include "common/trajectory.h"

namespace doppler {

// The sum over all edges of what each takes between its devices. O(edges).
std::int64_t transfer_ticks(const CostTable& costs, const Assignment& assignment);

// The makespan, and `transfer_weight` times the transfers of an even share of the devices. The
// trajectory must be of this cost table's graph.
SimTime energy(const CostTable& costs, const Trajectory& trajectory, double transfer_weight);

}  // namespace doppler

#endif  // DOPPLER_COMMON_ENERGY_H_
