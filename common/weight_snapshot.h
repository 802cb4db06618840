// WeightSnapshot: one version of both policies' heads, as actors need it. The same bytes travel
// over MPI and ZeroMQ and lie in shared memory: a fixed little-endian layout with a checksum
// (docs/formats.md).
#ifndef DOPPLER_COMMON_WEIGHT_SNAPSHOT_H_
#define DOPPLER_COMMON_WEIGHT_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/heads.h"

namespace doppler {

struct WeightSnapshot {
  std::uint64_t version = 0;  // updates done before it
  std::uint32_t lineage = 0;  // how often the run had been resumed
  HeadShape shape;
  HeadWeights weights;
  std::vector<HeadTables> tables;  // one a graph, in the run's order
  bool operator==(const WeightSnapshot&) const = default;
};

std::vector<std::byte> encode(const WeightSnapshot& snapshot);

// nullopt for anything that encode() did not write: wrong length, checksum, magic number, a value
// that is not finite.
std::optional<WeightSnapshot> decode_weight_snapshot(std::span<const std::byte> bytes);

}  // namespace doppler

#endif  // DOPPLER_COMMON_WEIGHT_SNAPSHOT_H_
