// The models behind the workloads that are cut by sharding: feed-forward networks, Llama, training
// steps, experts. Partitions are left to sharding, except where the paper's own graphs fix them
// (docs/workloads.md).
#ifndef DOPPLER_COMMON_WORKLOAD_MODELS_H_
#define DOPPLER_COMMON_WORKLOAD_MODELS_H_

#include <cstdint>

#include "common/model.h"

namespace doppler {

struct FfnnSize {
  std::int64_t batch = 1 << 19;
  std::int64_t inputs = 32;
  std::int64_t hidden = 1 << 16;
  std::int64_t outputs = 32;
};
// softmax(relu(X W1) W2), cut as in the paper's graph: parts x parts blocks of batch and hidden.
Model ffnn_model(const FfnnSize& size, std::int32_t parts);

struct LlamaSize {
  std::int64_t batch = 4;
  std::int64_t sequence = 4096;
  std::int64_t width = 4096;
  std::int64_t heads = 32;
  std::int64_t feed_forward = 11008;
  std::int64_t vocabulary = 32000;
};
// Attention and feed-forward network with their norms and residuals, `layers` times.
Model llama_blocks_model(const LlamaSize& size, std::int64_t layers);
// The same between the embedding of the tokens and the logits of the last one.
Model llama_model(const LlamaSize& size, std::int64_t layers);
// The attention alone, with its projections.
Model attention_model(const LlamaSize& size);

struct MlpSize {
  std::int64_t batch = 8192;
  std::int64_t inputs = 4096;
  std::int64_t hidden = 16384;
  std::int64_t outputs = 4096;
};
// Forward pass, backward pass and gradient step of a network with two hidden layers.
Model mlp_training_model(const MlpSize& size);

struct ExpertsSize {
  std::int64_t tokens = 8192;
  std::int64_t width = 4096;
  std::int64_t experts = 8;
  std::int64_t capacity = 1024;  // tokens per expert
  std::int64_t feed_forward = 14336;
};
// Gate, dispatch, experts, combination.
Model mixture_of_experts_model(const ExpertsSize& size);

}  // namespace doppler

#endif  // DOPPLER_COMMON_WORKLOAD_MODELS_H_
