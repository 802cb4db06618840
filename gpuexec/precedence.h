// Precedence: which operations are certain to have ended before others start, whatever the times:
// the ancestors in the graph.
//
// A bit for each pair of operations; graphs of more than kLargest operations have none, and nothing
// is certain there. Immutable; any number of threads may read it.
#ifndef DOPPLER_GPUEXEC_PRECEDENCE_H_
#define DOPPLER_GPUEXEC_PRECEDENCE_H_

#include <cstdint>
#include <vector>

#include "common/graph.h"

namespace doppler {

class Precedence {
 public:
  static constexpr std::size_t kLargest = 16384;  // 32 MiB of bits

  explicit Precedence(const Graph& graph);

  // Whether `first` is an ancestor of `second`.
  bool before(std::int32_t first, std::int32_t second) const {
    if (words_ == 0) return false;
    const auto bit = static_cast<std::size_t>(first);
    return (bits_[static_cast<std::size_t>(second) * words_ + bit / 64] >> (bit % 64) & 1) != 0;
  }

 private:
  std::size_t words_ = 0;            // of a row
  std::vector<std::uint64_t> bits_;  // [operations, words_], row: the ancestors of an operation
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_PRECEDENCE_H_
