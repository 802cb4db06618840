// StepEncoder in reverse.
#include <algorithm>
#include <span>

#include "common/check.h"
#include "common/dense_rows.h"
#include "common/head_gradients.h"
#include "common/step_encoder.h"

namespace doppler {
namespace {

// Side by side into `joined`, for each part the mean of the rows of `values` that the next
// counts[part] of `versions` name.
template <typename Version>
void join_means(std::span<const std::size_t> counts, const Version* versions, const float* values,
                std::size_t width, float* joined) {
  for (std::size_t count : counts) {
    std::fill(joined, joined + width, 0.0F);
    for (std::size_t i = 0; i < count; ++i, ++versions) {
      add_scaled(joined, values + static_cast<std::size_t>(*versions) * width,
                 1.0F / static_cast<float>(count), width);
    }
    joined += width;
  }
}

}  // namespace

// `count` versions from readout_versions_[at] on share a gradient equally.
void StepEncoder::scatter_mean(const float* gradient, std::size_t count, std::size_t& at) {
  Layer& norm = layers_.back();
  for (std::size_t i = 0; i < count; ++i, ++at) {
    const auto version = static_cast<std::size_t>(readout_versions_[at]);
    add_scaled(norm.gradient.data() + version * width_, gradient, 1.0F / static_cast<float>(count),
               width_);
  }
}

void StepEncoder::backward_scores(std::span<const float> score_gradients,
                                  HeadGradients& gradients) {
  DP_CHECK_EQ(score_gradients.size(), scores_.size());
  const Layer& norm = layers_.back();
  const float* to_score = weights_ + shape_.step.score_at();
  float* into = gradients.weights.step.data();
  for (std::size_t k = 0; k < scores_.size(); ++k) {
    const auto o = static_cast<std::size_t>(scores_[k].operation);
    const float g = score_gradients[k];
    if (g == 0) continue;
    const float* rectified = score_hidden_.data() + k * width_;
    add_scaled(into + shape_.step.score_at(), rectified, g, width_);
    std::fill(hidden_.begin(), hidden_.end(), 0.0F);
    add_scaled(hidden_.data(), to_score, g, width_);
    mask_gradient(rectified, hidden_.data(), width_);
    add_row(gradients.tables.step_select.data() + o * width_, hidden_.data(), width_);

    const std::size_t counts[] = {1, select_groups_[0].of(o).size(),
                                  select_groups_[1].of(o).size()};
    std::size_t at = scores_[k].first_version;
    join_means(counts, readout_versions_.data() + at, norm.value.data(), width_, joined_.data());
    reverse_product(joined_.data(), 3 * width_, transposed_.data() + shape_.step.select_at(),
                    width_, hidden_.data(), joined_gradient_.data(),
                    into + shape_.step.select_at());
    for (std::size_t part = 0; part < 3; ++part) {
      scatter_mean(joined_gradient_.data() + part * width_, counts[part], at);
    }
  }
}

void StepEncoder::backward_rows(HeadGradients& gradients) {
  const Layer& norm = layers_.back();
  float* into = gradients.weights.step.data();
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const auto o = static_cast<std::size_t>(rows_[k].operation);
    const float* row_gradient = gradients.tables.place_rows.data() + o * row_width_;
    const float* input = row_input_.data() + k * width_;
    reverse_product(input, width_, transposed_.data() + shape_.step.row_at(), row_width_,
                    row_gradient, hidden_.data(), into + shape_.step.row_at());
    std::size_t at = rows_[k].first_version;
    if (!shape_.step.pools) {
      scatter_mean(hidden_.data(), 1, at);
      continue;
    }
    mask_gradient(input, hidden_.data(), width_);
    add_row(gradients.tables.step_place.data() + o * width_, hidden_.data(), width_);
    const std::size_t counts[] = {1, place_groups_[0].of(o).size(), place_groups_[1].of(o).size(),
                                  place_groups_[2].of(o).size()};
    join_means(counts, readout_versions_.data() + at, norm.value.data(), width_, joined_.data());
    reverse_product(joined_.data(), 4 * width_, transposed_.data() + shape_.step.pool_at(), width_,
                    hidden_.data(), joined_gradient_.data(), into + shape_.step.pool_at());
    for (std::size_t part = 0; part < 4; ++part) {
      scatter_mean(joined_gradient_.data() + part * width_, counts[part], at);
    }
  }
}

