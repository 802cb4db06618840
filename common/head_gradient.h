// HeadGradient: replays trajectories and adds up the gradient of a loss with respect to the tables
// and weights of the heads, by hand-written reverse mode. The encoder's gradient follows from the
// tables' by automatic differentiation in the learner; whoever has the heads (a worker too) can
// compute this part.
//
// Losses, per trajectory, to be minimised:
//   policy gradient: - sum over decisions of advantage * min-clipped ratio - entropy_weight *
//   (entropy of SEL and PLC) imitation:       - sum over decisions of sum_a target(a) log pi(a),
//   the target of ties shared equally
#ifndef DOPPLER_COMMON_HEAD_GRADIENT_H_
#define DOPPLER_COMMON_HEAD_GRADIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/config.h"
#include "common/cost_table.h"
#include "common/episode.h"
#include "common/heads.h"
#include "common/levels.h"
#include "common/step_encoder.h"
#include "common/trajectory.h"

namespace doppler {

// Same shapes as the tables and weights that they are gradients of.
struct HeadGradients {
  HeadTables tables;
  HeadWeights weights;

  void reset(const HeadShape& shape, std::size_t operation_count);
  void add(const HeadGradients& other);
  void scale(float factor);
  bool operator==(const HeadGradients&) const = default;
};

// What a replay found, summed over the decisions of one trajectory.
struct ReplayStatistics {
  double select_log_probability = 0;
  double place_log_probability = 0;
  double select_entropy = 0;
  double place_entropy = 0;
  double loss = 0;
  std::int64_t clipped_decisions = 0;
  // Of the importance ratios of its decisions, where there are ratios.
  double ratio_sum = 0;
  double ratio_square_sum = 0;
  std::int64_t ratio_count = 0;
  float largest_log_probability_difference = 0;  // replayed against the behaviour policy's

  void add(const ReplayStatistics& other);
  bool operator==(const ReplayStatistics&) const = default;
};

enum class LossKind { kPolicyGradient, kImitation };

// How one trajectory enters the batch's loss.
struct LossTerm {
  LossKind kind = LossKind::kPolicyGradient;
  float weight = 1;  // of the whole trajectory
  // kPolicyGradient:
  float advantage = 0;
  float entropy_weight = 0;
  float clip_ratio = 0;  // c: a decision whose importance ratio left [1 - c, 1 + c] in the
                         // advantage's direction adds nothing, nor does a punished one whose ratio
                         // exceeds 10; 0: no ratio at all (plain REINFORCE)
  // kImitation: the critical path's targets are all candidates of maximal bottom level and all
  // devices of earliest start; another teacher's are the decisions of the trajectory.
  Teacher teacher = Teacher::kCriticalPath;
};

class HeadGradient {
 public:
  // The costs, levels, tables and weights must outlive it. Not thread-safe: one a thread. No
  // allocation after construction, but for messages passed at each step.
  HeadGradient(const HeadShape& shape, const CostTable& costs, const Levels& levels,
               SelectPolicy select_policy, PlacePolicy place_policy);

  const CostTable& costs() const { return *costs_; }

  // Whether these are decisions for this graph, in an order and on devices that are allowed.
  bool replays(const Trajectory& trajectory);
  // Adds the gradient of one trajectory's loss. Nothing is added, and nullopt returned, when the
  // trajectory does not replay on this graph.
  std::optional<ReplayStatistics> add(const Trajectory& trajectory, const HeadTables& tables,
                                      const HeadWeights& weights, const SelectHead& select_head,
                                      const LossTerm& term, HeadGradients& gradients);
  // Log-probabilities alone: their sums and how far they are from the behaviour policy's. nullopt
  // as above. Not for policies that pass messages at each step.
  std::optional<ReplayStatistics> replay(const Trajectory& trajectory, const HeadTables& tables,
                                         const HeadWeights& weights, const SelectHead& select_head);

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
  std::size_t look_at(OperationId operation, std::size_t first_look);
  void replay_place(const Trajectory& trajectory, std::size_t step, std::size_t look,
                    const LossTerm& term, ReplayStatistics& statistics);
  template <std::size_t kUsed, std::size_t kRank, std::size_t kHidden>
  void backward_look(std::size_t look, std::size_t step, const HeadTables& tables,
                     const HeadWeights& weights, HeadGradients& gradients);
  void backward_place(const Trajectory& trajectory, const HeadTables& tables,
                      const HeadWeights& weights, HeadGradients& gradients);

  HeadShape shape_;
  const CostTable* costs_;
  const Levels* levels_;
  SelectPolicy select_policy_;
  PlacePolicy place_policy_;
  std::size_t devices_;
  Episode episode_;
  PlaceHead place_head_;

  // Where messages are passed at each step; else empty. Rows of the tables are filled as the
  // episode goes on, each operation's when it is placed.
  std::unique_ptr<StepEncoder> step_encoder_;
  HeadTables step_tables_;
  HeadGradients step_gradients_;             // of one trajectory
  std::vector<float> step_score_gradients_;  // in the order in which scores were asked for

  // Kept for the reverse pass. A look is an operation scored on all devices in a step: the selected
  // one, or all candidates of a joint policy.
  std::vector<OperationId> looks_;
  std::vector<std::size_t> step_looks_;  // [steps + 1], the first of each step
  std::vector<float> features_;          // [looks, devices, kPlaceFeatureCount]
  std::vector<float> hidden_;            // [looks, devices, place_hidden], arguments of relu
  std::vector<float> score_gradients_;   // [looks, devices]
  std::vector<float> aggregates_;        // [steps, devices, contribution_width]
  // Within a step.
  std::vector<float> scores_;               // [devices]
  std::vector<float> probabilities_;        // [candidates] or [devices]
  std::vector<float> log_probabilities_;    // [candidates]
  std::vector<float> targets_;              // [candidates] or [devices]
  std::vector<float> aggregate_gradients_;  // [devices, contribution_width]
  std::vector<float> hidden_gradients_;     // [devices, 8], of eight hidden units
  std::vector<float> joint_scores_;         // [candidates]
  std::vector<float> joint_place_;          // [candidates, devices], PLC's probabilities
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_HEAD_GRADIENT_H_
