#include "sim/fair_links.h"

#include <algorithm>
#include <cmath>

#include "common/time_rounding.h"

namespace doppler {

FairLinks::FairLinks(const Topology& topology, std::size_t transfer_capacity)
    : end_service_(transfer_capacity), forest_(transfer_capacity) {
  for (const Link& link : topology.links()) {
    capacity_.push_back(link.bandwidth_bytes_per_second / kTicksPerSecond);
  }
  const auto first_group = static_cast<std::int32_t>(capacity_.size());
  for (const SharedGroup& group : topology.groups()) {
    capacity_.push_back(group.capacity_bytes_per_second / kTicksPerSecond);
  }
  const std::size_t devices = topology.devices().size();
  offsets_.push_back(0);
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = 0; to < devices; ++to) {
      const Route& route = topology.route(DeviceId(static_cast<std::int32_t>(from)),
                                          DeviceId(static_cast<std::int32_t>(to)));
      for (LinkId link : route.links) resources_.push_back(link.value());
      for (SharedGroupId group : route.groups) resources_.push_back(first_group + group.value());
      offsets_.push_back(static_cast<std::int32_t>(resources_.size()));
    }
  }
  streams_.resize(devices * devices);
  active_.resize(devices * devices);
  state_.resize(capacity_.size());
  used_.resize(capacity_.size());
}

void FairLinks::reset() {
  for (std::size_t i = 0; i < active_count_; ++i) {
    streams_[static_cast<std::size_t>(active_[i])] = Stream();
  }
  active_count_ = 0;
  changed_ = false;
  next_time_ = kNever;
}

void FairLinks::advance(Stream& stream, std::int64_t now) const {
  stream.service += stream.rate * static_cast<double>(now - stream.updated);
  stream.updated = now;
}

void FairLinks::begin(std::int32_t transfer, std::size_t pair, double bytes, std::int64_t now) {
  Stream& stream = streams_[pair];
  if (stream.count == 0) {
    stream = Stream();
    stream.updated = now;
    active_[active_count_++] = static_cast<std::int32_t>(pair);
  } else {
    advance(stream, now);
  }
  end_service_[static_cast<std::size_t>(transfer)] = stream.service + bytes;
  ++stream.count;
  stream.heap = forest_.push(stream.heap, transfer, sooner());
  stream.reordered = stream.reordered || stream.heap == transfer;
  changed_ = true;
}

void FairLinks::predict(Stream& stream, std::int64_t now, std::uint32_t sequence) const {
  const double left = end_service_[static_cast<std::size_t>(stream.heap)] - stream.service;
  stream.end_time = now + round_ticks(std::max(0.0, left) / stream.rate).ticks();
  stream.end_sequence = sequence;
}

void FairLinks::set_rate(Stream& stream, double rate, std::int64_t now,
                         std::uint32_t sequence) const {
  stream.fixed = true;
  if (rate == stream.rate && !stream.reordered) return;
  advance(stream, now);
  stream.rate = rate;
  stream.reordered = false;
  predict(stream, now, sequence);
}

// Collects the resources of the active streams.
void FairLinks::gather() {
  ++stamp_;
  used_count_ = 0;
  for (std::size_t i = 0; i < active_count_; ++i) {
    const auto pair = static_cast<std::size_t>(active_[i]);
    streams_[pair].fixed = false;
    for (std::int32_t k = offsets_[pair]; k < offsets_[pair + 1]; ++k) {
      const std::int32_t resource = resources_[static_cast<std::size_t>(k)];
      Resource& state = state_[static_cast<std::size_t>(resource)];
      if (state.stamp != stamp_) {
        state = {
            .left = capacity_[static_cast<std::size_t>(resource)], .users = 0, .stamp = stamp_};
        used_[used_count_++] = resource;
      }
      state.users += streams_[pair].count;
    }
  }
}

// The resource that is full first when all rates grow, and the rate at which it is.
std::size_t FairLinks::tightest(double& rate) const {
  std::size_t best = 0;
  rate = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < used_count_; ++i) {
    const Resource& state = state_[static_cast<std::size_t>(used_[i])];
    if (state.users == 0) continue;
    const double share = state.left / state.users;
    if (share < rate) {
      rate = share;
      best = static_cast<std::size_t>(used_[i]);
    }
  }
  return best;
}

void FairLinks::share(std::int64_t now, std::uint32_t sequence) {
  changed_ = false;
  gather();
  double filled = 0;  // rates never sink, whatever rounding does
  for (std::size_t open = active_count_; open > 0;) {
    double rate = 0;
    const auto full = static_cast<std::int32_t>(tightest(rate));
    filled = std::max(filled, rate);
    for (std::size_t i = 0; i < active_count_; ++i) {
      const auto pair = static_cast<std::size_t>(active_[i]);
      Stream& stream = streams_[pair];
      const auto first = resources_.begin() + offsets_[pair];
      const auto last = resources_.begin() + offsets_[pair + 1];
      if (stream.fixed || std::find(first, last, full) == last) continue;
      for (auto resource = first; resource != last; ++resource) {
        Resource& state = state_[static_cast<std::size_t>(*resource)];
        state.users -= stream.count;
        state.left -= filled * stream.count;
      }
      set_rate(stream, filled, now, sequence);
      --open;
    }
  }
  find_next();
}

// Of ends at the same time with the same number, the transfer that is older comes first.
void FairLinks::find_next() {
  next_time_ = kNever;
  next_pair_ = -1;
  for (std::size_t i = 0; i < active_count_; ++i) {
    const Stream& stream = streams_[static_cast<std::size_t>(active_[i])];
    if (stream.end_time > next_time_) continue;
    if (stream.end_time == next_time_) {
      if (stream.end_sequence > next_sequence_) continue;
      const Stream& best = streams_[static_cast<std::size_t>(next_pair_)];
      if (stream.end_sequence == next_sequence_ && stream.heap > best.heap) continue;
    }
    next_time_ = stream.end_time;
    next_sequence_ = stream.end_sequence;
    next_pair_ = active_[i];
  }
}

std::int32_t FairLinks::end_next() {
  Stream& stream = streams_[static_cast<std::size_t>(next_pair_)];
  const std::int32_t ended = stream.heap;
  stream.heap = forest_.pop(stream.heap, sooner());
  --stream.count;
  changed_ = true;
  if (stream.count == 0) {
    stream = Stream();
    const auto last = active_.begin() + static_cast<std::ptrdiff_t>(active_count_);
    const auto at = std::find(active_.begin(), last, next_pair_);
    std::copy(at + 1, last, at);
    --active_count_;
  } else {
    // Another that is done at this very time ends before rates are recomputed.
    advance(stream, next_time_);
    predict(stream, next_time_, stream.end_sequence);
    stream.reordered = true;
  }
  find_next();
  return ended;
}

}  // namespace doppler
