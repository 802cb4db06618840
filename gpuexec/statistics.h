// Statistics of a few noisy measurements, without assumptions on how they are distributed.
#ifndef DOPPLER_GPUEXEC_STATISTICS_H_
#define DOPPLER_GPUEXEC_STATISTICS_H_

#include <cstddef>
#include <span>
#include <vector>

namespace doppler {

// The middle value, or the mean of the two. At least one value.
double median(std::span<const double> values);

// That of the distribution that independent `values` come from; 0 for fewer than two.
double standard_deviation(std::span<const double> values);

// An interval that holds the median of the distribution that independent `values` come from, with
// probability `coverage` at least `wanted` where there are enough of them (6 for 0.95), else with
// as much as they can give. The ends are two of the values: with n of them the median lies between
// the k-th smallest and the k-th largest unless fewer than k fall on one side of it, which has
// probability 2 P(Binomial(n, 1/2) < k).
struct MedianInterval {
  double low = 0;
  double high = 0;
  double coverage = 0;
};
MedianInterval median_interval(std::span<const double> values, double wanted = 0.95);

// The outlier rule: a value is dropped that lies above the median by more than 5 times the median
// distance from the median, times 1.4826 (which makes that a standard deviation for normal noise),
// and by more than 2 % of the median. Only above: other programs make a run slower, nothing makes
// it faster. Never more than a third of the values. Returns the values that stay, in their order.
std::vector<double> without_outliers(std::span<const double> values);

// The correlation of two rows of equal length >= 2; 0 where one of them is constant.
double pearson(std::span<const double> a, std::span<const double> b);
// The same of the ranks; equal values share the mean of theirs.
double spearman(std::span<const double> a, std::span<const double> b);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_STATISTICS_H_
