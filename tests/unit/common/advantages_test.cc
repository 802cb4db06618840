#include "common/advantages.h"

#include <cmath>

#include <gtest/gtest.h>

namespace doppler {
namespace {

// 2, 4, 6, 8: mean 5, variance (9 + 1 + 1 + 9) / 4 = 5; the shortest is the best.
TEST(NormalisedAdvantages, AreDistancesBelowTheMeanInDeviations) {
  const std::vector<SimTime> makespans = {SimTime(2), SimTime(4), SimTime(6), SimTime(8)};
  const std::vector<float> advantages = normalised_advantages(makespans);
  ASSERT_EQ(advantages.size(), 4U);
  EXPECT_FLOAT_EQ(advantages[0], static_cast<float>(3 / std::sqrt(5.0)));
  EXPECT_FLOAT_EQ(advantages[3], static_cast<float>(-3 / std::sqrt(5.0)));
}

TEST(NormalisedAdvantages, AreZeroWhereNothingIsBetter) {
  const std::vector<SimTime> equal(3, SimTime(7));
  EXPECT_EQ(normalised_advantages(equal), std::vector<float>(3, 0.0F));
  EXPECT_TRUE(normalised_advantages({}).empty());
}

// 3 ms +- 0.2 of nine runs: the median of them has a deviation of 1.2533 x 0.2 / 3 ms, in
// picoseconds.
TEST(NoiseVariance, IsThatOfTheMedianOfTheRuns) {
  Trajectory measured;
  measured.measured_seconds = 3e-3;
  measured.repeats = 9;
  measured.spread_seconds = 0.2e-3;
  const double deviation = 1.2533 * 0.2e9 / 3;
  EXPECT_NEAR(noise_variance(measured), deviation * deviation, 1e-6 * deviation * deviation);
  EXPECT_EQ(noise_variance(Trajectory{}), 0);
}

class ShrinkByNoise : public testing::Test {
 protected:
  std::vector<float> shrunk(const std::vector<double>& noise) const {
    std::vector<float> advantages = normalised_advantages(energies_);
    shrink_by_noise(energies_, noise, advantages);
    return advantages;
  }
  // Mean 5, variance 5.
  std::vector<SimTime> energies_ = {SimTime(2), SimTime(4), SimTime(6), SimTime(8)};
};

TEST_F(ShrinkByNoise, LeavesWhatIsExact) {
  EXPECT_EQ(shrunk({0, 0, 0, 0}), normalised_advantages(energies_));
}

// Noise of 1 in a variance of 5: the placements themselves have 4, so 4 / (4 + 1) stays.
TEST_F(ShrinkByNoise, LeavesTheShareOfThePlacements) {
  const std::vector<float> plain = normalised_advantages(energies_);
  const std::vector<float> found = shrunk({1, 1, 1, 1});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(found[i], 0.8F * plain[i]) << i;
}

// Mean noise 1; the first has (0 + 1) / 2, the last (2 + 1) / 2: 4 / 4.5 and 4 / 5.5 stay.
TEST_F(ShrinkByNoise, TrustsTheUncertainLess) {
  const std::vector<float> plain = normalised_advantages(energies_);
  const std::vector<float> found = shrunk({0, 1, 1, 2});
  EXPECT_FLOAT_EQ(found[0], static_cast<float>(4 / 4.5) * plain[0]);
  EXPECT_FLOAT_EQ(found[3], static_cast<float>(4 / 5.5) * plain[3]);
}

// Where the noise explains all differences there is nothing to learn.
TEST_F(ShrinkByNoise, LearnsNothingOfNoiseAlone) {
  for (float advantage : shrunk({5, 5, 6, 6})) EXPECT_EQ(advantage, 0.0F);
}

}  // namespace
}  // namespace doppler
