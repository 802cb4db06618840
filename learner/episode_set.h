// A set of episode numbers: one bit each where they lie close together, wherever they begin.
#ifndef DOPPLER_LEARNER_EPISODE_SET_H_
#define DOPPLER_LEARNER_EPISODE_SET_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace doppler {

class EpisodeSet {
 public:
  // False when it was there before.
  bool insert(std::uint64_t episode) {
    auto& block = blocks_[episode / kBlock];
    const std::size_t bit = episode % kBlock;
    if (block.test(bit)) return false;
    block.set(bit);
    ++size_;
    return true;
  }

  std::uint64_t size() const { return size_; }

  // How many numbers between the smallest and the largest are not in the set.
  std::uint64_t missing() const { return size_ == 0 ? 0 : largest() - smallest() + 1 - size_; }

  std::optional<std::uint64_t> first_missing() const {
    if (missing() == 0) return std::nullopt;
    std::uint64_t episode = smallest();
    while (contains(episode)) ++episode;
    return episode;
  }

 private:
  static constexpr std::size_t kBlock = 65536;

  bool contains(std::uint64_t episode) const {
    const auto block = blocks_.find(episode / kBlock);
    return block != blocks_.end() && block->second.test(episode % kBlock);
  }
  std::uint64_t smallest() const {
    const auto& [number, block] = *blocks_.begin();
    std::size_t bit = 0;
    while (!block.test(bit)) ++bit;
    return number * kBlock + bit;
  }
  std::uint64_t largest() const {
    const auto& [number, block] = *blocks_.rbegin();
    std::size_t bit = kBlock - 1;
    while (!block.test(bit)) --bit;
    return number * kBlock + bit;
  }

  std::map<std::uint64_t, std::bitset<kBlock>> blocks_;
  std::uint64_t size_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_EPISODE_SET_H_
