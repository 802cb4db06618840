// GroupGradient: the gradient of the loss of a group of episodes, all of one ticket, with respect
// to the tables and weights of the heads. Whoever played the group has all that it takes, so a
// worker can compute it and spare the learner the replay. Advantages are normalised within the
// group.
#ifndef DOPPLER_COMMON_GROUP_GRADIENT_H_
#define DOPPLER_COMMON_GROUP_GRADIENT_H_

#include <span>
#include <vector>

#include "common/config.h"
#include "common/head_gradients.h"
#include "common/heads.h"
#include "common/replay_statistics.h"
#include "common/trajectory.h"
#include "common/weight_snapshot.h"

namespace doppler {

class HeadGradient;

// The parts of the loss that are the learner's to say; they travel with the ticket.
struct GradientOrder {
  float episode_weight = 1;  // of one episode's loss in the update
  float entropy_weight = 0;
  double transfer_weight = 0;  // in the energy that advantages are of (energy.h)
  float clip_ratio = 0;
  Teacher teacher = Teacher::kCriticalPath;  // whom the imitation stage imitates
  bool operator==(const GradientOrder&) const = default;
};

struct GroupGradient {
  HeadGradients sum;
  ReplayStatistics statistics;  // summed over the episodes
  bool operator==(const GroupGradient&) const = default;
};

// Of trajectories that replay (HeadGradient::replays) and were played with `snapshot`, all of one
// graph and one stage. The same function, in the same order, as the learner's own.
GroupGradient group_gradient(std::span<const Trajectory> trajectories,
                             const WeightSnapshot& snapshot, const SelectHead& select_head,
                             const GradientOrder& order, HeadGradient& replay);

// Whether every number is finite and every array has the size that this graph's has.
bool is_sound(const GroupGradient& gradient, const HeadShape& shape, std::size_t operation_count);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GROUP_GRADIENT_H_
