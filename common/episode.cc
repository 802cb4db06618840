#include "common/episode.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "common/vec8.h"

namespace doppler {
namespace {

// The time of the operation in which an average tick of work is spent: large operations set the
// scale, and the many tiny ones of a transformer do not.
double characteristic_time(const CostTable& costs) {
  double work = 0;
  double weighted = 0;
  for (std::size_t o = 0; o < costs.graph().operation_count(); ++o) {
    const auto time =
        static_cast<double>(costs.mean_compute(OperationId(static_cast<int>(o))).ticks());
    work += time;
    weighted += time * time;
  }
  return work > 0 ? weighted / work : 1.0;
}

float squash(float x) {
  return x / (1.0F + std::abs(x));
}

// The same of eight at once: divisions take most of the time of a step.
Vec8 squash(const Vec8& x) {
  return x / (1.0F + (x < 0 ? -x : x));
}

}  // namespace

Episode::Episode(const CostTable& costs)
    : costs_(&costs),
      devices_(static_cast<std::size_t>(costs.device_count())),
      per_time_scale_(static_cast<float>(1.0 / characteristic_time(costs))),
      physical_(costs.graph().cost_unit() == CostUnit::kPhysical) {
  const std::size_t n = costs.graph().operation_count();
  candidates_.reserve(n);
  candidate_position_.assign(n, -1);
  waiting_inputs_.assign(n, 0);
  device_.assign(n, DeviceId());
  start_.assign(n, SimTime(0));
  end_.assign(n, SimTime(0));
  if (!costs.all_allowed()) allowed_.resize(devices_);
  device_free_.resize(devices_);
  load_.resize(devices_);
  earliest_start_.resize(devices_);
  inputs_arrive_.resize(devices_);
  first_predecessor_.resize(devices_);
  last_predecessor_.resize(devices_);
  features_.resize(devices_ * kPlaceFeatureCount);
  taken_bytes_.resize(devices_);
  finish_.resize(devices_);
  input_transfer_.resize(devices_);
  reset();
}

void Episode::reset() {
  const Graph& graph = costs_->graph();
  placed_count_ = 0;
  selected_ = OperationId();
  candidates_.clear();
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    waiting_inputs_[id] = static_cast<std::int32_t>(graph.in_degree(id));
    candidate_position_[id] = -1;
    if (waiting_inputs_[id] == 0) {
      candidate_position_[id] = static_cast<std::int32_t>(candidates_.size());
      candidates_.push_back(id);
    }
  }
  std::fill(device_free_.begin(), device_free_.end(), SimTime(0));
  std::fill(load_.begin(), load_.end(), SimTime(0));
  std::fill(taken_bytes_.begin(), taken_bytes_.end(), 0);
  estimated_makespan_ = SimTime(0);
}

void Episode::select(OperationId operation) {
  DP_CHECK(is_candidate(operation));
  selected_ = operation;
  const Graph& graph = costs_->graph();
  const auto predecessors = graph.predecessors(operation);
  const auto in_edges = graph.in_edges(operation);

  std::fill(inputs_arrive_.begin(), inputs_arrive_.end(), SimTime(0));
  std::fill(features_.begin(), features_.end(), 0.0F);
  const auto feature = [&](std::size_t d, PlaceFeature f) -> float& {
    return features_[d * kPlaceFeatureCount + static_cast<std::size_t>(f)];
  };

  std::fill(first_predecessor_.begin(), first_predecessor_.end(), OperationId());
  std::fill(last_predecessor_.begin(), last_predecessor_.end(), OperationId());
  float transfer_sum = 0;
  for (std::size_t i = 0; i < predecessors.size(); ++i) {
    const OperationId p = predecessors[i];
    const DeviceId home = device_[p];
    const SimTime end = end_[p];
    for (std::size_t d = 0; d < devices_; ++d) {
      const SimTime arrival =
          end + costs_->transfer(in_edges[i], home, DeviceId(static_cast<std::int32_t>(d)));
      inputs_arrive_[d] = std::max(inputs_arrive_[d], arrival);
    }
    feature(home.index(), PlaceFeature::kPredecessorCompute) +=
        static_cast<float>(costs_->compute(p, home).ticks());
    OperationId& first = first_predecessor_[home.index()];
    if (first.value() < 0 || start_[p] < start_[first]) first = p;
    OperationId& last = last_predecessor_[home.index()];
    if (last.value() < 0 || end > end_[last]) last = p;
    const auto transfer = static_cast<float>(costs_->mean_transfer(in_edges[i]).ticks());
    transfer_sum += transfer;
    feature(home.index(), PlaceFeature::kLocalInputs) += transfer;
  }

  if (!costs_->all_allowed()) {
    for (std::size_t d = 0; d < devices_; ++d) {
      allowed_[d] = costs_->allowed(operation, DeviceId(static_cast<std::int32_t>(d))) ? 1 : 0;
    }
  }
  SimTime earliest = SimTime::max();
  SimTime least_load = SimTime::max();
  for (std::size_t d = 0; d < devices_; ++d) {
    earliest_start_[d] = allowed(d) ? std::max(inputs_arrive_[d], device_free_[d]) : SimTime::max();
    earliest = std::min(earliest, earliest_start_[d]);
    least_load = std::min(least_load, load_[d]);
  }
  const auto relative = [&](SimTime time, SimTime origin) {
    return static_cast<float>((time - origin).ticks()) * per_time_scale_;
  };
  for (std::size_t d = 0; d < devices_; ++d) {
    float* const row = features_.data() + d * kPlaceFeatureCount;
    if (!allowed(d)) {
      std::fill_n(row, kPlaceFeatureCount, 0.0F);
      continue;
    }
    float first_start = 0;
    float last_end = 0;
    if (first_predecessor_[d].value() >= 0) {
      first_start = relative(start_[first_predecessor_[d]], earliest);
      last_end = relative(end_[last_predecessor_[d]], earliest);
    }
    // In the order of PlaceFeature. Never stored one by one and loaded together again: that would
    // stall.
    Vec8 squashed = squash(Vec8{relative(load_[d], least_load),
                                feature(d, PlaceFeature::kPredecessorCompute) * per_time_scale_,
                                first_start, last_end, relative(earliest_start_[d], earliest),
                                relative(inputs_arrive_[d], earliest), 0, 0});
    const float local = feature(d, PlaceFeature::kLocalInputs);
    squashed[6] = transfer_sum > 0 ? local / transfer_sum : local;
    squashed[7] = earliest_start_[d] == earliest ? 1.0F : 0.0F;
    store8(row, squashed);
  }
  if (physical_) add_physical_features(earliest);
}

