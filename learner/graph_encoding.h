// The heads for any graph, by parameters that were trained elsewhere (zero-shot). LibTorch stays
// behind this header.
#ifndef DOPPLER_LEARNER_GRAPH_ENCODING_H_
#define DOPPLER_LEARNER_GRAPH_ENCODING_H_

#include <cstdint>
#include <vector>

#include "common/config.h"
#include "common/weight_snapshot.h"
#include "learner/checkpoint.h"
#include "learner/training_graph.h"

namespace doppler {

// The tables per operation serve only a graph that stands at the position `table` (-1: none).
// Throws FormatError when the parameters do not fit the model.
WeightSnapshot encode_graph(const ModelConfig& model, const std::vector<NamedTensor>& parameters,
                            const TrainingGraph& graph, std::int64_t table);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_GRAPH_ENCODING_H_
