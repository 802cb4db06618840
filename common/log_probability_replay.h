// LogProbabilityReplay: how probable the decisions of a trajectory are under given heads, and how
// far that is from what the behaviour policy said. HeadGradient finds the same beside its gradient.
#ifndef DOPPLER_COMMON_LOG_PROBABILITY_REPLAY_H_
#define DOPPLER_COMMON_LOG_PROBABILITY_REPLAY_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "common/config.h"
#include "common/cost_table.h"
#include "common/episode.h"
#include "common/heads.h"
#include "common/replay_statistics.h"
#include "common/trajectory.h"
#include "common/trajectory_check.h"

namespace doppler {

class LogProbabilityReplay {
 public:
  // Not for policies that pass messages at each step. `costs` must outlive it. Not thread-safe. No
  // allocation after construction.
  LogProbabilityReplay(const HeadShape& shape, const CostTable& costs, SelectPolicy select_policy,
                       PlacePolicy place_policy);

  // The log-probabilities' sums and the largest difference; the rest stays 0. nullopt when the
  // trajectory does not replay on this graph.
  std::optional<ReplayStatistics> replay(const Trajectory& trajectory, const HeadTables& tables,
                                         const HeadWeights& weights, const SelectHead& select_head);

 private:
  float select_log_probability(OperationId chosen, const HeadTables& tables,
                               const SelectHead& select_head);
  void score(OperationId operation);

  SelectPolicy select_policy_;
  PlacePolicy place_policy_;
  TrajectoryCheck check_;
  Episode episode_;
  PlaceHead place_head_;
  std::vector<float> scores_;               // [devices]
  std::vector<float> place_probabilities_;  // [devices]
  // Joint policies alone:
  std::vector<float> joint_scores_;   // [candidates]
  std::vector<float> probabilities_;  // [candidates]
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_LOG_PROBABILITY_REPLAY_H_
