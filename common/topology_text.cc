#include "common/topology_text.h"

#include <array>
#include <charconv>
#include <string_view>

namespace doppler {
namespace {

// The shortest text that reads back as the same number.
std::string format_number(double value) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::string quote(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20) {
      quoted += "\\x";
      quoted += kDigits[code >> 4];
      quoted += kDigits[code & 0xf];
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string format_device(const Device& device) {
  std::string text = "  - name: " + quote(device.name) + "\n    kind: " + quote(device.kind) + "\n";
  const auto add = [&text](const std::string& key, const std::string& value) {
    text += "    " + key + ": " + value + "\n";
  };
  if (device.memory_bytes) add("memory_bytes", std::to_string(*device.memory_bytes));
  add("flops_per_second", format_number(device.flops_per_second));
  if (!device.flops_per_second_by_kind.empty()) {
    std::string rates;
    for (const auto& [kind, rate] : device.flops_per_second_by_kind) {
      rates += (rates.empty() ? "" : ", ") + quote(kind) + ": " + format_number(rate);
    }
    add("flops_per_second_by_kind", "{" + rates + "}");
  }
  if (device.memory_bandwidth_bytes_per_second > 0) {
    add("memory_bandwidth_bytes_per_second",
        format_number(device.memory_bandwidth_bytes_per_second));
  }
  add("launch_overhead_seconds", format_number(device.launch_overhead_seconds));
  if (device.copy_engines_out) add("copy_engines_out", std::to_string(*device.copy_engines_out));
  if (device.copy_engines_in) add("copy_engines_in", std::to_string(*device.copy_engines_in));
  if (!device.forwards) add("forwards", "false");
  return text;
}

}  // namespace

std::string format_topology(const Topology& topology) {
  const TopologyParts& parts = topology.parts();
  std::string text = "name: " + quote(parts.name) +
                     "\nroute_reference_bytes: " + format_number(parts.route_reference_bytes) +
                     "\ndevices:\n";
  for (const Device& device : parts.devices) text += format_device(device);
  if (!parts.switches.empty()) text += "switches:\n";
  for (const std::string& name : parts.switches) text += "  - {name: " + quote(name) + "}\n";
  if (!parts.groups.empty()) text += "shared_groups:\n";
  for (const SharedGroup& group : parts.groups) {
    text += "  - {name: " + quote(group.name) +
            ", capacity_bytes_per_second: " + format_number(group.capacity_bytes_per_second) +
            "}\n";
  }
  if (!parts.links.empty()) text += "links:\n";
  for (const Link& link : parts.links) {
    text += "  - from: " + quote(topology.node_name(link.from)) +
            "\n    to: " + quote(topology.node_name(link.to)) +
            "\n    latency_seconds: " + format_number(link.latency_seconds) +
            "\n    bandwidth_bytes_per_second: " + format_number(link.bandwidth_bytes_per_second) +
            "\n";
    std::string groups;
    for (SharedGroupId group : link.groups) {
      groups += (groups.empty() ? "" : ", ") + quote(topology.group(group).name);
    }
    if (!groups.empty()) text += "    shared_groups: [" + groups + "]\n";
  }
  return text;
}

}  // namespace doppler
