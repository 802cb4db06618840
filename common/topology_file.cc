#include "common/topology_file.h"

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/nearest_name.h"
#include "common/text_file.h"
#include "common/yaml_reader.h"

namespace doppler {
namespace {

constexpr std::int64_t kLargestBytes = std::int64_t{1} << 60;
constexpr int kMostCopyEngines = 1024;

class TopologyReader {
 public:
  TopologyParts read(const YamlItem& root) {
    root.expect_keys(
        {"name", "route_reference_bytes", "devices", "switches", "shared_groups", "links"});
    parts_.name = root.get("name").text();
    if (const auto item = root.find("route_reference_bytes")) {
      parts_.route_reference_bytes = item->positive();
    }
    for (const YamlItem& item : root.get("devices").list()) read_device(item);
    if (parts_.devices.empty()) root.get("devices").fail("there are none; nothing can run");
    if (const auto list = root.find("switches")) {
      for (const YamlItem& item : list->list()) read_switch(item);
    }
    if (const auto list = root.find("shared_groups")) {
      for (const YamlItem& item : list->list()) read_group(item);
    }
    if (const auto list = root.find("links")) {
      for (const YamlItem& item : list->list()) read_link(item);
    }
    return std::move(parts_);
  }

 private:
  // The names that an entry stands for: "gpu", or with a count "gpu0", "gpu1", ...
  std::vector<std::string> read_names(const YamlItem& entry) {
    const YamlItem name_item = entry.get("name");
    const std::string name = name_item.text();
    std::vector<std::string> names = {name};
    if (const auto count = entry.find("count")) {
      names.clear();
      const std::int64_t last = count->integer(1, kMaxDevices);
      names.reserve(static_cast<std::size_t>(last));
      for (std::int64_t i = 0; i < last; ++i) names.push_back(name + std::to_string(i));
    }
    std::vector<NodeId> nodes;
    for (const std::string& own : names) {
      const NodeId node(node_count_++);
      nodes.push_back(node);
      if (!nodes_of_.emplace(own, std::vector<NodeId>{node}).second) {
        name_item.fail("the name '" + own + "' is used twice; each node needs its own");
      }
    }
    if (names != std::vector<std::string>{name} && !nodes_of_.emplace(name, nodes).second) {
      name_item.fail("the name '" + name + "' is used twice; each node needs its own");
    }
    return names;
  }

  void read_device(const YamlItem& item) {
    item.expect_keys({"name", "count", "kind", "memory_bytes", "flops_per_second",
                      "flops_per_second_by_kind", "memory_bandwidth_bytes_per_second",
                      "launch_overhead_seconds", "copy_engines_out", "copy_engines_in",
                      "forwards"});
    Device device;
    device.kind = item.get("kind").text();
    device.flops_per_second = item.get("flops_per_second").positive();
    if (const auto value = item.find("memory_bytes")) {
      device.memory_bytes = value->integer(1, kLargestBytes);
    }
    if (const auto rates = item.find("flops_per_second_by_kind")) {
      for (const auto& [kind, rate] : rates->entries()) {
        device.flops_per_second_by_kind[kind] = rate.positive();
      }
    }
    if (const auto value = item.find("memory_bandwidth_bytes_per_second")) {
      device.memory_bandwidth_bytes_per_second = value->positive();
    }
    if (const auto value = item.find("launch_overhead_seconds")) {
      device.launch_overhead_seconds = value->not_negative();
    }
    if (const auto value = item.find("copy_engines_out")) {
      device.copy_engines_out = static_cast<int>(value->integer(1, kMostCopyEngines));
    }
    if (const auto value = item.find("copy_engines_in")) {
      device.copy_engines_in = static_cast<int>(value->integer(1, kMostCopyEngines));
    }
    if (const auto value = item.find("forwards")) device.forwards = value->flag();
    for (std::string& name : read_names(item)) {
      device.name = std::move(name);
      parts_.devices.push_back(device);
    }
    if (parts_.devices.size() > kMaxDevices) {
      item.fail("more than " + std::to_string(kMaxDevices) + " devices");
    }
  }

