// Random numbers that are the same on every machine and standard library. A stream is a function of
// its keys alone, so any episode can be replayed without replaying the ones before it.
#ifndef DOPPLER_COMMON_RANDOM_H_
#define DOPPLER_COMMON_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>

namespace doppler {

// The SplitMix64 finaliser: a bijection on 64 bits that spreads every input bit.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// A seed that depends on every key and on their order.
constexpr std::uint64_t derive_seed(std::initializer_list<std::uint64_t> keys) {
  std::uint64_t seed = 0x243f6a8885a308d3ULL;
  for (std::uint64_t key : keys) seed = mix_bits(seed + 0x9e3779b97f4a7c15ULL + mix_bits(key));
  return seed;
}

class RandomStream {
 public:
  explicit constexpr RandomStream(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next_bits() { return mix_bits(state_ += 0x9e3779b97f4a7c15ULL); }
  // In [0, 1), 53 random bits.
  constexpr double next_unit() { return static_cast<double>(next_bits() >> 11) * 0x1.0p-53; }
  // In 0..count-1, count >= 1. Multiply-shift; the bias of at most count / 2^64 is of no
  // consequence here.
  constexpr std::uint64_t next_below(std::uint64_t count) {
    return static_cast<std::uint64_t>((static_cast<__uint128_t>(next_bits()) * count) >> 64);
  }
  // Standard normal (Box-Muller, one value a call).
  double next_normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - next_unit()));
    return radius * std::cos(2.0 * std::numbers::pi * next_unit());
  }

 private:
  std::uint64_t state_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_RANDOM_H_
