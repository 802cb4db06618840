#include "common/workloads.h"

#include <algorithm>

#include "common/error.h"
#include "common/nearest_name.h"
#include "common/workload_chain_mm.h"
#include "common/workload_dags.h"
#include "common/workload_models.h"

namespace doppler {
namespace {

const std::vector<WorkloadSize>& llama_sizes() {
  static const std::vector<WorkloadSize> kSizes = {
      {"batch", LlamaSize{}.batch, "sequences"},
      {"sequence", LlamaSize{}.sequence, "tokens per sequence"},
      {"width", LlamaSize{}.width, "of the residual stream"},
      {"heads", LlamaSize{}.heads, "attention heads"},
      {"feed_forward", LlamaSize{}.feed_forward, "width of the feed-forward network"},
      {"vocabulary", LlamaSize{}.vocabulary, "words"},
  };
  return kSizes;
}

std::vector<WorkloadSize> with_layers(std::int64_t layers) {
  std::vector<WorkloadSize> sizes = llama_sizes();
  sizes.push_back({"layers", layers, "blocks one behind the other"});
  return sizes;
}

// The size that was asked for, or the workload's default.
class Sizes {
 public:
  Sizes(const WorkloadInfo& info, const WorkloadOptions& options)
      : info_(info), options_(options) {}
  std::int64_t operator[](const std::string& name) const {
    const auto given = options_.sizes.find(name);
    if (given != options_.sizes.end()) return given->second;
    for (const WorkloadSize& size : info_.sizes) {
      if (size.name == name) return size.default_value;
    }
    return 0;
  }
  LlamaSize llama() const {
    const Sizes& of = *this;
    return {.batch = of["batch"],
            .sequence = of["sequence"],
            .width = of["width"],
            .heads = of["heads"],
            .feed_forward = of["feed_forward"],
            .vocabulary = of["vocabulary"]};
  }