  void read_switch(const YamlItem& item) {
    item.expect_keys({"name", "count"});
    for (std::string& name : read_names(item)) parts_.switches.push_back(std::move(name));
  }

  void read_group(const YamlItem& item) {
    item.expect_keys({"name", "capacity_bytes_per_second"});
    const YamlItem name = item.get("name");
    const SharedGroupId id(static_cast<std::int32_t>(parts_.groups.size()));
    if (!group_of_.emplace(name.text(), id).second) {
      name.fail("the name '" + name.text() + "' is used twice; each group needs its own");
    }
    parts_.groups.push_back(
        {.name = name.text(),
         .capacity_bytes_per_second = item.get("capacity_bytes_per_second").positive()});
  }

  template <typename T>
  const T& look_up(const std::map<std::string, T>& known, const YamlItem& item,
                   const std::string& what) const {
    const std::string name = item.text();
    const auto at = known.find(name);
    if (at == known.end()) {
      std::vector<std::string> names;
      for (const auto& entry : known) names.push_back(entry.first);
      item.fail("'" + name + "' is no " + what + suggest_name(name, names));
    }
    return at->second;
  }

  void read_link(const YamlItem& item) {
    item.expect_keys({"between", "from", "to", "latency_seconds", "bandwidth_bytes_per_second",
                      "shared_groups"});
    Link link;
    link.bandwidth_bytes_per_second = item.get("bandwidth_bytes_per_second").positive();
    if (const auto value = item.find("latency_seconds")) {
      link.latency_seconds = value->not_negative();
    }
    if (const auto groups = item.find("shared_groups")) {
      for (const YamlItem& group : groups->list()) {
        link.groups.push_back(look_up(group_of_, group, "shared group"));
      }
    }
    const auto between = item.find("between");
    if (between.has_value() == (item.find("from").has_value() || item.find("to").has_value())) {
      item.fail("give either 'between: [A, B]' for a link both ways or 'from: A' and 'to: B'");
    }
    if (!between) {
      add_links(item, link, item.get("from"), item.get("to"), false);
      return;
    }
    const std::vector<YamlItem> ends = between->list();
    if (ends.size() != 2) between->fail("must be a list of two names");
    add_links(item, link, ends[0], ends[1], true);
  }

  void add_links(const YamlItem& item, Link link, const YamlItem& first, const YamlItem& second,
                 bool both_ways) {
    std::size_t added = 0;
    const bool same_entry = first.text() == second.text();
    for (NodeId a : look_up(nodes_of_, first, "device or switch")) {
      for (NodeId b : look_up(nodes_of_, second, "device or switch")) {
        // Within one entry, a link both ways serves a pair and its reverse.
        if (a == b || (both_ways && same_entry && b < a)) continue;
        ++added;
        link.from = a;
        link.to = b;
        parts_.links.push_back(link);
        if (!both_ways) continue;
        link.from = b;
        link.to = a;
        parts_.links.push_back(link);
      }
    }
    if (added == 0) item.fail("leads from a node to itself; name two different nodes");
  }

  TopologyParts parts_;
  std::int32_t node_count_ = 0;
  std::map<std::string, std::vector<NodeId>> nodes_of_;  // by node name and by entry name
  std::map<std::string, SharedGroupId> group_of_;
};

}  // namespace

Topology parse_topology(std::string_view text, const std::string& file) {
  TopologyParts parts = TopologyReader().read(YamlItem::parse(text, file));
  try {
    return Topology(std::move(parts));
  } catch (const ConfigError& error) {
    throw ConfigError(file + ": " + error.what());
  }
}

Topology load_topology(const std::string& path) {
  return parse_topology(read_text_file(path), input_name(path));
}

}  // namespace doppler
