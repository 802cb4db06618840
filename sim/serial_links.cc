#include "sim/serial_links.h"

#include <algorithm>

namespace doppler {

SerialLinks::SerialLinks(const Topology& topology, std::size_t transfer_capacity,
                         Bookkeeping bookkeeping)
    : first_(topology.devices().size() * topology.devices().size()),
      last_(first_.size()),
      next_(transfer_capacity),
      forest_(first_.size()) {
  const auto add_resource = [this](Wait::Kind kind, std::size_t id, int slots) {
    kind_.push_back(kind);
    id_.push_back(static_cast<std::int32_t>(id));
    slots_.push_back(slots);
    return static_cast<std::int32_t>(slots_.size() - 1);
  };
  const std::size_t devices = topology.devices().size();
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    add_resource(Wait::Kind::kLink, i, 1);
  }
  const auto first_group = static_cast<std::int32_t>(slots_.size());
  for (std::size_t i = 0; i < topology.groups().size(); ++i) {
    add_resource(Wait::Kind::kSharedGroup, i, 1);
  }
  std::vector<std::int32_t> engines_out(devices, -1);
  std::vector<std::int32_t> engines_in(devices, -1);
  for (std::size_t d = 0; d < devices; ++d) {
    const Device& device = topology.devices()[d];
    if (device.copy_engines_out) {
      engines_out[d] = add_resource(Wait::Kind::kCopyEngine, d, *device.copy_engines_out);
    }
    if (device.copy_engines_in) {
      engines_in[d] = add_resource(Wait::Kind::kCopyEngine, d, *device.copy_engines_in);
    }
  }

  offsets_.push_back(0);
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = 0; to < devices; ++to) {
      if (from != to) {
        const Route& route = topology.route(DeviceId(static_cast<std::int32_t>(from)),
                                            DeviceId(static_cast<std::int32_t>(to)));
        if (engines_out[from] >= 0) resources_.push_back(engines_out[from]);
        for (LinkId link : route.links) resources_.push_back(link.value());
        for (SharedGroupId group : route.groups) {
          resources_.push_back(first_group + group.value());
        }
        if (engines_in[to] >= 0) resources_.push_back(engines_in[to]);
      }
      offsets_.push_back(static_cast<std::int32_t>(resources_.size()));
    }
  }
  is_small_ =
      bookkeeping == Bookkeeping::kAutomatic && RouteMasks::fits(first_.size(), slots_.size());
  if (is_small_) masks_ = RouteMasks(offsets_, resources_, slots_);
  free_.resize(slots_.size());
  queue_.resize(slots_.size());
}

void SerialLinks::reset() {
  std::copy(slots_.begin(), slots_.end(), free_.begin());
  std::fill(queue_.begin(), queue_.end(), PairingForest::kEmpty);
  std::fill(first_.begin(), first_.end(), -1);
  masks_.reset();
  waiting_ = 0;
}

}  // namespace doppler
