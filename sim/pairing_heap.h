// A forest of pairing heaps over the ids 0..capacity-1, each id in one heap at most. A heap is
// named by its root (-1: empty), which the caller keeps. Nodes live in two flat arrays: no
// allocation.
//
// push() takes O(1), pop() O(log n) amortised. Not thread-safe.
#ifndef DOPPLER_SIM_PAIRING_HEAP_H_
#define DOPPLER_SIM_PAIRING_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace doppler {

class PairingForest {
 public:
  static constexpr std::int32_t kEmpty = -1;

  explicit PairingForest(std::size_t capacity) : child_(capacity), next_(capacity) {}

  // Adds `id` to the heap of `root` and returns the new root. less(a, b): whether a comes first; no
  // two ids may be equal.
  template <typename Less>
  std::int32_t push(std::int32_t root, std::int32_t id, const Less& less) {
    child_[index(id)] = next_[index(id)] = kEmpty;
    return root == kEmpty ? id : meld(root, id, less);
  }

  // Removes the root and returns the new one.
  template <typename Less>
  std::int32_t pop(std::int32_t root, const Less& less) {
    // Melds the children in pairs from left to right, then the pairs from right to left.
    std::int32_t pairs = kEmpty;
    std::int32_t rest = child_[index(root)];
    while (rest != kEmpty) {
      std::int32_t first = rest;
      const std::int32_t second = next_[index(first)];
      if (second == kEmpty) {
        rest = kEmpty;
      } else {
        rest = next_[index(second)];
        first = meld(first, second, less);
      }
      next_[index(first)] = pairs;
      pairs = first;
    }
    std::int32_t merged = pairs;
    if (merged == kEmpty) return kEmpty;
    pairs = next_[index(merged)];
    while (pairs != kEmpty) {
      const std::int32_t after = next_[index(pairs)];
      merged = meld(merged, pairs, less);
      pairs = after;
    }
    next_[index(merged)] = kEmpty;
    return merged;
  }

 private:
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

  template <typename Less>
  std::int32_t meld(std::int32_t a, std::int32_t b, const Less& less) {
    if (less(b, a)) {
      const std::int32_t first = b;
      b = a;
      a = first;
    }
    next_[index(b)] = child_[index(a)];
    child_[index(a)] = b;
    return a;
  }

  std::vector<std::int32_t> child_;  // the first child
  std::vector<std::int32_t> next_;   // the next child of the same parent
};

}  // namespace doppler

#endif  // DOPPLER_SIM_PAIRING_HEAP_H_
