#include "common/topology.h"

#include <bit>
#include <cmath>
#include <set>
#include <utility>

#include "common/error.h"
#include "common/hash.h"
#include "common/route_search.h"
#include "common/time_rounding.h"

namespace doppler {
namespace {

// A route's latency is a sum; this leaves room for every link of the largest topology.
constexpr double kLargestLatencySeconds = 1000;

class PartsCheck {
 public:
  explicit PartsCheck(const TopologyParts& parts) : parts_(parts) {}

  void run() {
    if (parts_.devices.empty()) refuse("devices", "there are none; nothing can run");
    if (parts_.devices.size() > kMaxDevices) {
      refuse("devices", "there are " + std::to_string(parts_.devices.size()) + "; at most " +
                            std::to_string(kMaxDevices) + " are possible");
    }
    check_positive("route_reference_bytes", "it", parts_.route_reference_bytes);
    for (const Device& device : parts_.devices) check_device(device);
    for (const std::string& name : parts_.switches) check_name("switch", name);
    for (const SharedGroup& group : parts_.groups) {
      if (group.name.empty() || !group_names_.insert(group.name).second) {
        refuse("shared group '" + group.name + "'", "its name is empty or used twice");
      }
      check_positive("shared group " + group.name, "capacity_bytes_per_second",
                     group.capacity_bytes_per_second);
    }
    for (std::size_t i = 0; i < parts_.links.size(); ++i) check_link(i);
  }

 private:
  [[noreturn]] void refuse(const std::string& where, const std::string& what) const {
    throw ConfigError("topology " + parts_.name + ": " + where + ": " + what);
  }
  void check_positive(const std::string& where, const std::string& what, double value) const {
    if (!std::isfinite(value) || value <= 0) {
      refuse(where, what + " must be positive and finite");
    }
  }
  void check_not_negative(const std::string& where, const std::string& what, double value) const {
    if (!std::isfinite(value) || value < 0) {
      refuse(where, what + " must be finite and not negative");
    }
  }
  void check_name(const std::string& what, const std::string& name) {
    if (name.empty()) refuse(what, "it has no name");
    if (!node_names_.insert(name).second) {
      refuse(what + " " + name,
             "the name is used twice; devices and switches need names of their own");
    }
  }

  void check_device(const Device& device) {
    check_name("device", device.name);
    const std::string where = "device " + device.name;
    if (device.memory_bytes && *device.memory_bytes <= 0) {
      refuse(where, "memory_bytes must be positive; leave it out where memory has no limit");
    }
    check_positive(where, "flops_per_second", device.flops_per_second);
    for (const auto& [kind, rate] : device.flops_per_second_by_kind) {
      check_positive(where, "flops_per_second_by_kind." + kind, rate);
    }
    check_not_negative(where, "memory_bandwidth_bytes_per_second",
                       device.memory_bandwidth_bytes_per_second);
    check_not_negative(where, "launch_overhead_seconds", device.launch_overhead_seconds);
    for (const std::optional<int>& engines : {device.copy_engines_out, device.copy_engines_in}) {
      if (engines && *engines < 1) {
        refuse(where, "copy engines must be at least 1; leave them out where they set no limit");
      }
    }
  }

  void check_link(std::size_t index) const {
    const Link& link = parts_.links[index];
    const std::string where = "link " + std::to_string(index);
    const std::size_t nodes = parts_.devices.size() + parts_.switches.size();
    for (NodeId node : {link.from, link.to}) {
      if (node.value() < 0 || node.index() >= nodes) refuse(where, "an end of it is no node");
    }
    if (link.from == link.to) refuse(where, "it leads from a node to itself");
    check_positive(where, "bandwidth_bytes_per_second", link.bandwidth_bytes_per_second);
    check_not_negative(where, "latency_seconds", link.latency_seconds);
    if (link.latency_seconds > kLargestLatencySeconds) {
      refuse(where, "latency_seconds exceeds " + std::to_string(kLargestLatencySeconds));
    }
    std::set<SharedGroupId> seen;
    for (SharedGroupId group : link.groups) {
      if (group.value() < 0 || group.index() >= parts_.groups.size()) {
        refuse(where, "a shared group of it does not exist");
      }
      if (!seen.insert(group).second) refuse(where, "a shared group is named twice");
    }
  }

