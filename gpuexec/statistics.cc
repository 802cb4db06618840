#include "gpuexec/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/check.h"

namespace doppler {

double median(std::span<const double> values) {
  DP_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double square_sum = 0;
  for (double value : values) square_sum += (value - mean) * (value - mean);
  return std::sqrt(square_sum / (n - 1));
}

MedianInterval median_interval(std::span<const double> values, double wanted) {
  DP_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  // P(Binomial(n, 1/2) < k) grows with k; take the largest k that leaves enough.
  double probability = std::pow(0.5, static_cast<double>(n));  // of exactly k - 1
  double below = probability;                                  // of fewer than k
  std::size_t k = 1;
  while (2 * (k + 1) <= n + 1) {
    probability *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    if (1 - 2 * (below + probability) < wanted) break;
    below += probability;
    ++k;
  }
  if (2 * k > n) return {.low = sorted[0], .high = sorted[n - 1], .coverage = 0};  // n = 1
  return {.low = sorted[k - 1], .high = sorted[n - k], .coverage = 1 - 2 * below};
}

std::vector<double> without_outliers(std::span<const double> values) {
  constexpr double kDeviations = 5;
  constexpr double kNormalScale = 1.4826;
  constexpr double kLeastFraction = 0.02;
  const double center = median(values);
  std::vector<double> distances;
  for (double value : values) distances.push_back(std::abs(value - center));
  const double limit = center + std::max(kDeviations * kNormalScale * median(distances),
                                         kLeastFraction * std::abs(center));
  std::vector<double> kept;
  for (double value : values) {
    if (value <= limit) kept.push_back(value);
  }
  if (3 * (values.size() - kept.size()) > values.size()) return {values.begin(), values.end()};
  return kept;
}

double pearson(std::span<const double> a, std::span<const double> b) {
  DP_CHECK_EQ(a.size(), b.size());
  DP_CHECK_GE(a.size(), std::size_t{2});
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa <= 0 || bb <= 0 ? 0 : ab / std::sqrt(aa * bb);
}

namespace {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) {
      result[order[i]] = static_cast<double>(first + last) / 2;
    }
    first = last + 1;
  }
  return result;
}

}  // namespace

double spearman(std::span<const double> a, std::span<const double> b) {
  return pearson(ranks(a), ranks(b));
}

}  // namespace doppler
