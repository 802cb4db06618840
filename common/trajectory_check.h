// TrajectoryCheck: whether a trajectory, from wherever it came, holds decisions for a graph in an
// order and on devices that are allowed. Only such trajectories may be replayed.
#ifndef DOPPLER_COMMON_TRAJECTORY_CHECK_H_
#define DOPPLER_COMMON_TRAJECTORY_CHECK_H_

#include <cstdint>
#include <vector>

#include "common/cost_table.h"
#include "common/trajectory.h"

namespace doppler {

class TrajectoryCheck {
 public:
  // `costs` must outlive it. Not thread-safe. No allocation after construction.
  explicit TrajectoryCheck(const CostTable& costs);

  bool passes(const Trajectory& trajectory);

 private:
  const CostTable* costs_;
  std::vector<std::uint8_t> is_placed_;  // [operations], scratch
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_TRAJECTORY_CHECK_H_