  const TopologyParts& parts_;
  std::set<std::string> node_names_;
  std::set<std::string> group_names_;
};

TopologyParts checked(TopologyParts parts) {
  PartsCheck(parts).run();
  return parts;
}

void add_number(double value, Hasher& hasher) {
  hasher.add(std::bit_cast<std::uint64_t>(value));
}

void hash_device(const Device& device, Hasher& hasher) {
  hasher.add(device.name);
  hasher.add(device.kind);
  hasher.add(device.memory_bytes.value_or(-1));
  add_number(device.flops_per_second, hasher);
  hasher.add(static_cast<std::uint64_t>(device.flops_per_second_by_kind.size()));
  for (const auto& [kind, rate] : device.flops_per_second_by_kind) {
    hasher.add(kind);
    add_number(rate, hasher);
  }
  add_number(device.memory_bandwidth_bytes_per_second, hasher);
  add_number(device.launch_overhead_seconds, hasher);
  hasher.add(static_cast<std::int64_t>(device.copy_engines_out.value_or(-1)));
  hasher.add(static_cast<std::int64_t>(device.copy_engines_in.value_or(-1)));
  hasher.add(static_cast<std::int64_t>(device.forwards ? 1 : 0));
}

std::uint64_t hash_parts(const TopologyParts& parts) {
  Hasher hasher;
  hasher.add(parts.name);
  add_number(parts.route_reference_bytes, hasher);
  hasher.add(static_cast<std::uint64_t>(parts.devices.size()));
  for (const Device& device : parts.devices) hash_device(device, hasher);
  hasher.add(static_cast<std::uint64_t>(parts.switches.size()));
  for (const std::string& name : parts.switches) hasher.add(name);
  hasher.add(static_cast<std::uint64_t>(parts.groups.size()));
  for (const SharedGroup& group : parts.groups) {
    hasher.add(group.name);
    add_number(group.capacity_bytes_per_second, hasher);
  }
  hasher.add(static_cast<std::uint64_t>(parts.links.size()));
  for (const Link& link : parts.links) {
    hasher.add(static_cast<std::int64_t>(link.from.value()));
    hasher.add(static_cast<std::int64_t>(link.to.value()));
    add_number(link.latency_seconds, hasher);
    add_number(link.bandwidth_bytes_per_second, hasher);
    hasher.add(static_cast<std::uint64_t>(link.groups.size()));
    for (SharedGroupId group : link.groups) hasher.add(static_cast<std::int64_t>(group.value()));
  }
  return hasher.digest();
}

}  // namespace

double Device::rate(const std::string& operation_kind) const {
  const auto at = flops_per_second_by_kind.find(operation_kind);
  return at == flops_per_second_by_kind.end() ? flops_per_second : at->second;
}

SimTime Route::transfer_time(std::int64_t bytes) const {
  if (links.empty()) return SimTime(0);
  return latency + round_seconds(static_cast<double>(bytes) / bandwidth_bytes_per_second);
}

Topology::Topology(TopologyParts parts)
    : parts_(checked(std::move(parts))),
      routes_(find_routes(parts_)),
      content_hash_(hash_parts(parts_)) {}

const std::string& Topology::node_name(NodeId id) const {
  const std::size_t devices = parts_.devices.size();
  return id.index() < devices ? parts_.devices[id.index()].name
                              : parts_.switches[id.index() - devices];
}

std::string Topology::link_name(LinkId id) const {
  const Link& named = link(id);
  int parallel = 1;
  for (std::size_t i = 0; i < id.index(); ++i) {
    if (parts_.links[i].from == named.from && parts_.links[i].to == named.to) ++parallel;
  }
  std::string name = node_name(named.from) + "->" + node_name(named.to);
  if (parallel > 1) name += " (" + std::to_string(parallel) + ")";
  return name;
}

}  // namespace doppler
