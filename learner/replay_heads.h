// ReplayHeads: the heads of all graphs under one weight version, as replays need them. May be
// shared between threads that only read.
#ifndef DOPPLER_LEARNER_REPLAY_HEADS_H_
#define DOPPLER_LEARNER_REPLAY_HEADS_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "common/head_gradients.h"
#include "common/heads.h"
#include "common/weight_snapshot.h"

namespace doppler {

class ReplayHeads {
 public:
  explicit ReplayHeads(WeightSnapshot snapshot) : snapshot_(std::move(snapshot)) {
    for (const HeadTables& tables : snapshot_.tables) select_.emplace_back(tables.select_scores);
  }
  // What SEL precomputed refers to the tables.
  ReplayHeads(const ReplayHeads&) = delete;
  ReplayHeads& operator=(const ReplayHeads&) = delete;

  const HeadShape& shape() const { return snapshot_.shape; }
  const HeadWeights& weights() const { return snapshot_.weights; }
  std::size_t graph_count() const { return select_.size(); }
  const HeadTables& tables(std::size_t graph) const { return snapshot_.tables[graph]; }
  const SelectHead& select(std::size_t graph) const { return select_[graph]; }
  std::size_t operation_count(std::size_t graph) const {
    return snapshot_.tables[graph].select_scores.size();
  }

  // One for each graph, of these shapes and all zero.
  void reset(std::vector<HeadGradients>& gradients) const {
    gradients.resize(graph_count());
    for (std::size_t g = 0; g < graph_count(); ++g) gradients[g].reset(shape(), operation_count(g));
  }

 private:
  WeightSnapshot snapshot_;
  std::vector<SelectHead> select_;  // [graphs]
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_REPLAY_HEADS_H_
