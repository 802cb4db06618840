// PolicyNetwork: the encoder of both policies, and the parameters of their heads, in LibTorch
// (paper, section 4.2). Private to the learner: the only header here that shows LibTorch.
//
//   H: Z[v] -> linear -> h,
//      then rounds of h += relu(W [h | mean of h over inputs | mean of h over outputs]),
//      then layer norm
//   SEL: score[v] = mlp [H[v] | mean H on the critical path to the exit | to the entry | Z[v]]
//   PLC: row[v] = linear [H[v] | Z[v]]
// Both get, where the model has tables, a learned term per operation of each graph trained on; PLC
// also one per operation and device (HeadShape::device_terms), which nothing else can give. A graph
// without tables is served all the same.
//
// With ModelConfig::encode per step, the same layers work in plain C++ (common/step_encoder.h), and
// what the operations' own features give them is computed here.
#ifndef DOPPLER_LEARNER_POLICY_NETWORK_H_
#define DOPPLER_LEARNER_POLICY_NETWORK_H_

#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "common/config.h"
#include "common/heads.h"
#include "learner/graph_features.h"

namespace doppler {

// GraphFeatures as tensors.
struct GraphTensors {
  explicit GraphTensors(const GraphFeatures& features);
  torch::Tensor node;               // [n, node_width]
  torch::Tensor source;             // [edges] int64
  torch::Tensor destination;        // [edges] int64
  torch::Tensor in_scale;           // [n, 1]
  torch::Tensor out_scale;          // [n, 1]
  torch::Tensor exit_path_owner;    // int64
  torch::Tensor exit_path_member;   // int64
  torch::Tensor exit_path_scale;    // [n, 1]
  torch::Tensor entry_path_owner;   // int64
  torch::Tensor entry_path_member;  // int64
  torch::Tensor entry_path_scale;   // [n, 1]
};

// HeadTables with gradients.
struct HeadTensors {
  torch::Tensor select_scores;  // [n]
  torch::Tensor place_rows;     // [n, row_width]
  torch::Tensor step_input;     // [n, width]; messages passed at each step alone, as the next ones
  torch::Tensor step_select;    // [n, width]
  torch::Tensor step_place;     // [n, width]; pools alone
};

class PolicyNetworkImpl : public torch::nn::Module {
 public:
  // operation_counts: of the graphs that get a table; empty with config.operation_table off.
  // device_count: what a one-pass PLC places on, what an encoder per step is told placements by,
  // and what terms of devices are for; others do not depend on it. Parameters follow from the seed
  // alone.
  PolicyNetworkImpl(const ModelConfig& config, const std::vector<std::int64_t>& operation_counts,
                    int device_count, std::uint64_t seed);

  // table: position in operation_counts, or -1 for none.
  HeadTensors forward(const GraphTensors& graph, std::int64_t table);

  // HeadWeights::step, flat, with gradients; empty where messages are passed once per episode.
  torch::Tensor step_weights();

  const HeadShape& head_shape() const { return head_shape_; }
  torch::Tensor& feature_to_hidden() { return feature_to_hidden_; }
  torch::Tensor& hidden_to_score() { return hidden_to_score_; }

 private:
  torch::Tensor path_mean(const torch::Tensor& h, const torch::Tensor& owner,
                          const torch::Tensor& member, const torch::Tensor& scale) const;
  torch::Tensor attend(const torch::Tensor& h);
  HeadTensors forward_per_episode(const GraphTensors& graph);
  HeadTensors forward_per_step(const GraphTensors& graph);
  void initialise(std::uint64_t seed);

  HeadShape head_shape_;
  torch::nn::Linear input_{nullptr};
  std::vector<torch::nn::Linear> rounds_;
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear select_hidden_{nullptr};
  torch::nn::Linear select_score_{nullptr};
  torch::nn::Linear place_row_{nullptr};
  torch::nn::Linear attention_{nullptr};     // queries, keys and values; one-pass PLC only
  torch::nn::Linear place_hidden_{nullptr};  // pooled PLC only
  torch::Tensor placement_;                  // [devices + 1, width]; messages at each step only
  torch::Tensor feature_to_hidden_;
  torch::Tensor hidden_to_score_;
  std::vector<torch::Tensor> select_tables_;  // [n] each
  std::vector<torch::Tensor> place_tables_;   // [n, row_width] each, without terms of devices
  std::vector<torch::Tensor> device_tables_;  // [n, devices] each; with terms of devices alone
};
TORCH_MODULE(PolicyNetwork);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_POLICY_NETWORK_H_
