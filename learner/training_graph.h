// TrainingGraph: a graph to train on, with what is derived from it. Whoever made both must keep
// them.
#ifndef DOPPLER_LEARNER_TRAINING_GRAPH_H_
#define DOPPLER_LEARNER_TRAINING_GRAPH_H_

#include "common/cost_table.h"
#include "common/levels.h"

namespace doppler {

struct TrainingGraph {
  const CostTable* costs = nullptr;
  const Levels* levels = nullptr;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TRAINING_GRAPH_H_
