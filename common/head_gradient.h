// HeadGradient: replays trajectories and adds up the gradient of a loss with respect to the tables
// and weights of the heads, by hand-written reverse mode. The encoder's gradient follows from the
// tables' by automatic differentiation in the learner; whoever has the heads (a worker too) can
// compute this part.
#ifndef DOPPLER_COMMON_HEAD_GRADIENT_H_
#define DOPPLER_COMMON_HEAD_GRADIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/config.h"
#include "common/cost_table.h"
#include "common/episode.h"
#include "common/head_gradients.h"
#include "common/heads.h"
#include "common/levels.h"
#include "common/loss_term.h"
#include "common/place_tape.h"
#include "common/replay_statistics.h"
#include "common/step_encoder.h"
#include "common/trajectory.h"
#include "common/trajectory_check.h"

namespace doppler {

class HeadGradient {
 public:
  // The costs, levels, tables and weights must outlive it. Not thread-safe: one a thread. No
  // allocation after construction, but for messages passed at each step.
  HeadGradient(const HeadShape& shape, const CostTable& costs, const Levels& levels,
               SelectPolicy select_policy, PlacePolicy place_policy);

  const CostTable& costs() const { return *costs_; }

  // Whether these are decisions for this graph, in an order and on devices that are allowed.
  bool replays(const Trajectory& trajectory) { return check_.passes(trajectory); }
  // Adds the gradient of one trajectory's loss. Nothing is added, and nullopt returned, when the
  // trajectory does not replay on this graph.
  std::optional<ReplayStatistics> add(const Trajectory& trajectory, const HeadTables& tables,
                                      const HeadWeights& weights, const SelectHead& select_head,
                                      const LossTerm& term, HeadGradients& gradients);

 private:
  ReplayStatistics replay_with_gradient(const Trajectory& trajectory, const HeadTables& tables,
                                        const HeadWeights& weights, const SelectHead& select_head,
                                        const LossTerm& term, HeadGradients& gradients);
  void replay_step_select(const Trajectory& trajectory, std::size_t step, const LossTerm& term,
                          HeadGradients& gradients, ReplayStatistics& statistics);
  void replay_select(const Trajectory& trajectory, std::size_t step, const SelectHead& select_head,
                     const LossTerm& term, HeadGradients& gradients, ReplayStatistics& statistics);
  void replay_joint_select(const Trajectory& trajectory, std::size_t step, const HeadTables& tables,
                           const LossTerm& term, HeadGradients& gradients,
                           ReplayStatistics& statistics);
  template <typename Add>
  void select_gradient(const Trajectory& trajectory, std::size_t step, const LossTerm& term,
                       const Add& add, ReplayStatistics& statistics);
  std::size_t look_at(OperationId operation);
  void replay_place(const Trajectory& trajectory, std::size_t step, std::size_t look,
                    const LossTerm& term, ReplayStatistics& statistics);

  HeadShape shape_;
  const CostTable* costs_;
  const Levels* levels_;
  SelectPolicy select_policy_;
  PlacePolicy place_policy_;
  std::size_t devices_;
  TrajectoryCheck check_;
  Episode episode_;
  PlaceHead place_head_;
  PlaceTape place_tape_;

  // Where messages are passed at each step; else empty. Rows of the tables are filled as the
  // episode goes on, each operation's when it is placed.
  std::unique_ptr<StepEncoder> step_encoder_;
  HeadTables step_tables_;
  HeadGradients step_gradients_;             // of one trajectory
  std::vector<float> step_score_gradients_;  // in the order in which scores were asked for

  // Within a step.
  std::vector<float> scores_;             // [devices]
  std::vector<float> probabilities_;      // [candidates] or [devices]
  std::vector<float> log_probabilities_;  // [candidates]
  std::vector<float> targets_;            // [candidates] or [devices]
  std::vector<float> joint_scores_;       // [candidates]
  std::vector<float> joint_place_;        // [candidates, devices], PLC's probabilities
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_HEAD_GRADIENT_H_
