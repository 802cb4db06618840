#include "common/step_encoder.h"

#include <algorithm>

#include "common/check.h"
#include "common/dense_rows.h"

namespace doppler {

StepEncoder::StepEncoder(const HeadShape& shape, const Graph& graph, const Levels& levels,
                         bool keeps_tape)
    : shape_(shape),
      width_(shape.step.width),
      row_width_(shape.row_width()),
      graph_(&graph),
      keeps_tape_(keeps_tape),
      select_groups_{critical_paths(levels.critical_successor),
                     critical_paths(levels.critical_predecessor)},
      layers_(shape.step.rounds + 2),
      placement_(graph.operation_count()),
      is_reached_(graph.operation_count()),
      joined_(4 * width_),
      joined_gradient_(4 * width_),
      hidden_(width_) {
  DP_CHECK(shape.step.used());
  if (shape.step.pools) place_groups_ = relations(graph);
}

void StepEncoder::reset(const HeadTables& tables, const HeadWeights& weights) {
  const std::size_t n = graph_->operation_count();
  DP_CHECK_EQ(tables.step_input.size(), n * width_);
  DP_CHECK_EQ(tables.step_select.size(), n * width_);
  DP_CHECK_EQ(tables.step_place.size(), shape_.step.pools ? n * width_ : 0);
  DP_CHECK_EQ(tables.place_rows.size(), n * row_width_);
  DP_CHECK_EQ(weights.step.size(), shape_.step.weight_count(row_width_));
  tables_ = &tables;
  weights_ = weights.step.data();
  const std::size_t versions = keeps_tape_ ? 0 : n;
  for (Layer& layer : layers_) {
    layer.value.resize(versions * width_);
    layer.rectified.resize(versions * width_);
    layer.operation.resize(versions);
    layer.origin.resize(versions);
    layer.inputs.clear();
    layer.current.assign(n, -1);
  }
  std::fill(placement_.begin(), placement_.end(), -1);
  marked_ = -1;
  scores_.clear();
  rows_.clear();
  readout_versions_.clear();
  score_hidden_.clear();
  row_input_.clear();
  std::fill(is_reached_.begin(), is_reached_.end(), std::uint8_t{1});
  changed_.clear();
  for (std::size_t o = 0; o < n; ++o) changed_.push_back(static_cast<std::int32_t>(o));
}

void StepEncoder::change(OperationId operation) {
  if (is_reached_[operation.index()] != 0) return;
  is_reached_[operation.index()] = 1;
  changed_.push_back(operation.value());
}

void StepEncoder::mark(OperationId operation) {
  DP_CHECK_EQ(placement_[operation.index()], -1);
  marked_ = operation.value();
  placement_[operation.index()] = static_cast<std::int32_t>(shape_.step.devices);
  change(operation);
}

void StepEncoder::place(OperationId operation, DeviceId device) {
  DP_CHECK_LT(device.index(), shape_.step.devices);
  if (marked_ >= 0) DP_CHECK_EQ(marked_, operation.value());
  marked_ = -1;
  placement_[operation.index()] = device.value();
  change(operation);
}

std::size_t StepEncoder::new_version(Layer& layer, std::int32_t operation) {
  const auto o = static_cast<std::size_t>(operation);
  std::size_t version = o;
  if (keeps_tape_) {
    version = layer.operation.size();
    layer.operation.push_back(operation);
    layer.origin.push_back(0);
    layer.value.resize(layer.value.size() + width_);
    layer.rectified.resize(layer.rectified.size() + width_);
  }
  layer.current[o] = static_cast<std::int32_t>(version);
  return version;
}

// What has changed spreads by one edge a round.
void StepEncoder::refresh() {
  if (changed_.empty()) return;
  for (std::int32_t operation : changed_) refresh_input(operation);
  reached_ = changed_;
  for (std::size_t layer = 1; layer <= shape_.step.rounds; ++layer) {
    const std::size_t before = reached_.size();
    for (std::size_t i = 0; i < before; ++i) {
      const OperationId operation(reached_[i]);
      for (const auto& neighbours :
           {graph_->predecessors(operation), graph_->successors(operation)}) {
        for (OperationId neighbour : neighbours) {
          if (is_reached_[neighbour.index()] != 0) continue;
          is_reached_[neighbour.index()] = 1;
          reached_.push_back(neighbour.value());
        }
      }
    }
    for (std::int32_t operation : reached_) refresh_layer(layer, operation);
  }
  for (std::int32_t operation : reached_) refresh_norm(operation);
  for (std::int32_t operation : reached_) is_reached_[static_cast<std::size_t>(operation)] = 0;
  changed_.clear();
}

void StepEncoder::refresh_input(std::int32_t operation) {
  Layer& layer = layers_.front();
  const std::size_t version = new_version(layer, operation);
  float* value = layer.value.data() + version * width_;
  const float* input = tables_->step_input.data() + static_cast<std::size_t>(operation) * width_;
  std::copy(input, input + width_, value);
  const std::int32_t row = placement_[static_cast<std::size_t>(operation)];
  layer.origin[version] = row;
  if (row >= 0) {
    add_row(value, weights_ + shape_.step.placement_at() + static_cast<std::size_t>(row) * width_,
            width_);
  }
  rectify(value, width_);
}

// [h | mean over inputs | mean over outputs] of an operation, by versions of the layer before.
void StepEncoder::gather(const Layer& before, std::span<const std::int32_t> versions,
                         std::int32_t operation, float* into) const {
  const auto at = [&](std::size_t i) {
    return before.value.data() + static_cast<std::size_t>(versions[i]) * width_;
  };
  std::copy(at(0), at(0) + width_, into);
  std::fill(into + width_, into + 3 * width_, 0.0F);
  const std::size_t in_degree = graph_->in_degree(OperationId(operation));
  const std::size_t out_degree = graph_->out_degree(OperationId(operation));
  for (std::size_t i = 0; i < in_degree; ++i) {
    add_scaled(into + width_, at(1 + i), 1.0F / static_cast<float>(in_degree), width_);
  }
  for (std::size_t i = 0; i < out_degree; ++i) {
    add_scaled(into + 2 * width_, at(1 + in_degree + i), 1.0F / static_cast<float>(out_degree),
               width_);
  }
}

void StepEncoder::refresh_layer(std::size_t number, std::int32_t operation) {
  const Layer& before = layers_[number - 1];
  Layer& layer = layers_[number];
  const std::size_t version = new_version(layer, operation);
  if (!keeps_tape_) layer.inputs.clear();
  const std::size_t first = layer.inputs.size();
  layer.origin[version] = static_cast<std::int64_t>(first);
  layer.inputs.push_back(before.current[static_cast<std::size_t>(operation)]);
  for (OperationId o : graph_->predecessors(OperationId(operation))) {
    layer.inputs.push_back(before.current[o.index()]);
  }
  for (OperationId o : graph_->successors(OperationId(operation))) {
    layer.inputs.push_back(before.current[o.index()]);
  }
  gather(before, std::span(layer.inputs).subspan(first), operation, joined_.data());
  const float* matrix = weights_ + shape_.step.round_at(number - 1);
  float* rectified = layer.rectified.data() + version * width_;
  float* value = layer.value.data() + version * width_;
  const float* bias = matrix + 3 * width_ * width_;
  std::copy(bias, bias + width_, rectified);
  add_product(joined_.data(), 3 * width_, matrix, width_, rectified);
  rectify(rectified, width_);
  std::copy(joined_.data(), joined_.data() + width_, value);
  add_row(value, rectified, width_);
}

void StepEncoder::refresh_norm(std::int32_t operation) {
  const Layer& last = layers_[layers_.size() - 2];
  Layer& norm = layers_.back();
  const std::size_t version = new_version(norm, operation);
  DP_CHECK_EQ(static_cast<std::size_t>(last.current[static_cast<std::size_t>(operation)]), version);
  const float* from = last.value.data() + version * width_;
  float* into = norm.value.data() + version * width_;
  const float* gain = weights_ + shape_.step.norm_at();
  const float* bias = gain + width_;
  const Moments moments = moments_of(from, width_);
  for (std::size_t i = 0; i < width_; ++i) {
    into[i] = (from[i] - moments.mean) * moments.per_deviation * gain[i] + bias[i];
  }
}

void StepEncoder::read_mean(std::span<const std::int32_t> operations, float* into, bool records) {
  const Layer& norm = layers_.back();
  std::fill(into, into + width_, 0.0F);
  for (std::int32_t operation : operations) {
    const std::int32_t version = norm.current[static_cast<std::size_t>(operation)];
    add_row(into, norm.value.data() + static_cast<std::size_t>(version) * width_, width_);
    if (records) readout_versions_.push_back(version);
  }
  if (operations.empty()) return;
  const float scale = 1.0F / static_cast<float>(operations.size());
  for (std::size_t i = 0; i < width_; ++i) into[i] *= scale;
}

void StepEncoder::select_scores(std::span<const OperationId> operations, std::span<float> scores) {
  refresh();
  const float* matrix = weights_ + shape_.step.select_at();
  const float* to_score = weights_ + shape_.step.score_at();
  for (std::size_t c = 0; c < operations.size(); ++c) {
    const std::size_t o = operations[c].index();
    const std::int32_t own = operations[c].value();
    if (keeps_tape_) scores_.push_back({own, readout_versions_.size()});
    read_mean(std::span(&own, 1), joined_.data(), keeps_tape_);
    for (std::size_t g = 0; g < select_groups_.size(); ++g) {
      read_mean(select_groups_[g].of(o), joined_.data() + (1 + g) * width_, keeps_tape_);
    }
    const float* input = tables_->step_select.data() + o * width_;
    std::copy(input, input + width_, hidden_.begin());
    add_product(joined_.data(), 3 * width_, matrix, width_, hidden_.data());
    rectify(hidden_.data(), width_);
    if (keeps_tape_) score_hidden_.insert(score_hidden_.end(), hidden_.begin(), hidden_.end());
    scores[c] = tables_->select_scores[o] + dot(hidden_.data(), to_score, width_);
  }
}

void StepEncoder::place_row(OperationId operation, std::span<float> row) {
  refresh();
  const std::size_t o = operation.index();
  const std::int32_t own = operation.value();
  if (keeps_tape_) rows_.push_back({own, readout_versions_.size()});
  read_mean(std::span(&own, 1), joined_.data(), keeps_tape_);
  if (shape_.step.pools) {
    for (std::size_t g = 0; g < place_groups_.size(); ++g) {
      read_mean(place_groups_[g].of(o), joined_.data() + (1 + g) * width_, keeps_tape_);
    }
    const float* input = tables_->step_place.data() + o * width_;
    std::copy(input, input + width_, hidden_.begin());
    add_product(joined_.data(), 4 * width_, weights_ + shape_.step.pool_at(), width_,
                hidden_.data());
    rectify(hidden_.data(), width_);
  } else {
    std::copy(joined_.data(), joined_.data() + width_, hidden_.begin());
  }
  if (keeps_tape_) row_input_.insert(row_input_.end(), hidden_.begin(), hidden_.end());
  const float* own_row = tables_->place_rows.data() + o * row_width_;
  std::copy(own_row, own_row + row_width_, row.begin());
  add_product(hidden_.data(), width_, weights_ + shape_.step.row_at(), row_width_, row.data());
}

}  // namespace doppler
