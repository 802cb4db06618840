#include "common/sharding.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"

namespace doppler {
namespace {

constexpr std::int32_t kMaxParts = 4096;

using Partition = std::map<std::string, std::int32_t>;  // blocks per index; left out: 1

std::int32_t blocks_of(const Partition& partition, const std::string& index) {
  const auto at = partition.find(index);
  return at == partition.end() ? 1 : at->second;
}

// Elements [begin, end) of an axis.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t length() const { return end - begin; }
};

Range block_range(std::int64_t extent, std::int32_t blocks, std::int32_t block) {
  return {extent * block / blocks, extent * (block + 1) / blocks};
}

std::int64_t overlap(const Range& a, const Range& b) {
  return std::max<std::int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

// Calls visit(coordinates) for every combination of blocks, the last index fastest.
void for_each_block(const std::vector<std::int32_t>& counts,
                    const std::function<void(const std::vector<std::int32_t>&)>& visit) {
  std::vector<std::int32_t> at(counts.size(), 0);
  while (true) {
    visit(at);
    std::size_t axis = counts.size();
    while (axis > 0 && ++at[axis - 1] == counts[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

std::string with_coordinates(const std::string& name, const std::vector<std::int32_t>& at) {
  std::string text = name + "[";
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(at[i]);
  }
  return text + "]";
}

// A tensor as it lies after its producer: one operation per block.
struct ShardedTensor {
  std::vector<std::int64_t> extents;    // of the axes
  std::vector<std::int32_t> blocks;     // per axis
  std::vector<OperationId> operations;  // row-major over blocks; empty: an input of the model
};

// Candidate partitions of one operation into `parts` shards: all ways to write parts as a product
// over the indices.
void enumerate_partitions(const Model& model, const std::vector<std::string>& indices,
                          std::size_t at, std::int32_t rest, Partition& partition,
                          const std::function<void(const Partition&, std::int32_t)>& visit) {
  if (at == indices.size()) {
    visit(partition, rest);
    return;
  }
  const std::int64_t extent = model.extents.at(indices[at]);
  for (std::int32_t blocks = 1; blocks <= rest && blocks <= extent; ++blocks) {
    if (rest % blocks != 0) continue;
    partition[indices[at]] = blocks;
    enumerate_partitions(model, indices, at + 1, rest / blocks, partition, visit);
  }
  partition.erase(indices[at]);
}

class Sharder {
 public:
  Sharder(const Model& model, const ShardingOptions& options)
      : model_(model),
        options_(options),
        builder_(model.name, options.costs == CostConvention::kPhysical ? CostUnit::kPhysical
                                                                        : CostUnit::kDurations) {}

  Graph build() {
    for (const TensorUse& input : model_.inputs) {
      ShardedTensor& tensor = tensors_[input.tensor];
      for (const std::string& index : input.indices) {
        tensor.extents.push_back(model_.extents.at(index));
        tensor.blocks.push_back(1);
      }
    }
    for (const ModelOperation& operation : model_.operations) {
      shard_operation(operation, operation.partition.empty() ? choose_partition(operation)
                                                             : operation.partition);
      ++group_;
    }
    for (auto& [key, input] : inputs_) builder_.add_input(std::move(input));
    return builder_.build();
  }

 private:
  // Bytes that the shards read over what a single copy of each input holds, that lie in other
  // blocks than the shard's own, and that partial sums add. Only ratios between partitions matter.
  double communication(const ModelOperation& operation, const Partition& partition) const {
    double bytes = 0;
    double shards = 1;
    for (const std::string& index : operation.all_indices()) shards *= blocks_of(partition, index);
    for (const TensorUse& input : operation.inputs) {
      const ShardedTensor& tensor = tensors_.at(input.tensor);
      double size = static_cast<double>(model_.element_bytes);
      double readers = shards;
      bool aligned = true;
      for (std::size_t axis = 0; axis < input.indices.size(); ++axis) {
        const std::int32_t blocks = blocks_of(partition, input.indices[axis]);
        size *= static_cast<double>(tensor.extents[axis]);
        readers /= blocks;
        if (blocks != tensor.blocks[axis]) aligned = false;
      }
      bytes += size * (readers - 1);
      if (!aligned && !tensor.operations.empty()) bytes += size;
    }
    double output = static_cast<double>(model_.element_bytes);
    for (const std::string& index : operation.output.indices) {
      output *= static_cast<double>(model_.extents.at(index));
    }
    double partial_sums = 1;
    for (const std::string& index : operation.contracted_indices()) {
      partial_sums *= blocks_of(partition, index);
    }
    return bytes + output * (partial_sums - 1);
  }

  // Of the partitions into as many shards as the operation allows, the one that communicates least;
  // of equals the first in the order of enumeration.
  Partition choose_partition(const ModelOperation& operation) const {
    Partition best;
    double best_bytes = 0;
    std::int32_t best_rest = options_.parts + 1;
    Partition partition;
    enumerate_partitions(model_, operation.all_indices(), 0, options_.parts, partition,
                         [&](const Partition& candidate, std::int32_t rest) {
                           const double bytes = communication(operation, candidate);
                           if (rest < best_rest || (rest == best_rest && bytes < best_bytes)) {
                             best = candidate;
                             best_bytes = bytes;
                             best_rest = rest;
                           }
                         });
    return best;
  }

  double points(const std::vector<std::string>& indices,
                const std::map<std::string, Range>& ranges) const {
    double count = 1;
    for (const std::string& index : indices) {
      count *= static_cast<double>(ranges.at(index).length());
    }
    return count;
  }

  OperationId add(const ModelOperation& operation, Role role, double multiply_adds, double flops,
                  const std::map<std::string, Range>& ranges, std::vector<std::int32_t> at) {
    Operation result;
    result.kind = role == Role::kReduce ? "reduce" : operation.kind;
    result.name =
        with_coordinates(operation.output.tensor + (role == Role::kReduce ? ".reduce" : ""), at);
    std::int64_t elements = 1;
    for (const std::string& index : operation.output.indices) {
      result.output_shape.push_back(ranges.at(index).length());
      elements *= ranges.at(index).length();
    }
    if (options_.costs == CostConvention::kPhysical) {
      result.flops = flops;
      result.output_bytes = elements * model_.element_bytes;
    } else {
      const auto ticks = static_cast<std::int64_t>(multiply_adds);
      result.compute_time = SimTime(ticks);
      result.transfer_time = SimTime(4 * ticks);
    }
    result.group = GroupId(group_);
    result.role = role;
    result.block_coordinates = std::move(at);
    return builder_.add_operation(std::move(result));
  }

  void connect(const TensorUse& use, const std::map<std::string, Range>& ranges,
               OperationId consumer) {
    const ShardedTensor& tensor = tensors_.at(use.tensor);
    if (tensor.operations.empty()) {
      connect_input(use, ranges, consumer);
      return;
    }
    std::size_t block_index = 0;
    for_each_block(tensor.blocks, [&](const std::vector<std::int32_t>& at) {
      std::int64_t elements = 1;
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        elements *= overlap(block_range(tensor.extents[axis], tensor.blocks[axis], at[axis]),
                            ranges.at(use.indices[axis]));
      }
      const OperationId producer = tensor.operations[block_index++];
      if (elements == 0) return;
      Edge edge{.source = producer, .destination = consumer, .bytes = {}};
      if (options_.costs == CostConvention::kPhysical) edge.bytes = elements * model_.element_bytes;
      builder_.add_edge(edge);
    });
  }

  // Shards that need the same part of a model input share one input tensor.
  void connect_input(const TensorUse& use, const std::map<std::string, Range>& ranges,
                     OperationId consumer) {
    std::string key = use.tensor + "[";
    std::int64_t elements = 1;
    for (std::size_t axis = 0; axis < use.indices.size(); ++axis) {
      const Range& range = ranges.at(use.indices[axis]);
      if (axis > 0) key += ',';
      key += std::to_string(range.begin) + ":" + std::to_string(range.end);
      elements *= range.length();
    }
    key += "]";
    InputTensor& input = inputs_[key];
    input.name = key;
    input.bytes = elements * model_.element_bytes;
    input.consumers.push_back(consumer);
  }

  void shard_operation(const ModelOperation& operation, const Partition& partition) {
    const std::vector<std::string> indices = operation.all_indices();
    const std::vector<std::string> contracted = operation.contracted_indices();
    std::vector<std::int32_t> counts;
    std::int32_t partial_sums = 1;
    for (const std::string& index : indices) counts.push_back(blocks_of(partition, index));
    for (const std::string& index : contracted) partial_sums *= blocks_of(partition, index);
    double per_point = operation.flops_per_point;
    if (per_point == 0) per_point = !contracted.empty() && operation.inputs.size() > 1 ? 2 : 1;

    ShardedTensor output;
    for (const std::string& index : operation.output.indices) {
      output.extents.push_back(model_.extents.at(index));
      output.blocks.push_back(blocks_of(partition, index));
    }
    std::vector<OperationId>
        shards;  // row-major; the contracted blocks of one output block follow each other
    for_each_block(counts, [&](const std::vector<std::int32_t>& at) {
      std::map<std::string, Range> ranges;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        ranges[indices[i]] = block_range(model_.extents.at(indices[i]), counts[i], at[i]);
      }
      const double count = points(indices, ranges);
      shards.push_back(add(operation, Role::kShard, count, count * per_point, ranges, at));
      for (const TensorUse& input : operation.inputs) connect(input, ranges, shards.back());
    });

    const bool reduce = partial_sums > 1 || (options_.always_reduce && !contracted.empty());
    if (!reduce) {
      output.operations = std::move(shards);
      tensors_[operation.output.tensor] = std::move(output);
      return;
    }
    std::size_t next = 0;
    for_each_block(output.blocks, [&](const std::vector<std::int32_t>& at) {
      std::map<std::string, Range> ranges;
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        ranges[operation.output.indices[axis]] =
            block_range(output.extents[axis], output.blocks[axis], at[axis]);
      }
      const double elements = points(operation.output.indices, ranges);
      const OperationId sum = add(operation, Role::kReduce, elements,
                                  elements * std::max(1, partial_sums - 1), ranges, at);
      for (std::int32_t i = 0; i < partial_sums; ++i) {
        builder_.add_edge({.source = shards[next++], .destination = sum, .bytes = {}});
      }
      output.operations.push_back(sum);
    });
    tensors_[operation.output.tensor] = std::move(output);
  }

  const Model& model_;
  const ShardingOptions options_;
  GraphBuilder builder_;
  std::int32_t group_ = 0;
  std::map<std::string, ShardedTensor> tensors_;
  std::map<std::string, InputTensor> inputs_;  // by part, in the order of their names
};

}  // namespace

Graph shard(const Model& model, const ShardingOptions& options) {
  if (options.parts < 1 || options.parts > kMaxParts) {
    throw ConfigError("shards per operation: " + std::to_string(options.parts) + " is not in 1.." +
                      std::to_string(kMaxParts));
  }
  check_model(model);
  return Sharder(model, options).build();
}

}  // namespace doppler
