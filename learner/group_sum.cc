#include "learner/group_sum.h"

#include <algorithm>
#include <span>

#include "common/check.h"

namespace doppler {

UpdateStatistics sum_groups(const std::vector<Trajectory>& batch,
                            const std::vector<TrainingGroup>& groups, std::size_t full_batch,
                            const ReplayHeads& heads, Replayers& replayers,
                            std::vector<HeadGradients>& gradients, std::vector<bool>& invalid) {
  heads.reset(gradients);
  invalid.assign(batch.size(), true);
  ReplaySum sum;
  for (const TrainingGroup& group : groups) {
    DP_CHECK(group.first + group.count <= batch.size());
    if (group.count == 0 || batch[group.first].graph >= heads.graph_count()) continue;
    const std::uint32_t g = batch[group.first].graph;
    if (!is_sound(group.gradient, heads.shape(), heads.operation_count(g))) continue;
    const std::span trajectories(batch.data() + group.first, group.count);
    HeadGradient& replayer = replayers.of(g);
    if (!std::all_of(trajectories.begin(), trajectories.end(),
                     [&](const Trajectory& t) { return t.graph == g && replayer.replays(t); })) {
      continue;
    }
    std::fill_n(invalid.begin() + static_cast<std::ptrdiff_t>(group.first), group.count, false);
    gradients[g].add(group.gradient.sum);
    sum.add(group.gradient.statistics, group.count,
            group.count * trajectories.front().operations.size());
  }
  // Episodes were weighed as in a full batch; one that lost tickets is smaller.
  if (batch.size() != full_batch) {
    const float factor = static_cast<float>(full_batch) / static_cast<float>(batch.size());
    for (HeadGradients& gradient : gradients) gradient.scale(factor);
  }
  return sum.statistics(batch.size());
}

}  // namespace doppler
