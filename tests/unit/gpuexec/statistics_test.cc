#include "gpuexec/statistics.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace doppler {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_DOUBLE_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{4, 1, 2, 3}), 2.5);
}

// n = 6: P(Binomial < 1) = 1/64, so smallest and largest cover 1 - 2/64 = 0.96875; the second
// smallest and largest only 1 - 2 * 7/64 = 0.78125.
TEST(MedianInterval, OfSixIsTheWholeRange) {
  const MedianInterval interval = median_interval(std::vector<double>{6, 5, 4, 3, 2, 1});
  EXPECT_DOUBLE_EQ(interval.low, 1);
  EXPECT_DOUBLE_EQ(interval.high, 6);
  EXPECT_DOUBLE_EQ(interval.coverage, 0.96875);
}

// n = 9: P(Binomial < 2) = 10/512, so the second ones cover 1 - 20/512 = 0.9609375; the third ones
// 1 - 2 * 46/512 = 0.8203125.
TEST(MedianInterval, OfNineLeavesOneOutOnEachSide) {
  const MedianInterval interval = median_interval(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_DOUBLE_EQ(interval.low, 2);
  EXPECT_DOUBLE_EQ(interval.high, 8);
  EXPECT_DOUBLE_EQ(interval.coverage, 0.9609375);
}

TEST(MedianInterval, OfTooFewTellsWhatItCovers) {
  EXPECT_DOUBLE_EQ(median_interval(std::vector<double>{7}).coverage, 0);
  const MedianInterval interval = median_interval(std::vector<double>{1, 2, 3});  // 1 - 2/8
  EXPECT_DOUBLE_EQ(interval.coverage, 0.75);
  EXPECT_DOUBLE_EQ(interval.high, 3);
}

// The true median of an exponential distribution is ln 2; 2,000 intervals of 0.961 should hold it
// about 1,922 times, with a standard deviation of 8.7.
TEST(MedianInterval, HoldsTheTrueMedianAsOftenAsItSays) {
  std::mt19937_64 random(5);
  std::exponential_distribution<double> exponential(1);
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> values(9);
    for (double& value : values) value = exponential(random);
    const MedianInterval interval = median_interval(values);
    held += interval.low <= std::log(2) && std::log(2) <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(held, 1922, 40);
}

// Distances from the median 1.02: .02 .01 0 .01 .02 and 3.98; their median .015, times 7.413 is
// .111.
TEST(Outliers, AreDroppedAboveOnly) {
  const std::vector<double> values = {1.00, 5.00, 1.01, 1.02, 1.03, 1.04};
  EXPECT_EQ(without_outliers(values), (std::vector<double>{1.00, 1.01, 1.02, 1.03, 1.04}));
  const std::vector<double> low = {1.00, 0.10, 1.01, 1.02, 1.03, 1.04};
  EXPECT_EQ(without_outliers(low), low);
}

TEST(Outliers, AreNoneWithinTwoPercentOfEqualValues) {
  const std::vector<double> values = {1, 1, 1, 1, 1.015};
  EXPECT_EQ(without_outliers(values), values);
}

TEST(Correlation, OfALineIsOneAndOfItsMirrorMinusOne) {
  const std::vector<double> x = {1, 2, 3, 4};
  EXPECT_NEAR(pearson(x, std::vector<double>{10, 20, 30, 40}), 1, 1e-12);
  EXPECT_NEAR(pearson(x, std::vector<double>{4, 3, 2, 1}), -1, 1e-12);
  EXPECT_DOUBLE_EQ(pearson(x, std::vector<double>{5, 5, 5, 5}), 0);
}

// Ranks 0 1 2 3 and, with a tie, 0 1.5 1.5 3: deviations from 1.5 are -1.5 -.5 .5 1.5 and
// -1.5 0 0 1.5; the sums are 4.5, 5 and 4.5, so 4.5 / sqrt(22.5).
TEST(Correlation, OfRanksSharesTies) {
  EXPECT_NEAR(spearman(std::vector<double>{1, 10, 100, 1000}, std::vector<double>{1, 5, 5, 9}),
              4.5 / std::sqrt(22.5), 1e-12);
}

}  // namespace
}  // namespace doppler
