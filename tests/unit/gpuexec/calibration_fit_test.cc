#include "gpuexec/calibration_fit.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "common/random.h"

namespace doppler {
namespace {

// 10 us + max(flops / 1e9, bytes / 1e8) for kind a, 1e8 FLOP/s for kind b.
double truth(const OperationTime& s) {
  return 1e-5 + std::max(s.flops / (s.kind == "a" ? 1e9 : 1e8), s.bytes / 1e8);
}

std::vector<OperationTime> samples() {
  std::vector<OperationTime> all;
  for (const char* kind : {"a", "b"}) {
    for (double size : {1.0, 1e3, 1e4, 1e5, 1e6, 1e7}) {
      all.push_back(
          {.kind = kind, .flops = 20 * size, .bytes = 0.1 * size, .seconds = 0});        // FLOPs
      all.push_back({.kind = kind, .flops = 0.01 * size, .bytes = size, .seconds = 0});  // bytes
    }
  }
  for (OperationTime& s : all) s.seconds = truth(s);
  return all;
}

void expect_true(const OperationFit& fit, double tolerance) {
  EXPECT_NEAR(fit.overhead_seconds / 1e-5, 1, tolerance);
  EXPECT_NEAR(fit.memory_bandwidth_bytes_per_second / 1e8, 1, tolerance);
  EXPECT_NEAR(fit.rate_by_kind.at("a") / 1e9, 1, tolerance);
  EXPECT_NEAR(fit.rate_by_kind.at("b") / 1e8, 1, tolerance);
}

TEST(FitOperations, FindsWhatTimesWereMadeOf) {
  expect_true(fit_operations(samples()), 0.01);
}

// A fifth of the samples takes three to ten times as long, the others are off by up to 2 %.
TEST(FitOperations, IsNotMovedBySpoiltSamples) {
  RandomStream random(4);
  std::vector<OperationTime> spoilt = samples();
  for (std::size_t i = 0; i < spoilt.size(); ++i) {
    spoilt[i].seconds *= i % 5 == 2 ? 3 + 7 * random.next_unit() : 0.98 + 0.04 * random.next_unit();
  }
  expect_true(fit_operations(spoilt), 0.06);
}

TEST(FitOperations, LeavesTheBandwidthOutWhereNothingIsBoundByBytes) {
  const std::vector<OperationTime> all = {
      {"a", 1e6, 1, 1e-3}, {"a", 2e6, 1, 2e-3}, {"a", 4e6, 1, 4e-3}};
  const OperationFit fit = fit_operations(all);
  for (const OperationTime& s : all) {
    EXPECT_NEAR(fit.predict("a", s.flops, s.bytes) / s.seconds, 1, 1e-9);
  }
}

// 20 us + bytes / 5e9.
TEST(FitTransfers, FindsLatencyAndBandwidthAmongSpoiltSamples) {
  std::vector<TransferTime> all;
  for (double bytes = 4; bytes < 1e8; bytes *= 8) all.push_back({bytes, 2e-5 + bytes / 5e9});
  all[1].seconds *= 5;
  all[6].seconds *= 3;
  const TransferFit fit = fit_transfers(all);
  EXPECT_NEAR(fit.latency_seconds / 2e-5, 1, 1e-3);
  EXPECT_NEAR(fit.bandwidth_bytes_per_second / 5e9, 1, 1e-3);
}

}  // namespace
}  // namespace doppler
