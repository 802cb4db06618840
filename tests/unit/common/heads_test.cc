#include "common/heads.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/rollouts.h"

namespace doppler {
namespace {

// Scores 0, ln 2, ln 5: weights 1 : 2 : 5.
TEST(SelectHead, IsASoftmaxOverTheCandidates) {
  const std::vector<float> scores = {0.0F, std::log(2.0F), std::log(5.0F)};
  const SelectHead head(scores);
  const std::vector<OperationId> all = {OperationId(0), OperationId(1), OperationId(2)};
  EXPECT_NEAR(std::exp(head.log_probability(OperationId(2), head.sum(all))), 5.0 / 8.0, 1e-6);
  const std::vector<OperationId> two = {OperationId(0), OperationId(1)};
  EXPECT_NEAR(std::exp(head.log_probability(OperationId(1), head.sum(two))), 2.0 / 3.0, 1e-6);
}

TEST(SelectHead, SurvivesScoresFarApart) {
  const std::vector<float> scores = {300.0F, -300.0F, -301.0F};
  const SelectHead head(scores);
  const std::vector<OperationId> low = {OperationId(1), OperationId(2)};
  // e / (e + 1)
  EXPECT_NEAR(std::exp(head.log_probability(OperationId(1), head.sum(low))), 0.7310586, 1e-5);
}

// exp(-900) is 0 in double, so weights against the largest score of the graph would all vanish.
TEST(SelectHead, SurvivesScoresFartherApartThanDoublesReach) {
  const std::vector<float> scores = {600.0F, -300.0F, -301.0F};
  const SelectHead head(scores);
  const std::vector<OperationId> low = {OperationId(1), OperationId(2)};
  const SelectHead::Sum sum = head.sum(low);
  EXPECT_NEAR(sum.total, 1 + std::exp(-1.0), 1e-12);
  EXPECT_NEAR(std::exp(head.log_probability(OperationId(2), sum)), 0.2689414, 1e-5);  // 1 / (e + 1)
  EXPECT_NEAR(head.weight(OperationId(1), sum) / sum.total, 0.7310586, 1e-6);
}

// Written out with plain loops from the formula in the header.
TEST(PlaceHead, ScoresFollowTheFormula) {
  constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 16};
  constexpr std::size_t kDevices = 3;
  const WeightSnapshot snapshot = test::random_snapshot(4, kShape, 17);
  RandomStream random(18);
  const std::vector<float> features =
      test::random_floats(kDevices * kPlaceFeatureCount, 1.0, random);
  PlaceHead head(kShape, kDevices);
  head.reset(snapshot.tables[0], snapshot.weights);
  head.add(OperationId(0), DeviceId(2));
  head.add(OperationId(1), DeviceId(2));
  head.add(OperationId(3), DeviceId(0));
  std::vector<float> scores(kDevices);
  head.score(OperationId(2), features, kPlaceFeatureCount, scores);

  const auto row = [&](std::size_t operation, std::size_t column) {
    return static_cast<double>(
        snapshot.tables[0].place_rows[operation * kShape.row_width() + column]);
  };
  const std::vector<std::vector<std::size_t>> placed = {{3}, {}, {0, 1}};
  for (std::size_t d = 0; d < kDevices; ++d) {
    const auto y = [&](std::size_t f) {
      return static_cast<double>(features[d * kPlaceFeatureCount + f]);
    };
    double score = 0;
    for (std::size_t f = 0; f < kPlaceFeatureCount; ++f) score += row(2, f) * y(f);
    for (std::size_t r = 0; r < kShape.aggregate_rank; ++r) {
      for (std::size_t other : placed[d]) {
        score += row(2, kShape.affinity_at() + r) * row(other, kShape.contribution_at() + r);
      }
    }
    for (std::size_t k = 0; k < kShape.place_hidden; ++k) {
      double hidden = row(2, kShape.hidden_at() + k);
      for (std::size_t other : placed[d]) {
        hidden += row(other, kShape.contribution_at() + kShape.aggregate_rank + k);
      }
      for (std::size_t f = 0; f < kPlaceFeatureCount; ++f) {
        hidden += y(f) * static_cast<double>(
                             snapshot.weights.feature_to_hidden[f * kShape.place_hidden + k]);
      }
      score += static_cast<double>(snapshot.weights.hidden_to_score[k]) * std::max(0.0, hidden);
    }
    EXPECT_NEAR(scores[d], score, 1e-5);
  }
}

// The same rows with and without terms at their ends.
TEST(PlaceHead, TermsOfDevicesAreAdded) {
  constexpr HeadShape kPlain{.aggregate_rank = 8, .place_hidden = 16};
  constexpr HeadShape kWithTerms{.aggregate_rank = 8, .place_hidden = 16, .device_terms = 3};
  ASSERT_EQ(kWithTerms.row_width(), kPlain.row_width() + 8);
  const WeightSnapshot with_terms = test::random_snapshot(2, kWithTerms, 5);
  HeadTables plain = with_terms.tables[0];
  const float* const rows = with_terms.tables[0].place_rows.data();
  plain.place_rows.assign(rows, rows + kPlain.row_width());
  plain.place_rows.insert(plain.place_rows.end(), rows + kWithTerms.row_width(),
                          rows + kWithTerms.row_width() + kPlain.row_width());
  RandomStream random(6);
  const std::vector<float> features = test::random_floats(3 * kPlaceFeatureCount, 1.0, random);
  const auto scores_of = [&](const HeadShape& shape, const HeadTables& tables) {
    PlaceHead head(shape, 3);
    head.reset(tables, with_terms.weights);
    head.add(OperationId(0), DeviceId(1));
    std::vector<float> scores(3);
    head.score(OperationId(1), features, kPlaceFeatureCount, scores);
    return scores;
  };
  const std::vector<float> without = scores_of(kPlain, plain);
  const std::vector<float> found = scores_of(kWithTerms, with_terms.tables[0]);
  for (std::size_t d = 0; d < 3; ++d) {
    const float term = rows[kWithTerms.row_width() + kWithTerms.device_terms_at() + d];
    EXPECT_NE(term, 0.0F);
    EXPECT_FLOAT_EQ(found[d], without[d] + term) << d;
  }
}

TEST(PlaceHead, ResetForgetsWhatWasPlaced) {
  constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 8};
  const WeightSnapshot snapshot = test::random_snapshot(3, kShape, 3);
  PlaceHead head(kShape, 2);
  head.reset(snapshot.tables[0], snapshot.weights);
  head.add(OperationId(0), DeviceId(1));
  head.reset(snapshot.tables[0], snapshot.weights);
  for (float value : head.aggregates()) EXPECT_EQ(value, 0.0F);
}

TEST(Softmax, SumsToOneAndReturnsTheLogOfTheSum) {
  const std::vector<float> scores = {1000.0F, 1000.0F, 1000.0F - std::log(2.0F)};
  std::vector<float> probabilities(3);
  const float log_total = softmax(scores, probabilities);
  EXPECT_NEAR(probabilities[0], 0.4, 1e-5);  // 1 : 1 : 1/2
  EXPECT_NEAR(probabilities[2], 0.2, 1e-5);
  EXPECT_NEAR(log_total, 1000.0 + std::log(2.5), 1e-3);
}

}  // namespace
}  // namespace doppler