 private:
  const WorkloadInfo& info_;
  const WorkloadOptions& options_;
};

Graph cut(const Model& model, const WorkloadOptions& options) {
  ShardingOptions sharding;
  sharding.parts = options.devices;
  sharding.costs = options.costs;
  sharding.always_reduce = options.costs == CostConvention::kPaper;
  return shard(model, sharding);
}

// Ticks of the paper's convention for a graph of FLOPs and bytes: a multiply-add is one tick, a
// float four.
Graph in_convention(const Graph& graph, CostConvention costs) {
  if (costs == CostConvention::kPhysical) return graph;
  GraphBuilder builder(graph.name(), CostUnit::kDurations);
  for (Operation operation : graph.operations()) {
    const auto ticks = static_cast<std::int64_t>(operation.flops / 2);
    operation.compute_time = SimTime(ticks);
    operation.transfer_time = SimTime(4 * ticks);
    operation.flops = 0;
    operation.output_bytes = 0;
    builder.add_operation(std::move(operation));
  }
  for (const Edge& edge : graph.edges()) {
    builder.add_edge({.source = edge.source, .destination = edge.destination, .bytes = {}});
  }
  return builder.build();
}

// Blocks of equal size: `parts` along the long axes, half as many along the short ones, as in the
// paper's graph.
std::int32_t short_axis(std::int32_t parts) {
  return std::max(1, parts / 2);
}

Model chain_mm_model(std::int64_t block, std::int32_t parts) {
  const std::int32_t half = short_axis(parts);
  Model model;
  model.name = "chain-mm";
  model.extents = {{"i", block * parts},
                   {"m", block * parts},
                   {"j", block * half},
                   {"k", block * half},
                   {"l", block * half}};
  for (const char* input : {"a[i,j]", "b[j,k]", "c[i,l]", "d[l,m]", "e[m,k]"}) {
    model.add_input(input);
  }
  model.add("de[l,k] = matmul d[l,m] e[m,k]").partition = {{"l", half}, {"k", half}, {"m", parts}};
  model.add("cde[i,k] = matmul c[i,l] de[l,k]").partition = {
      {"i", parts}, {"k", half}, {"l", half}};
  model.add("ab[i,k] = matmul a[i,j] b[j,k]").partition = {{"i", parts}, {"k", half}, {"j", half}};
  model.add("sum[i,k] = add ab[i,k] cde[i,k]").partition = {{"i", parts}, {"k", half}};
  return model;
}

Graph chain_mm(std::int64_t size, const WorkloadOptions& options) {
  const std::int64_t block = size / options.devices;
  if (block < 1) {
    throw ConfigError("size: " + std::to_string(size) + " is less than the devices, " +
                      std::to_string(options.devices));
  }
  if (options.costs == CostConvention::kPhysical) {
    return cut(chain_mm_model(block, options.devices), options);
  }
  // With the ids of the published file.
  const std::int32_t half = short_axis(options.devices);
  return generate_chain_mm({.rows = options.devices,
                            .columns = half,
                            .inner = half,
                            .inner_de = options.devices,
                            .block_size = block});
}

}  // namespace

std::span<const WorkloadInfo> workloads() {
  static const std::vector<WorkloadInfo> kWorkloads = {
      {"chain-mm",
       "A B + C D E over block matrices (the paper's ChainMM)",
       {{"size", 40000, "rows and columns of the largest matrix"}}},
      {"ffnn",
       "softmax(relu(X W1) W2) (the paper's FFNN)",
       {{"batch", FfnnSize{}.batch, "rows of X"},
        {"inputs", FfnnSize{}.inputs, "columns of X"},
        {"hidden", FfnnSize{}.hidden, "columns of W1"},
        {"outputs", FfnnSize{}.outputs, "columns of W2"}}},
      {"llama-block", "one Llama block: attention and feed-forward network", llama_sizes()},
      {"llama-layer", "embedding, one Llama block, logits", llama_sizes()},
      {"llama", "embedding, several Llama blocks, logits", with_layers(4)},
      {"attention", "attention with several heads and its projections", llama_sizes()},
      {"mlp-training",
       "a training step of a network with two hidden layers",
       {{"batch", MlpSize{}.batch, "examples"},
        {"inputs", MlpSize{}.inputs, "features"},
        {"hidden", MlpSize{}.hidden, "width of both hidden layers"},
        {"outputs", MlpSize{}.outputs, "targets"}}},
      {"mixture-of-experts",
       "gate, dispatch, experts, combination",
       {{"tokens", ExpertsSize{}.tokens, "tokens"},
        {"width", ExpertsSize{}.width, "of the residual stream"},
        {"experts", ExpertsSize{}.experts, "experts"},
        {"capacity", ExpertsSize{}.capacity, "tokens per expert"},
        {"feed_forward", ExpertsSize{}.feed_forward, "width within an expert"}}},
      {"fft",
       "radix-2 butterflies over blocks",
       {{"log2_blocks", 5, "binary logarithm of the number of blocks"},
        {"block", 1 << 20, "complex points per block"}}},
      {"cholesky",
       "tiled Cholesky factorisation",
       {{"tiles", 10, "tiles along each side"}, {"tile_size", 2048, "rows of a tile"}}},
      {"gaussian-elimination",
       "elimination by block columns",
       {{"columns", 16, "block columns"}, {"column_width", 1024, "columns in a block"}}},
      {"random-layered",
       "a random graph of layers, by --seed",
       {{"operations", RandomLayeredSize{}.operations, "operations"},
        {"layers", RandomLayeredSize{}.layers, "layers"},
        {"edges_per_operation", RandomLayeredSize{}.edges_per_operation, "on average"},
        {"ccr_percent", RandomLayeredSize{}.ccr_percent,
         "transfer time over compute time in hundredths, at 10 TFLOP/s and 10 GB/s"}}},
  };
  return kWorkloads;
}

const WorkloadInfo& find_workload(const std::string& name) {
  const auto all = workloads();
  const auto info = std::find_if(all.begin(), all.end(),
                                 [&](const WorkloadInfo& item) { return name == item.name; });
  if (info == all.end()) {
    std::vector<std::string> names;
    for (const WorkloadInfo& item : all) names.emplace_back(item.name);
    throw ConfigError("workload '" + name + "' is not known" + suggest_name(name, names));
  }
  return *info;
}

Graph generate_workload(const std::string& name, const WorkloadOptions& options) {
  const WorkloadInfo& info = find_workload(name);
  std::vector<std::string> size_names;
  for (const WorkloadSize& size : info.sizes) size_names.emplace_back(size.name);
  for (const auto& [size, value] : options.sizes) {
    if (std::find(size_names.begin(), size_names.end(), size) == size_names.end()) {
      throw ConfigError("size '" + size + "' is none of " + name + "'s" +
                        suggest_name(size, size_names));
    }
    if (value < 1) throw ConfigError(size + ": " + std::to_string(value) + " is not at least 1");
  }
  const Sizes size(info, options);
  if (name == "chain-mm") return chain_mm(size["size"], options);
  if (name == "ffnn") {
    const FfnnSize ffnn{.batch = size["batch"],
                        .inputs = size["inputs"],
                        .hidden = size["hidden"],
                        .outputs = size["outputs"]};
    return cut(ffnn_model(ffnn, options.devices), options);
  }
  if (name == "llama-block") return cut(llama_blocks_model(size.llama(), 1), options);
  if (name == "llama-layer") return cut(llama_model(size.llama(), 1), options);
  if (name == "llama") return cut(llama_model(size.llama(), size["layers"]), options);
  if (name == "attention") return cut(attention_model(size.llama()), options);
  if (name == "mlp-training") {
    const MlpSize mlp{.batch = size["batch"],
                      .inputs = size["inputs"],
                      .hidden = size["hidden"],
                      .outputs = size["outputs"]};
    return cut(mlp_training_model(mlp), options);
  }
  if (name == "mixture-of-experts") {
    const ExpertsSize experts{.tokens = size["tokens"],
                              .width = size["width"],
                              .experts = size["experts"],
                              .capacity = size["capacity"],
                              .feed_forward = size["feed_forward"]};
    return cut(mixture_of_experts_model(experts), options);
  }
  if (name == "fft") {
    return in_convention(fft_graph(size["log2_blocks"], size["block"]), options.costs);
  }
  if (name == "cholesky") {
    return in_convention(cholesky_graph(size["tiles"], size["tile_size"]), options.costs);
  }
  if (name == "gaussian-elimination") {
    return in_convention(gaussian_elimination_graph(size["columns"], size["column_width"]),
                         options.costs);
  }
  const RandomLayeredSize random{.operations = size["operations"],
                                 .layers = size["layers"],
                                 .edges_per_operation = size["edges_per_operation"],
                                 .ccr_percent = size["ccr_percent"]};
  return in_convention(random_layered_graph(random, options.seed), options.costs);
}

}  // namespace doppler