void Episode::add_physical_features(SimTime earliest) {
  const Graph& graph = costs_->graph();
  const auto predecessors = graph.predecessors(selected_);
  const auto in_edges = graph.in_edges(selected_);
  std::fill(input_transfer_.begin(), input_transfer_.end(), SimTime(0));
  for (std::size_t i = 0; i < predecessors.size(); ++i) {
    const DeviceId home = device_[predecessors[i]];
    for (std::size_t d = 0; d < devices_; ++d) {
      input_transfer_[d] +=
          costs_->transfer(in_edges[i], home, DeviceId(static_cast<std::int32_t>(d)));
    }
  }
  SimTime least_compute = SimTime::max();
  SimTime first_finish = SimTime::max();
  SimTime least_transfer = SimTime::max();
  SimTime least_reach = SimTime::max();
  for (std::size_t d = 0; d < devices_; ++d) {
    if (!allowed(d)) continue;
    const DeviceId device(static_cast<std::int32_t>(d));
    const SimTime compute = costs_->compute(selected_, device);
    finish_[d] = earliest_start_[d] + compute;
    least_compute = std::min(least_compute, compute);
    first_finish = std::min(first_finish, finish_[d]);
    least_transfer = std::min(least_transfer, input_transfer_[d]);
    least_reach = std::min(least_reach, costs_->mean_reach(selected_, device));
  }
  const auto relative = [&](SimTime time, SimTime origin) {
    return squash(static_cast<float>((time - origin).ticks()) * per_time_scale_);
  };
  for (std::size_t d = 0; d < devices_; ++d) {
    if (!allowed(d)) continue;
    const DeviceId device(static_cast<std::int32_t>(d));
    float* const row = features_.data() + d * kPlaceFeatureCount;
    const auto set = [row](PlaceFeature f, float value) {
      row[static_cast<std::size_t>(f)] = value;
    };
    set(PlaceFeature::kComputeExcess, relative(costs_->compute(selected_, device), least_compute));
    set(PlaceFeature::kEarliestFinish, relative(finish_[d], first_finish));
    set(PlaceFeature::kIsEarliestFinish, finish_[d] == first_finish ? 1.0F : 0.0F);
    set(PlaceFeature::kDeviceFree, relative(device_free_[d], earliest));
    set(PlaceFeature::kTransferExcess, relative(input_transfer_[d], least_transfer));
    set(PlaceFeature::kReach, relative(costs_->mean_reach(selected_, device), least_reach));
    const std::int64_t capacity = costs_->memory_bytes(device);
    if (capacity > 0) {
      set(PlaceFeature::kMemoryTaken,
          static_cast<float>(static_cast<double>(taken_bytes_[d]) / static_cast<double>(capacity)));
    }
  }
}

void Episode::place(DeviceId device) {
  DP_CHECK(selected_.value() >= 0);
  DP_CHECK(device.value() >= 0);
  DP_CHECK_LT(device.index(), devices_);
  DP_CHECK(allowed(device.index()));
  const OperationId operation = selected_;
  selected_ = OperationId();
  const SimTime start = earliest_start_[device.index()];
  const SimTime end = start + costs_->compute(operation, device);
  device_[operation] = device;
  start_[operation] = start;
  end_[operation] = end;
  device_free_[device.index()] = end;
  load_[device.index()] += costs_->compute(operation, device);
  estimated_makespan_ = std::max(estimated_makespan_, end);
  ++placed_count_;
  if (physical_) {
    std::int64_t& taken = taken_bytes_[device.index()];
    taken += costs_->graph().operation(operation).output_bytes;
    const auto in_edges = costs_->graph().in_edges(operation);
    const auto predecessors = costs_->graph().predecessors(operation);
    for (std::size_t i = 0; i < in_edges.size(); ++i) {
      if (device_[predecessors[i]] != device) taken += costs_->graph().edge_bytes(in_edges[i]);
    }
  }

  const auto position = static_cast<std::size_t>(candidate_position_[operation]);
  const OperationId last = candidates_.back();
  candidates_[position] = last;
  candidate_position_[last] = static_cast<std::int32_t>(position);
  candidates_.pop_back();
  candidate_position_[operation] = -1;
  for (OperationId successor : costs_->graph().successors(operation)) {
    if (--waiting_inputs_[successor] == 0) {
      candidate_position_[successor] = static_cast<std::int32_t>(candidates_.size());
      candidates_.push_back(successor);
    }
  }
}

}  // namespace doppler
