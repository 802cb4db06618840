// Replayers: for each graph that is trained on the workspace of its replays, made when it is first
// needed. Not thread-safe: one a thread.
#ifndef DOPPLER_LEARNER_REPLAYERS_H_
#define DOPPLER_LEARNER_REPLAYERS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "common/config.h"
#include "common/head_gradient.h"
#include "common/heads.h"
#include "learner/training_graph.h"

namespace doppler {

class Replayers {
 public:
  // Costs and levels must outlive it.
  Replayers(const HeadShape& shape, const ModelConfig& model, std::vector<TrainingGraph> graphs);

  std::size_t graph_count() const { return graphs_.size(); }
  HeadGradient& of(std::size_t graph);

 private:
  HeadShape shape_;
  SelectPolicy select_policy_;
  PlacePolicy place_policy_;
  std::vector<TrainingGraph> graphs_;
  std::vector<std::unique_ptr<HeadGradient>> replayers_;  // [graphs]
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_REPLAYERS_H_
