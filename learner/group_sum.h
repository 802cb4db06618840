// The sum of gradients that workers computed, each for the episodes of a ticket.
#ifndef DOPPLER_LEARNER_GROUP_SUM_H_
#define DOPPLER_LEARNER_GROUP_SUM_H_

#include <cstddef>
#include <vector>

#include "common/group_gradient.h"
#include "common/head_gradients.h"
#include "common/trajectory.h"
#include "learner/replay_heads.h"
#include "learner/replayers.h"
#include "learner/update_statistics.h"

namespace doppler {

// The episodes of a ticket within a batch, and the gradient that their worker computed.
struct TrainingGroup {
  std::size_t first = 0;
  std::size_t count = 0;
  GroupGradient gradient;
};

// Writes the sum over the groups, in their order, into gradients [graphs], as the mean over a batch
// whose episodes were weighed as if they were `full_batch`. A group whose gradient is not sound, or
// one of whose trajectories does not replay, adds nothing and all of it is invalid [batch].
UpdateStatistics sum_groups(const std::vector<Trajectory>& batch,
                            const std::vector<TrainingGroup>& groups, std::size_t full_batch,
                            const ReplayHeads& heads, Replayers& replayers,
                            std::vector<HeadGradients>& gradients, std::vector<bool>& invalid);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_GROUP_SUM_H_
