#include "common/head_gradients.h"

#include "common/check.h"

namespace doppler {
namespace {

void add_to(std::vector<float>& sum, const std::vector<float>& other) {
  DP_CHECK_EQ(sum.size(), other.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
}

}  // namespace

void HeadGradients::reset(const HeadShape& shape, std::size_t operation_count) {
  tables.select_scores.assign(operation_count, 0.0F);
  tables.place_rows.assign(operation_count * shape.row_width(), 0.0F);
  weights.feature_to_hidden.assign(kPlaceFeatureCount * shape.place_hidden, 0.0F);
  weights.hidden_to_score.assign(shape.place_hidden, 0.0F);
  weights.step.assign(shape.step.weight_count(shape.row_width()), 0.0F);
  tables.step_input.assign(operation_count * shape.step.width, 0.0F);
  tables.step_select.assign(operation_count * shape.step.width, 0.0F);
  tables.step_place.assign(shape.step.pools ? operation_count * shape.step.width : 0, 0.0F);
}

void HeadGradients::add(const HeadGradients& other) {
  add_to(tables.select_scores, other.tables.select_scores);
  add_to(tables.place_rows, other.tables.place_rows);
  add_to(weights.feature_to_hidden, other.weights.feature_to_hidden);
  add_to(weights.hidden_to_score, other.weights.hidden_to_score);
  add_to(weights.step, other.weights.step);
  add_to(tables.step_input, other.tables.step_input);
  add_to(tables.step_select, other.tables.step_select);
  add_to(tables.step_place, other.tables.step_place);
}

void HeadGradients::scale(float factor) {
  for (auto* values : {&tables.select_scores, &tables.place_rows, &weights.feature_to_hidden,
                       &weights.hidden_to_score, &weights.step, &tables.step_input,
                       &tables.step_select, &tables.step_place}) {
    for (float& value : *values) value *= factor;
  }
}

}  // namespace doppler
