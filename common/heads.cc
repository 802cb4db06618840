#include "common/heads.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"
#include "common/vec8.h"

namespace doppler {

static_assert(kPlaceFeatureCount % 8 == 0 && kUniformFeatureCount % 8 == 0,
              "PlaceHead::score takes features in groups of 8");

namespace {
// exp() of less is subnormal or 0.
constexpr double kWidestSpread = 700;
}  // namespace

SelectHead::SelectHead(std::span<const float> select_scores)
    : largest_(*std::max_element(select_scores.begin(), select_scores.end())),
      is_wide_(largest_ - *std::min_element(select_scores.begin(), select_scores.end()) >
               kWidestSpread),
      scores_(select_scores) {
  if (is_wide_) return;
  weights_.reserve(select_scores.size());
  for (float score : select_scores) {
    weights_.push_back(std::exp(static_cast<double>(score) - largest_));
  }
}

SelectHead::Sum SelectHead::sum(std::span<const OperationId> candidates) const {
  Sum result{.reference = largest_};
  if (is_wide_) {
    result.reference = score(candidates.front());
    for (OperationId candidate : candidates) {
      result.reference = std::max(result.reference, score(candidate));
    }
  }
  for (OperationId candidate : candidates) result.total += weight(candidate, result);
  return result;
}

float SelectHead::log_probability(OperationId operation, const Sum& sum) const {
  return log_probability(operation, sum, std::log(sum.total));
}

PlaceHead::PlaceHead(const HeadShape& shape, std::size_t device_count)
    : shape_(shape),
      device_count_(device_count),
      aggregates_(device_count * shape.contribution_width(), 0.0F) {
  DP_CHECK_EQ(shape.aggregate_rank % 8, 0U);
  DP_CHECK_EQ(shape.place_hidden % 8, 0U);
}

void PlaceHead::reset(const HeadTables& tables, const HeadWeights& weights) {
  DP_CHECK_EQ(tables.place_rows.size(), tables.select_scores.size() * shape_.row_width());
  DP_CHECK_EQ(weights.feature_to_hidden.size(), kPlaceFeatureCount * shape_.place_hidden);
  DP_CHECK_EQ(weights.hidden_to_score.size(), shape_.place_hidden);
  tables_ = &tables;
  weights_ = &weights;
  std::fill(aggregates_.begin(), aggregates_.end(), 0.0F);
}

void PlaceHead::score(OperationId operation, std::span<const float> features, std::size_t used,
                      std::span<float> scores, float* hidden) const {
  const float* row = tables_->place_rows.data() + operation.index() * shape_.row_width();
  if (shape_.one_pass_devices > 0) {
    DP_CHECK_EQ(shape_.one_pass_devices, device_count_);
    std::copy(row, row + device_count_, scores.begin());
    return;
  }
  // The usual widths as constants: loops without counters, sums in registers. Same sums, same
  // order.
  const bool usual = shape_.aggregate_rank == 8 && shape_.place_hidden == 16;
  if (usual && used == kUniformFeatureCount) {
    score_devices<kUniformFeatureCount, 8, 16>(row, features.data(), used, scores, hidden);
  } else if (usual && used == kPlaceFeatureCount) {
    score_devices<kPlaceFeatureCount, 8, 16>(row, features.data(), used, scores, hidden);
  } else {
    score_devices<0, 0, 0>(row, features.data(), used, scores, hidden);
  }
  if (shape_.device_terms == 0) return;
  DP_CHECK_EQ(shape_.device_terms, device_count_);
  const float* const terms = row + shape_.device_terms_at();
  for (std::size_t d = 0; d < device_count_; ++d) scores[d] += terms[d];
}

// A width of 0 is only known at run time.
template <std::size_t kUsed, std::size_t kRank, std::size_t kHidden>
void PlaceHead::score_devices(const float* row, const float* features, std::size_t used,
                              std::span<float> scores, float* hidden_out) const {
  const std::size_t feature_count = kUsed > 0 ? kUsed : used;
  const std::size_t rank = kRank > 0 ? kRank : shape_.aggregate_rank;
  const std::size_t hidden_width = kHidden > 0 ? kHidden : shape_.place_hidden;
  const std::size_t aggregate_width = rank + hidden_width;
  const float* affinity = row + kPlaceFeatureCount;
  const float* hidden_bias = affinity + rank;
  for (std::size_t d = 0; d < device_count_; ++d) {
    const float* y = features + d * kPlaceFeatureCount;
    const float* aggregate = aggregates_.data() + d * aggregate_width;
    Vec8 sum = load8(row) * load8(y);
    for (std::size_t f = 8; f < feature_count; f += 8) sum += load8(row + f) * load8(y + f);
    for (std::size_t r = 0; r < rank; r += 8) sum += load8(affinity + r) * load8(aggregate + r);
    for (std::size_t k = 0; k < hidden_width; k += 8) {
      Vec8 hidden = load8(hidden_bias + k) + load8(aggregate + rank + k);
      const float* column = weights_->feature_to_hidden.data() + k;
      for (std::size_t f = 0; f < feature_count; ++f) {
        hidden += broadcast8(y[f]) * load8(column + f * hidden_width);
      }
      if (hidden_out != nullptr) store8(hidden_out + d * hidden_width + k, hidden);
      sum += load8(weights_->hidden_to_score.data() + k) * positive_part(hidden);
    }
    scores[d] = sum8(sum);
  }
}

void PlaceHead::add(OperationId operation, DeviceId device) {
  if (shape_.one_pass_devices > 0) return;
  const float* contribution = tables_->place_rows.data() + operation.index() * shape_.row_width() +
                              shape_.contribution_at();
  float* aggregate = aggregates_.data() + device.index() * shape_.contribution_width();
  for (std::size_t i = 0; i < shape_.contribution_width(); i += 8) {
    store8(aggregate + i, load8(aggregate + i) + load8(contribution + i));
  }
}

void mask_scores(const Episode& episode, std::span<float> scores) {
  if (episode.all_allowed()) return;
  for (std::size_t d = 0; d < scores.size(); ++d) {
    if (!episode.allowed(d)) scores[d] = -std::numeric_limits<float>::infinity();
  }
}

float softmax(std::span<const float> scores, std::span<float> probabilities) {
  const float largest = *std::max_element(scores.begin(), scores.end());
  float sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    probabilities[i] = std::exp(scores[i] - largest);
    sum += probabilities[i];
  }
  const float scale = 1.0F / sum;
  for (float& p : probabilities) p *= scale;
  return largest + std::log(sum);
}

}  // namespace doppler