void StepEncoder::backward_norm(HeadGradients& gradients) {
  Layer& last = layers_[layers_.size() - 2];
  const Layer& norm = layers_.back();
  const float* gain = weights_ + shape_.step.norm_at();
  float* gain_gradient = gradients.weights.step.data() + shape_.step.norm_at();
  float* bias_gradient = gain_gradient + width_;
  const float scale = 1.0F / static_cast<float>(width_);
  for (std::size_t version = 0; version < norm.operation.size(); ++version) {
    const float* from = last.value.data() + version * width_;
    const float* g = norm.gradient.data() + version * width_;
    if (all_zero(g, width_)) continue;  // nothing was read off it
    float* into = last.gradient.data() + version * width_;
    const Moments moments = moments_of(from, width_);
    float sum = 0;
    float product = 0;
    for (std::size_t i = 0; i < width_; ++i) {
      const float normal = (from[i] - moments.mean) * moments.per_deviation;
      gain_gradient[i] += g[i] * normal;
      bias_gradient[i] += g[i];
      sum += g[i] * gain[i];
      product += g[i] * gain[i] * normal;
    }
    for (std::size_t i = 0; i < width_; ++i) {
      const float normal = (from[i] - moments.mean) * moments.per_deviation;
      into[i] += moments.per_deviation * (g[i] * gain[i] - scale * (sum + normal * product));
    }
  }
}

void StepEncoder::backward_layer(std::size_t number, HeadGradients& gradients) {
  Layer& before = layers_[number - 1];
  const Layer& layer = layers_[number];
  const std::size_t round_at = shape_.step.round_at(number - 1);
  float* matrix_gradient = gradients.weights.step.data() + round_at;
  float* bias_gradient = matrix_gradient + 3 * width_ * width_;
  for (std::size_t version = 0; version < layer.operation.size(); ++version) {
    const OperationId operation(layer.operation[version]);
    const std::size_t in_degree = graph_->in_degree(operation);
    const std::size_t out_degree = graph_->out_degree(operation);
    const auto inputs =
        std::span(layer.inputs)
            .subspan(static_cast<std::size_t>(layer.origin[version]), 1 + in_degree + out_degree);
    const auto gradient_at = [&](std::size_t i) {
      return before.gradient.data() + static_cast<std::size_t>(inputs[i]) * width_;
    };
    const float* g = layer.gradient.data() + version * width_;
    if (all_zero(g, width_)) continue;
    add_row(gradient_at(0), g, width_);
    std::copy(g, g + width_, hidden_.begin());
    mask_gradient(layer.rectified.data() + version * width_, hidden_.data(), width_);
    if (all_zero(hidden_.data(), width_)) continue;
    add_row(bias_gradient, hidden_.data(), width_);
    gather(before, inputs, operation.value(), joined_.data());
    reverse_product(joined_.data(), 3 * width_, transposed_.data() + round_at, width_,
                    hidden_.data(), joined_gradient_.data(), matrix_gradient);
    add_row(gradient_at(0), joined_gradient_.data(), width_);
    for (std::size_t i = 0; i < in_degree; ++i) {
      add_scaled(gradient_at(1 + i), joined_gradient_.data() + width_,
                 1.0F / static_cast<float>(in_degree), width_);
    }
    for (std::size_t i = 0; i < out_degree; ++i) {
      add_scaled(gradient_at(1 + in_degree + i), joined_gradient_.data() + 2 * width_,
                 1.0F / static_cast<float>(out_degree), width_);
    }
  }
}

void StepEncoder::backward_input(HeadGradients& gradients) {
  const Layer& layer = layers_.front();
  for (std::size_t version = 0; version < layer.operation.size(); ++version) {
    const auto o = static_cast<std::size_t>(layer.operation[version]);
    const float* g = layer.gradient.data() + version * width_;
    std::copy(g, g + width_, hidden_.begin());
    mask_gradient(layer.value.data() + version * width_, hidden_.data(), width_);
    add_row(gradients.tables.step_input.data() + o * width_, hidden_.data(), width_);
    const std::int64_t row = layer.origin[version];
    if (row < 0) continue;
    add_row(gradients.weights.step.data() + shape_.step.placement_at() +
                static_cast<std::size_t>(row) * width_,
            hidden_.data(), width_);
  }
}

// Of each matrix that backward() multiplies by, in its place.
void StepEncoder::transpose_weights() {
  const StepShape& step = shape_.step;
  transposed_.resize(step.weight_count(row_width_));
  const auto one = [&](std::size_t at, std::size_t rows, std::size_t columns) {
    transpose(weights_ + at, rows, columns, transposed_.data() + at);
  };
  for (std::size_t round = 0; round < step.rounds; ++round) {
    one(step.round_at(round), 3 * width_, width_);
  }
  one(step.select_at(), 3 * width_, width_);
  if (step.pools) one(step.pool_at(), 4 * width_, width_);
  one(step.row_at(), width_, row_width_);
}

void StepEncoder::backward(std::span<const float> score_gradients, HeadGradients& gradients) {
  DP_CHECK(keeps_tape_);
  transpose_weights();
  for (Layer& layer : layers_) layer.gradient.assign(layer.value.size(), 0.0F);
  backward_scores(score_gradients, gradients);
  backward_rows(gradients);
  backward_norm(gradients);
  for (std::size_t layer = shape_.step.rounds; layer > 0; --layer) {
    backward_layer(layer, gradients);
  }
  backward_input(gradients);
}

}  // namespace doppler
