#include "common/place_tape.h"

#include <algorithm>

#include "common/vec8.h"

namespace doppler {

PlaceTape::PlaceTape(const HeadShape& shape, std::size_t operation_count, std::size_t device_count)
    : shape_(shape), device_count_(device_count) {
  looks_.reserve(operation_count);
  step_looks_.reserve(operation_count);
  features_.resize(operation_count * device_count * kPlaceFeatureCount);
  aggregates_.resize(operation_count * device_count * shape.contribution_width());
  score_gradients_.resize(operation_count * device_count);
  hidden_.resize(operation_count * device_count * shape.place_hidden);
  aggregate_gradients_.resize(device_count * shape.contribution_width());
  hidden_gradients_.resize(device_count * 8);
}

void PlaceTape::reset() {
  looks_.clear();
  step_looks_.clear();
}

void PlaceTape::begin_step(std::span<const float> aggregates) {
  std::copy(
      aggregates.begin(), aggregates.end(),
      aggregates_.begin() + static_cast<std::ptrdiff_t>(step_looks_.size() * aggregates.size()));
  step_looks_.push_back(looks_.size());
}

std::size_t PlaceTape::look(OperationId operation, std::span<const float> features) {
  std::size_t look = step_looks_.back();
  while (look < looks_.size() && looks_[look] != operation) ++look;
  if (look < looks_.size()) return look;
  looks_.push_back(operation);
  const std::size_t feature_slice = device_count_ * kPlaceFeatureCount;
  if (features_.size() < looks_.size() * feature_slice) {  // joint policies only
    features_.resize(2 * looks_.size() * feature_slice);
    hidden_.resize(2 * looks_.size() * device_count_ * shape_.place_hidden);
    score_gradients_.resize(2 * looks_.size() * device_count_);
  }
  std::copy(features.begin(), features.end(),
            features_.begin() + static_cast<std::ptrdiff_t>(look * feature_slice));
  std::fill_n(score_gradients_.begin() + static_cast<std::ptrdiff_t>(look * device_count_),
              device_count_, 0.0F);
  return look;
}

void PlaceTape::backward(const Trajectory& trajectory, const HeadTables& tables,
                         const HeadWeights& weights, std::size_t used_features,
                         HeadGradients& gradients) {
  if (shape_.one_pass_devices > 0) {
    backward_terms(0, gradients);
    return;
  }
  if (shape_.device_terms > 0) backward_terms(shape_.device_terms_at(), gradients);
  const std::size_t width = shape_.contribution_width();
  // As in PlaceHead::score: the usual widths as constants.
  const bool usual = shape_.aggregate_rank == 8 && shape_.place_hidden == 16;
  auto backward = &PlaceTape::backward_look<0, 0, 0>;
  if (usual && used_features == kUniformFeatureCount) {
    backward = &PlaceTape::backward_look<kUniformFeatureCount, 8, 16>;
  } else if (usual && used_features == kPlaceFeatureCount) {
    backward = &PlaceTape::backward_look<kPlaceFeatureCount, 8, 16>;
  }
  std::fill(aggregate_gradients_.begin(), aggregate_gradients_.end(), 0.0F);
  std::size_t end = looks_.size();
  for (std::size_t step = step_looks_.size(); step-- > 0;) {
    // What the operation added to its device's aggregate was seen by every later step.
    const float* seen = aggregate_gradients_.data() + trajectory.devices[step].index() * width;
    float* contribution_gradient = gradients.tables.place_rows.data() +
                                   trajectory.operations[step].index() * shape_.row_width() +
                                   shape_.contribution_at();
    for (std::size_t i = 0; i < width; i += 8) {
      store8(contribution_gradient + i, load8(contribution_gradient + i) + load8(seen + i));
    }
    for (std::size_t look = step_looks_[step]; look < end; ++look) {
      (this->*backward)(look, step, tables, weights, used_features, gradients);
    }
    end = step_looks_[step];
  }
}

// Of the terms of single devices, which a row has from the column `at` on.
void PlaceTape::backward_terms(std::size_t at, HeadGradients& gradients) const {
  for (std::size_t look = 0; look < looks_.size(); ++look) {
    float* const terms =
        gradients.tables.place_rows.data() + looks_[look].index() * shape_.row_width() + at;
    for (std::size_t d = 0; d < device_count_; ++d) {
      terms[d] += score_gradients_[look * device_count_ + d];
    }
  }
}

// A width of 0 is only known at run time. What all devices add to is summed over them first, in
// registers.
template <std::size_t kUsed, std::size_t kRank, std::size_t kHidden>
void PlaceTape::backward_look(std::size_t look, std::size_t step, const HeadTables& tables,
                              const HeadWeights& weights, std::size_t used_features,
                              HeadGradients& gradients) {
  const std::size_t rank = kRank > 0 ? kRank : shape_.aggregate_rank;
  const std::size_t hidden_width = kHidden > 0 ? kHidden : shape_.place_hidden;
  const std::size_t used = kUsed > 0 ? kUsed : used_features;
  const std::size_t width = rank + hidden_width;
  const std::size_t row_at = looks_[look].index() * shape_.row_width();
  const float* const affinity = tables.place_rows.data() + row_at + kPlaceFeatureCount;
  float* const row_gradient = gradients.tables.place_rows.data() + row_at;
  float* const affinity_gradient = row_gradient + kPlaceFeatureCount;
  float* const bias_gradient = affinity_gradient + rank;
  const float* const g = score_gradients_.data() + look * device_count_;
  const float* const features = features_.data() + look * device_count_ * kPlaceFeatureCount;
  const float* const aggregates = aggregates_.data() + step * device_count_ * width;
  const float* const hidden = hidden_.data() + look * device_count_ * hidden_width;
  for (std::size_t f = 0; f < used; f += 8) {
    Vec8 sum{};
    for (std::size_t d = 0; d < device_count_; ++d) {
      sum += broadcast8(g[d]) * load8(features + d * kPlaceFeatureCount + f);
    }
    store8(row_gradient + f, load8(row_gradient + f) + sum);
  }
  for (std::size_t r = 0; r < rank; r += 8) {
    Vec8 sum{};
    const Vec8 weight = load8(affinity + r);
    for (std::size_t d = 0; d < device_count_; ++d) {
      const Vec8 score_gradient = broadcast8(g[d]);
      sum += score_gradient * load8(aggregates + d * width + r);
      float* const at = aggregate_gradients_.data() + d * width + r;
      store8(at, load8(at) + score_gradient * weight);
    }
    store8(affinity_gradient + r, load8(affinity_gradient + r) + sum);
  }
  for (std::size_t k = 0; k < hidden_width; k += 8) {
    Vec8 score_sum{};
    Vec8 bias_sum{};
    const Vec8 weight = load8(weights.hidden_to_score.data() + k);
    float* const column_gradient = gradients.weights.feature_to_hidden.data() + k;
    for (std::size_t d = 0; d < device_count_; ++d) {
      const Vec8 score_gradient = broadcast8(g[d]);
      const Vec8 h = load8(hidden + d * hidden_width + k);
      score_sum += score_gradient * positive_part(h);
      const Vec8 through = score_gradient * weight;
      const Vec8 hidden_gradient = h > 0 ? through : Vec8{};
      bias_sum += hidden_gradient;
      float* const at = aggregate_gradients_.data() + d * width + rank + k;
      store8(at, load8(at) + hidden_gradient);
      store8(hidden_gradients_.data() + 8 * d, hidden_gradient);
    }
    float* const score_gradient = gradients.weights.hidden_to_score.data() + k;
    store8(score_gradient, load8(score_gradient) + score_sum);
    store8(bias_gradient + k, load8(bias_gradient + k) + bias_sum);
    for (std::size_t f = 0; f < used; ++f) {
      Vec8 sum{};
      for (std::size_t d = 0; d < device_count_; ++d) {
        sum += broadcast8(features[d * kPlaceFeatureCount + f]) *
               load8(hidden_gradients_.data() + 8 * d);
      }
      float* const at = column_gradient + f * hidden_width;
      store8(at, load8(at) + sum);
    }
  }
}

}  // namespace doppler
