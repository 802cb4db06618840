// Topology: the devices that operations run on and the links that tensors travel over. Immutable
// once built; any number of threads may read it.
//
// Nodes are devices and switches. A switch runs nothing and holds nothing; it joins links (a PCIe
// switch, a host bridge, a network). Links are directed: a cable that works both ways is two links.
// A link may belong to shared groups, each with a capacity that its links have in common (a host
// bridge, a half-duplex bus). Any count and any mix of devices.
//
// Units: seconds, bytes, FLOP/s (a multiply-add counts 2), bytes per second.
//
// Routes. A pair of devices with links between them uses the cheapest of those links; any other
// pair uses its cheapest path. The cost of a path is the sum of its latencies plus
// route_reference_bytes / its bandwidth, in whole picoseconds; its bandwidth is the smallest of its
// links and of their groups. Ties: fewest links, then the smallest link id at the first difference.
// A path passes through switches and through devices that forward, and never through a node twice.
// A pair that no path joins is an error.
#ifndef DOPPLER_COMMON_TOPOLOGY_H_
#define DOPPLER_COMMON_TOPOLOGY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

using NodeId = Id<struct NodeTag>;  // devices first, by DeviceId; then switches
using SharedGroupId = Id<struct SharedGroupTag>;

inline constexpr int kMaxDevices = 4096;  // more make no sense and overflow the table of pairs

struct Device {
  std::string name;                          // unique among nodes
  std::string kind;                          // what measured durations refer to: "h100"
  std::optional<std::int64_t> memory_bytes;  // none: unlimited
  double flops_per_second = 0;               // of every kind of operation that is not listed
  std::map<std::string, double> flops_per_second_by_kind;  // by Operation::kind
  double memory_bandwidth_bytes_per_second = 0;            // 0: operations are never bound by bytes
  double launch_overhead_seconds = 0;                      // of every operation
  std::optional<int> copy_engines_out;  // transfers that may leave at once; none: any number
  std::optional<int> copy_engines_in;   // that may arrive at once; none: any number
  bool forwards = true;                 // whether paths of other pairs may pass through
  bool operator==(const Device&) const = default;

  double rate(const std::string& operation_kind) const;  // FLOP/s
};

struct SharedGroup {
  std::string name;
  double capacity_bytes_per_second = 0;
  bool operator==(const SharedGroup&) const = default;
};

struct Link {
  NodeId from;
  NodeId to;
  double latency_seconds = 0;
  double bandwidth_bytes_per_second = 0;
  std::vector<SharedGroupId> groups;
  bool operator==(const Link&) const = default;
};

// What a topology is made of, in any state; Topology's constructor checks it.
struct TopologyParts {
  std::string name;
  double route_reference_bytes = 16777216;  // 16 MiB: a tensor of a sharded layer
  std::vector<Device> devices;
  std::vector<std::string> switches;  // names
  std::vector<SharedGroup> groups;
  std::vector<Link> links;
  bool operator==(const TopologyParts&) const = default;
};

// How tensors travel from one device to another.
struct Route {
  std::vector<LinkId> links;              // in the order of travel; empty: the same device
  std::vector<SharedGroupId> groups;      // of those links, each once, by first appearance
  SimTime latency;                        // sum over the links, each rounded
  double bandwidth_bytes_per_second = 0;  // the smallest of links and groups

  // What a tensor takes that meets no other: latency + bytes / bandwidth.
  SimTime transfer_time(std::int64_t bytes) const;
};

class Topology {
 public:
  // Throws ConfigError that names the device, link or group and says what is wrong: nothing there,
  // a name used twice, a rate, bandwidth or capacity that is not positive and finite, an id out of
  // range, a link from a node to itself, a pair of devices that no path joins.
  explicit Topology(TopologyParts parts);

  const std::string& name() const { return parts_.name; }
  const TopologyParts& parts() const { return parts_; }
  int device_count() const { return static_cast<int>(parts_.devices.size()); }
  const std::vector<Device>& devices() const { return parts_.devices; }
  const Device& device(DeviceId id) const { return parts_.devices[id.index()]; }
  const std::vector<Link>& links() const { return parts_.links; }
  const Link& link(LinkId id) const { return parts_.links[id.index()]; }
  const std::vector<SharedGroup>& groups() const { return parts_.groups; }
  const SharedGroup& group(SharedGroupId id) const { return parts_.groups[id.index()]; }

  const std::string& node_name(NodeId id) const;
  std::string link_name(LinkId id) const;  // "gpu0->gpu1", "gpu0->gpu1 (2)" for a second one
  const Route& route(DeviceId from, DeviceId to) const {
    return routes_[from.index() * parts_.devices.size() + to.index()];
  }
  // Of the whole content; equal topologies have equal hashes on every machine.
  std::uint64_t content_hash() const { return content_hash_; }

 private:
  TopologyParts parts_;
  std::vector<Route> routes_;  // [devices, devices]
  std::uint64_t content_hash_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_TOPOLOGY_H_
