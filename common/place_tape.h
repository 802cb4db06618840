// PlaceTape: what PLC saw and scored in one episode, and the reverse pass over it: from gradients
// of scores to those of tables and weights.
//
// A look is an operation scored on all devices in a step: the one that was selected, or all
// candidates of a joint policy. Not thread-safe. No allocation after construction, but for joint
// policies.
#ifndef DOPPLER_COMMON_PLACE_TAPE_H_
#define DOPPLER_COMMON_PLACE_TAPE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "common/head_gradients.h"
#include "common/heads.h"
#include "common/ids.h"
#include "common/trajectory.h"

namespace doppler {

class PlaceTape {
 public:
  PlaceTape(const HeadShape& shape, std::size_t operation_count, std::size_t device_count);

  // Begins an episode.
  void reset();
  // Begins a step, with what lies on the devices so far: PlaceHead::aggregates().
  void begin_step(std::span<const float> aggregates);
  // A look of this step, with features [devices, kPlaceFeatureCount]; an operation that was looked
  // at in this step already keeps its place. A new look's gradients are zero.
  std::size_t look(OperationId operation, std::span<const float> features);
  std::size_t look_count() const { return looks_.size(); }

  // [devices, place_hidden], arguments of relu, for PlaceHead::score to write. Valid until the next
  // look.
  float* hidden(std::size_t look) {
    return hidden_.data() + look * device_count_ * shape_.place_hidden;
  }
  // [devices], for whoever knows the loss to add to. Valid until the next look.
  std::span<float> score_gradients(std::size_t look) {
    return {score_gradients_.data() + look * device_count_, device_count_};
  }

  // Adds what follows from all score_gradients(). `trajectory` is the episode; features count up to
  // the column `used_features`.
  void backward(const Trajectory& trajectory, const HeadTables& tables, const HeadWeights& weights,
                std::size_t used_features, HeadGradients& gradients);

 private:
  void backward_terms(std::size_t at, HeadGradients& gradients) const;
  template <std::size_t kUsed, std::size_t kRank, std::size_t kHidden>
  void backward_look(std::size_t look, std::size_t step, const HeadTables& tables,
                     const HeadWeights& weights, std::size_t used_features,
                     HeadGradients& gradients);

  HeadShape shape_;
  std::size_t device_count_;
  std::vector<OperationId> looks_;
  std::vector<std::size_t> step_looks_;  // [steps so far], the first of each step
  std::vector<float> features_;          // [looks, devices, kPlaceFeatureCount]
  std::vector<float> hidden_;            // [looks, devices, place_hidden]
  std::vector<float> score_gradients_;   // [looks, devices]
  std::vector<float> aggregates_;        // [steps, devices, contribution_width]
  // Within the reverse pass.
  std::vector<float> aggregate_gradients_;  // [devices, contribution_width]
  std::vector<float> hidden_gradients_;     // [devices, 8], of eight hidden units
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_PLACE_TAPE_H_
