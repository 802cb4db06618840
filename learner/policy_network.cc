#include "learner/policy_network.h"

#include <cmath>
#include <string>

#include "common/error.h"
#include "common/random.h"
#include "common/step_encoder.h"

namespace doppler {
namespace {

// Memory grows with the square.
constexpr std::int64_t kMostOperationsToAttend = 4096;

torch::Tensor column(const std::vector<float>& values) {
  return torch::tensor(values).unsqueeze(1);
}

torch::Tensor indices(const std::vector<std::int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

// How many devices the rows of a policy are scores of; 0: rows are what PLC's head takes.
std::size_t scored_devices(const ModelConfig& config, int device_count) {
  const bool scores = config.place == PlacePolicy::kOnePass || config.place == PlacePolicy::kPooled;
  return scores ? static_cast<std::size_t>(device_count) : 0;
}

StepShape step_shape(const ModelConfig& config, int device_count) {
  if (config.encode == EncodeTime::kPerEpisode) return {};
  return {.width = static_cast<std::size_t>(config.hidden_width),
          .rounds = static_cast<std::size_t>(config.message_rounds),
          .devices = static_cast<std::size_t>(device_count),
          .pools = config.place == PlacePolicy::kPooled};
}

// A linear layer of which some inputs come from elsewhere: the part for the inputs from `first` on.
torch::Tensor part_of(torch::nn::Linear& layer, const torch::Tensor& inputs, std::int64_t first) {
  return torch::addmm(layer->bias, inputs,
                      layer->weight.slice(1, first, first + inputs.size(1)).t());
}

}  // namespace

GraphTensors::GraphTensors(const GraphFeatures& features)
    : node(torch::tensor(features.node).view({features.operation_count, features.node_width})),
      source(indices(features.source)),
      destination(indices(features.destination)),
      in_scale(column(features.in_scale)),
      out_scale(column(features.out_scale)),
      exit_path_owner(indices(features.exit_path_owner)),
      exit_path_member(indices(features.exit_path_member)),
      exit_path_scale(column(features.exit_path_scale)),
      entry_path_owner(indices(features.entry_path_owner)),
      entry_path_member(indices(features.entry_path_member)),
      entry_path_scale(column(features.entry_path_scale)) {}

PolicyNetworkImpl::PolicyNetworkImpl(const ModelConfig& config,
                                     const std::vector<std::int64_t>& operation_counts,
                                     int device_count, std::uint64_t seed)
    : head_shape_{.aggregate_rank = static_cast<std::size_t>(config.aggregate_rank),
                  .place_hidden = static_cast<std::size_t>(config.place_hidden),
                  .one_pass_devices = scored_devices(config, device_count),
                  .device_terms = config.device_table ? static_cast<std::size_t>(device_count) : 0,
                  .step = step_shape(config, device_count)} {
  const std::int64_t width = config.hidden_width;
  const std::int64_t node_width = node_feature_width();
  // Of a row without the terms of devices.
  const auto row_width = static_cast<std::int64_t>(
      head_shape_.device_terms > 0 ? head_shape_.device_terms_at() : head_shape_.row_width());
  input_ = register_module("input", torch::nn::Linear(node_width, width));
  for (std::int64_t round = 0; round < config.message_rounds; ++round) {
    rounds_.push_back(
        register_module("round_" + std::to_string(round), torch::nn::Linear(3 * width, width)));
  }
  norm_ = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  select_hidden_ =
      register_module("select_hidden", torch::nn::Linear(3 * width + node_width, width));
  select_score_ = register_module("select_score", torch::nn::Linear(width, 1));
  const bool one_pass = config.place == PlacePolicy::kOnePass;
  if (one_pass) {
    attention_ = register_module("attention", torch::nn::Linear(width, 3 * width));
  }
  place_row_ = register_module(
      "place_row", torch::nn::Linear(width + node_width + (one_pass ? width : 0), row_width));
  if (head_shape_.step.used()) {
    placement_ = register_parameter("placement", torch::zeros({device_count + 1, width}));
  }
  if (head_shape_.step.pools) {
    place_hidden_ = register_module("place_pool", torch::nn::Linear(4 * width + node_width, width));
  }
  feature_to_hidden_ = register_parameter(
      "feature_to_hidden",
      torch::zeros({static_cast<std::int64_t>(kPlaceFeatureCount), config.place_hidden}));
  hidden_to_score_ = register_parameter("hidden_to_score", torch::zeros({config.place_hidden}));
  for (std::size_t g = 0; g < operation_counts.size(); ++g) {
    const std::string suffix = "_" + std::to_string(g);
    select_tables_.push_back(
        register_parameter("table_select" + suffix, torch::zeros({operation_counts[g]})));
    place_tables_.push_back(
        register_parameter("table_place" + suffix, torch::zeros({operation_counts[g], row_width})));
    if (head_shape_.device_terms == 0) continue;
    device_tables_.push_back(register_parameter("table_device" + suffix,
                                                torch::zeros({operation_counts[g], device_count})));
  }
  initialise(seed);
}

void PolicyNetworkImpl::initialise(std::uint64_t seed) {
  torch::NoGradGuard no_grad;
  std::uint64_t key = 0;
  const auto fill_normal = [&](torch::Tensor& tensor, double deviation) {
    RandomStream random(derive_seed({seed, ++key}));
    float* values = tensor.data_ptr<float>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      values[i] = static_cast<float>(deviation * random.next_normal());
    }
  };
  const auto fill_linear = [&](torch::nn::Linear& layer, double gain) {
    fill_normal(layer->weight, gain / std::sqrt(static_cast<double>(layer->weight.size(1))));
    layer->bias.zero_();
  };
  fill_linear(input_, 1.0);
  for (torch::nn::Linear& round : rounds_) fill_linear(round, 1.0);
  fill_linear(select_hidden_, 1.4);
  // Small outputs: the first policy is near to uniform, and what it learns outweighs what it began
  // with.
  fill_linear(select_score_, 0.1);
  fill_linear(place_row_, 0.2);
  fill_normal(feature_to_hidden_, 0.5);
  fill_normal(hidden_to_score_, 0.2);
  if (!attention_.is_empty()) fill_linear(attention_, 1.0);
  if (placement_.defined()) fill_normal(placement_, 0.5);
  if (!place_hidden_.is_empty()) fill_linear(place_hidden_, 1.4);
}

// One head over all operations: what is placed in one pass has to know of everything else there is.
torch::Tensor PolicyNetworkImpl::attend(const torch::Tensor& h) {
  if (h.size(0) > kMostOperationsToAttend) {
    throw ConfigError(
        "model.place: one-pass attends to all pairs of operations, and the graph has " +
        std::to_string(h.size(0)) + "; use learned beyond " +
        std::to_string(kMostOperationsToAttend));
  }
  const std::vector<torch::Tensor> parts = attention_(h).chunk(3, 1);
  const double scale = 1.0 / std::sqrt(static_cast<double>(h.size(1)));
  return torch::matmul(torch::softmax(torch::matmul(parts[0], parts[1].t()) * scale, 1), parts[2]);
}

torch::Tensor PolicyNetworkImpl::path_mean(const torch::Tensor& h, const torch::Tensor& owner,
                                           const torch::Tensor& member,
                                           const torch::Tensor& scale) const {
  return torch::zeros_like(h).index_add(0, owner, h.index_select(0, member)) * scale;
}

HeadTensors PolicyNetworkImpl::forward_per_step(const GraphTensors& graph) {
  const std::int64_t n = graph.node.size(0);
  if (static_cast<std::size_t>(n) > kMostOperationsPerStep) {
    throw ConfigError("model.encode: per-step takes graphs of up to " +
                      std::to_string(kMostOperationsPerStep) + " operations, and this one has " +
                      std::to_string(n) + "; use per-episode");
  }
  const auto width = static_cast<std::int64_t>(head_shape_.step.width);
  HeadTensors heads;
  heads.select_scores = select_score_->bias.expand({n});
  heads.place_rows = part_of(place_row_, graph.node, width);
  heads.step_input = input_(graph.node);
  heads.step_select = part_of(select_hidden_, graph.node, 3 * width);
  if (head_shape_.step.pools) heads.step_place = part_of(place_hidden_, graph.node, 4 * width);
  return heads;
}

torch::Tensor PolicyNetworkImpl::step_weights() {
  if (!head_shape_.step.used()) return torch::zeros({0});
  const auto width = static_cast<std::int64_t>(head_shape_.step.width);
  // The columns of a layer that the encoder multiplies, as [inputs, outputs].
  const auto columns = [](torch::nn::Linear& layer, std::int64_t count) {
    return layer->weight.slice(1, 0, count).t().reshape({-1});
  };
  std::vector<torch::Tensor> parts = {placement_.view({-1})};
  for (torch::nn::Linear& round : rounds_) {
    parts.push_back(columns(round, 3 * width));
    parts.push_back(round->bias);
  }
  parts.push_back(norm_->weight);
  parts.push_back(norm_->bias);
  parts.push_back(columns(select_hidden_, 3 * width));
  parts.push_back(select_score_->weight.view({-1}));
  if (head_shape_.step.pools) parts.push_back(columns(place_hidden_, 4 * width));
  parts.push_back(columns(place_row_, width));
  return torch::cat(parts);
}

HeadTensors PolicyNetworkImpl::forward(const GraphTensors& graph, std::int64_t table) {
  HeadTensors heads =
      head_shape_.step.used() ? forward_per_step(graph) : forward_per_episode(graph);
  const auto at = static_cast<std::size_t>(table);
  const bool has_table = table >= 0 && at < select_tables_.size();
  if (has_table) {
    heads.select_scores = heads.select_scores + select_tables_[at];
    heads.place_rows = heads.place_rows + place_tables_[at];
  }
  if (head_shape_.device_terms > 0) {
    const std::int64_t n = heads.place_rows.size(0);
    const auto width =
        static_cast<std::int64_t>(head_shape_.row_width() - head_shape_.device_terms_at());
    torch::Tensor terms = torch::zeros({n, width});
    if (has_table) {
      terms = torch::constant_pad_nd(device_tables_[at], {0, width - device_tables_[at].size(1)});
    }
    heads.place_rows = torch::cat({heads.place_rows, terms}, 1);
  }
  return heads;
}

HeadTensors PolicyNetworkImpl::forward_per_episode(const GraphTensors& graph) {
  torch::Tensor h = torch::relu(input_(graph.node));
  for (torch::nn::Linear& round : rounds_) {
    const torch::Tensor from_inputs =
        torch::zeros_like(h).index_add(0, graph.destination, h.index_select(0, graph.source)) *
        graph.in_scale;
    const torch::Tensor from_outputs =
        torch::zeros_like(h).index_add(0, graph.source, h.index_select(0, graph.destination)) *
        graph.out_scale;
    h = h + torch::relu(round(torch::cat({h, from_inputs, from_outputs}, 1)));
  }
  h = norm_(h);
  const torch::Tensor exit_path =
      path_mean(h, graph.exit_path_owner, graph.exit_path_member, graph.exit_path_scale);
  const torch::Tensor entry_path =
      path_mean(h, graph.entry_path_owner, graph.entry_path_member, graph.entry_path_scale);
  HeadTensors heads;
  heads.select_scores =
      select_score_(
          torch::relu(select_hidden_(torch::cat({h, exit_path, entry_path, graph.node}, 1))))
          .squeeze(1);
  heads.place_rows = attention_.is_empty() ? place_row_(torch::cat({h, graph.node}, 1))
                                           : place_row_(torch::cat({h, attend(h), graph.node}, 1));
  return heads;
}

}  // namespace doppler
