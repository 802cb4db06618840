#include "common/advantages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/check.h"

namespace doppler {
namespace {

// Of the median of normal samples against their mean, for many: sqrt(pi / 2).
constexpr double kMedianFactor = 1.2533;
constexpr double kTicksPerSecond = 1e12;  // what is measured is told in picoseconds

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments_of(std::span<const SimTime> energies) {
  const auto count = static_cast<double>(energies.size());
  double sum = 0;
  for (SimTime energy : energies) sum += static_cast<double>(energy.ticks());
  Moments moments;
  moments.mean = sum / count;
  double square_sum = 0;
  for (SimTime energy : energies) {
    const double difference = static_cast<double>(energy.ticks()) - moments.mean;
    square_sum += difference * difference;
  }
  moments.variance = square_sum / count;
  return moments;
}

}  // namespace

std::vector<float> normalised_advantages(std::span<const SimTime> energies) {
  std::vector<float> advantages(energies.size(), 0.0F);
  if (energies.empty()) return advantages;
  const Moments moments = moments_of(energies);
  // Where all are equal there is nothing to divide by either.
  const double deviation = std::sqrt(moments.variance);
  if (deviation <= 1e-9 * moments.mean) return advantages;
  for (std::size_t i = 0; i < energies.size(); ++i) {
    advantages[i] =
        static_cast<float>((moments.mean - static_cast<double>(energies[i].ticks())) / deviation);
  }
  return advantages;
}

double noise_variance(const Trajectory& trajectory) {
  if (trajectory.repeats == 0) return 0;
  const double of_median = kMedianFactor * trajectory.spread_seconds * kTicksPerSecond;
  return of_median * of_median / trajectory.repeats;
}

void shrink_by_noise(std::span<const SimTime> energies, std::span<const double> noise_variances,
                     std::vector<float>& advantages) {
  DP_CHECK(noise_variances.size() == energies.size() && advantages.size() == energies.size());
  const double noise_sum = std::accumulate(noise_variances.begin(), noise_variances.end(), 0.0);
  if (noise_sum <= 0) return;
  const double mean_noise = noise_sum / static_cast<double>(energies.size());
  const double of_placements = std::max(0.0, moments_of(energies).variance - mean_noise);
  for (std::size_t i = 0; i < energies.size(); ++i) {
    const double noise = (noise_variances[i] + mean_noise) / 2;
    advantages[i] *= static_cast<float>(of_placements / (of_placements + noise));
  }
}

}  // namespace doppler
