#include "learner/replayers.h"

#include <utility>

namespace doppler {

Replayers::Replayers(const HeadShape& shape, const ModelConfig& model,
                     std::vector<TrainingGraph> graphs)
    : shape_(shape),
      select_policy_(model.select),
      place_policy_(model.place),
      graphs_(std::move(graphs)),
      replayers_(graphs_.size()) {}

HeadGradient& Replayers::of(std::size_t graph) {
  std::unique_ptr<HeadGradient>& replayer = replayers_[graph];
  if (!replayer) {
    replayer = std::make_unique<HeadGradient>(shape_, *graphs_[graph].costs, *graphs_[graph].levels,
                                              select_policy_, place_policy_);
  }
  return *replayer;
}

}  // namespace doppler
