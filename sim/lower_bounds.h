// Lower bounds of the makespan: no assignment can be faster.
#ifndef DOPPLER_SIM_LOWER_BOUNDS_H_
#define DOPPLER_SIM_LOWER_BOUNDS_H_

#include "common/cost_table.h"
#include "common/sim_time.h"

namespace doppler {

struct LowerBounds {
  SimTime critical_path;  // longest path, each operation on its fastest device, no transfers
  SimTime work;           // all of that work, spread evenly over the devices, rounded up
  SimTime largest;        // of the two
};

LowerBounds lower_bounds(const CostTable& costs);

}  // namespace doppler

#endif  // DOPPLER_SIM_LOWER_BOUNDS_H_
