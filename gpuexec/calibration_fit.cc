#include "gpuexec/calibration_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace doppler {
namespace {

constexpr double kLeastSeconds = 1e-10;  // below any clock
// A rate so much above what bytes allow that it never counts.
constexpr double kUnbound = 100;
constexpr double kNegligible = 0.01;  // a relative error that is not worth another explanation

double relative_miss(double predicted, double measured) {
  return std::abs(std::log(std::max(predicted, kLeastSeconds) / std::max(measured, kLeastSeconds)));
}

// Large operations count more, since they make up a makespan. What was measured has no say in it,
// or a spoilt sample would outweigh the others.
double weight(const OperationTime& sample) {
  return std::pow(1 + sample.flops + sample.bytes, 0.15);
}

// The rate of one kind that fits its samples best, and the sum of the misses.
struct RateFit {
  double rate = 0;
  double miss = 0;
};

RateFit fit_rate(const std::vector<OperationTime>& samples, double overhead, double bandwidth) {
  const auto by_bytes = [&](const OperationTime& s) {
    return bandwidth > 0 ? s.bytes / bandwidth : 0;
  };
  std::vector<double> candidates;
  double unbound = 0;
  double weights = 0;
  for (const OperationTime& s : samples) {
    const double net = s.seconds - overhead;
    if (s.flops > 0 && net > 0) candidates.push_back(s.flops / net);
    const double bytes_time = by_bytes(s);
    if (bytes_time > 0) unbound = std::max(unbound, kUnbound * s.flops / bytes_time);
    weights += weight(s);
  }
  if (unbound > 0) candidates.push_back(unbound);
  if (candidates.empty()) candidates.push_back(1 / kLeastSeconds);
  const auto miss_of = [&](double rate) {
    double miss = 0;
    for (const OperationTime& s : samples) {
      miss +=
          weight(s) * relative_miss(overhead + std::max(s.flops / rate, by_bytes(s)), s.seconds);
    }
    return miss;
  };
  RateFit best{.rate = 0, .miss = std::numeric_limits<double>::infinity()};
  for (double rate : candidates) {
    const double miss = miss_of(rate);
    if (miss < best.miss) best = {.rate = rate, .miss = miss};
  }
  // Where bytes alone explain the times about as well, the rate is not what binds: other sizes of
  // the kind may do more FLOPs a byte.
  if (unbound > best.rate) {
    const double miss = miss_of(unbound);
    if (miss <= 1.05 * best.miss + kNegligible * weights) best = {.rate = unbound, .miss = miss};
  }
  return best;
}

}  // namespace

double OperationFit::predict(const std::string& kind, double flops, double bytes) const {
  const auto at = rate_by_kind.find(kind);
  const double by_flops = at == rate_by_kind.end() ? 0 : flops / at->second;
  const double by_bytes =
      memory_bandwidth_bytes_per_second > 0 ? bytes / memory_bandwidth_bytes_per_second : 0;
  return overhead_seconds + std::max(by_flops, by_bytes);
}

OperationFit fit_operations(const std::vector<OperationTime>& samples) {
  DP_CHECK(!samples.empty());
  std::map<std::string, std::vector<OperationTime>> by_kind;
  double least = std::numeric_limits<double>::infinity();
  for (const OperationTime& s : samples) {
    by_kind[s.kind].push_back(s);
    least = std::min(least, s.seconds);
  }
  // The overhead is at most what the quickest operation takes, most of which has something to do.
  OperationFit best;
  double best_miss = std::numeric_limits<double>::infinity();
  for (double share : {1.0, 0.9, 0.75, 0.5, 0.25, 0.0}) {
    const double overhead = share * least;
    std::vector<double> bandwidths = {0};
    for (const OperationTime& s : samples) {
      if (s.bytes > 0 && s.seconds > overhead) {
        bandwidths.push_back(s.bytes / (s.seconds - overhead));
      }
    }
    for (double bandwidth : bandwidths) {
      OperationFit fit{.overhead_seconds = overhead,
                       .memory_bandwidth_bytes_per_second = bandwidth,
                       .rate_by_kind = {}};
      double miss = 0;
      for (const auto& [kind, own] : by_kind) {
        const RateFit rate = fit_rate(own, overhead, bandwidth);
        fit.rate_by_kind[kind] = rate.rate;
        miss += rate.miss;
        if (miss >= best_miss) break;
      }
      if (miss >= best_miss) continue;
      best_miss = miss;
      best = std::move(fit);
    }
  }
  return best;
}

TransferFit fit_transfers(const std::vector<TransferTime>& samples) {
  TransferFit best;
  double best_miss = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (std::size_t j = 0; j < samples.size(); ++j) {
      const double bytes = samples[j].bytes - samples[i].bytes;
      const double seconds = samples[j].seconds - samples[i].seconds;
      if (bytes <= 0 || seconds <= 0) continue;
      TransferFit fit;
      fit.bandwidth_bytes_per_second = bytes / seconds;
      fit.latency_seconds =
          std::max(0.0, samples[i].seconds - samples[i].bytes / fit.bandwidth_bytes_per_second);
      double miss = 0;
      for (const TransferTime& s : samples) miss += relative_miss(fit.predict(s.bytes), s.seconds);
      if (miss >= best_miss) continue;
      best_miss = miss;
      best = fit;
    }
  }
  if (best.bandwidth_bytes_per_second > 0) return best;
  // Nothing grows with the size: all that is known is how fast it is at least.
  const auto largest = std::max_element(
      samples.begin(), samples.end(),
      [](const TransferTime& a, const TransferTime& b) { return a.bytes < b.bytes; });
  best.bandwidth_bytes_per_second =
      std::max(1.0, largest->bytes) / std::max(largest->seconds, kLeastSeconds);
  return best;
}

}  // namespace doppler
