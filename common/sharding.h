// Sharding: cuts a Model into operations that can be placed one by one.
//
// Each index of a model operation is cut into blocks; there is one shard for every combination of
// blocks. Where a contracted index is cut, the shards of one output block are partial sums, and a
// reduce operation adds them up. A shard reads from every producer whose block overlaps what it
// needs; the edge carries the bytes of the overlap. All operations of one model operation form a
// group, with their block coordinates; ranges without annotation are chosen so that the least is
// communicated (in the spirit of EinDecomp: greedily, in the order of the model).
#ifndef DOPPLER_COMMON_SHARDING_H_
#define DOPPLER_COMMON_SHARDING_H_

#include <cstdint>

#include "common/graph.h"
#include "common/model.h"

namespace doppler {

enum class CostConvention {
  kPhysical,  // FLOPs (a multiply-add counts 2) and bytes
  kPaper,     // ticks, as in the paper's files: compute = multiply-adds or elements, transfer = 4 x
              // compute
};

struct ShardingOptions {
  std::int32_t parts = 4;  // shards per model operation, where it allows as many
  CostConvention costs = CostConvention::kPhysical;
  // Whether a contraction is followed by a reduce operation even where nothing was cut (the paper's
  // engine does so).
  bool always_reduce = false;
};

// Throws FormatError when the model is wrong (check_model), ConfigError for parts outside
// of 1..4096.
Graph shard(const Model& model, const ShardingOptions& options);

}  // namespace doppler

#endif  // DOPPLER_COMMON_SHARDING_H_
