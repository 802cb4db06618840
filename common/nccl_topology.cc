#include "common/nccl_topology.h"

#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "common/device_catalog.h"
#include "common/error.h"
#include "common/xml_text.h"

namespace doppler {
namespace {

constexpr double kGpuLatencySeconds = 5e-6;
constexpr double kBridgeLatencySeconds = 1e-6;
constexpr double kNvlinkLatencySeconds = 2e-6;
constexpr double kNvswitchLatencySeconds = 1e-6;  // a way leads over two such links

[[noreturn]] void fail(const XmlElement& element, const std::string& what) {
  throw FormatError(element.place + ": <" + element.name + ">: " + what);
}

const std::string& need(const XmlElement& element, const std::string& attribute) {
  const std::string* value = element.find(attribute);
  if (value == nullptr) fail(element, "the attribute '" + attribute + "' is missing");
  return *value;
}

int integer(const XmlElement& element, const std::string& attribute, int least, int largest) {
  const std::string& text = need(element, attribute);
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value < least ||
      value > largest) {
    fail(element, attribute + ": '" + text + "' is no whole number in " + std::to_string(least) +
                      ".." + std::to_string(largest));
  }
  return value;
}

// Of one direction; `link_speed` as in /sys: "16 GT/s", "16.0 GT/s PCIe".
double pci_bandwidth(const XmlElement& pci) {
  struct PciSpeed {
    std::string_view name;
    double bytes_per_second_and_lane;
  };
  constexpr std::array<PciSpeed, 6> kSpeeds = {
      {{"2.5", 0.1875e9}, {"5", 0.375e9}, {"8", 0.75e9}, {"16", 1.5e9}, {"32", 3e9}, {"64", 6e9}}};
  const std::string& speed = need(pci, "link_speed");
  const int width = integer(pci, "link_width", 0, 64);
  std::string number = speed.substr(0, speed.find(' '));
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  for (const PciSpeed& known : kSpeeds) {
    if (number == known.name && width > 0) {
      return known.bytes_per_second_and_lane * width;
    }
  }
  fail(pci, "link_speed '" + speed + "' and link_width " + std::to_string(width) +
                " are no speed of PCI Express; give them as in '16 GT/s' and '16'");
}

// Of one direction between two CPUs of this kind.
double cpu_bandwidth(const XmlElement& cpu) {
  const auto text = [&](const char* attribute) {
    const std::string* value = cpu.find(attribute);
    return value == nullptr ? std::string() : *value;
  };
  if (text("arch") == "ppc64") return 32e9;
  if (text("arch") == "arm64") return 6e9;
  if (text("vendor") == "AuthenticAMD") return 16e9;
  if (text("vendor") == "GenuineIntel" && cpu.find("modelid") != nullptr) {
    const int model = integer(cpu, "modelid", 0, 1 << 20);
    if (model >= 0x8f) return 22e9;  // Sapphire Rapids
    if (model >= 0x55) return 10e9;  // Skylake
  }
  return 6e9;
}

struct Generation {
  int sm;
  const char* kind;
  double nvlink_bytes_per_second;
};
constexpr std::array<Generation, 4> kGenerations = {
    {{60, "p100", 18e9}, {70, "v100", 20e9}, {80, "a100", 20e9}, {90, "h100", 20.6e9}}};

class NcclReader {
 public:
  NcclReader(std::string name, std::string kind) : kind_(std::move(kind)) {
    parts_.name = std::move(name);
  }

  NcclTopology read(const XmlElement& system) {
    if (system.name != "system") fail(system, "an NCCL topology begins with <system>");
    for (const XmlElement& cpu : system.children) {
      if (cpu.name != "cpu") fail(cpu, "only <cpu> elements belong into <system>");
      read_cpu(cpu);
    }
    if (parts_.devices.empty()) {
      fail(system, "there is no GPU in it (a <pci> with class 0x03....); nothing can run");
    }
    add_nvlinks();
    join_cpus();
    resolve_nodes();
    add_notes();
    return {.topology = Topology(std::move(parts_)), .notes = std::move(notes_)};
  }

 private:
  // Devices get their ids first, so links name nodes until all are known.
  struct NamedLink {
    std::string from;
    std::string to;
    double latency_seconds;
    double bandwidth;
  };
  struct NvlinkRequest {
    const XmlElement* element;
    std::string gpu;
    double bandwidth;  // of one link
  };

  void join(const std::string& a, const std::string& b, double latency, double bandwidth) {
    links_.push_back({.from = a, .to = b, .latency_seconds = latency, .bandwidth = bandwidth});
    links_.push_back({.from = b, .to = a, .latency_seconds = latency, .bandwidth = bandwidth});
  }

  void read_cpu(const XmlElement& cpu) {
    const std::string name = "cpu" + std::to_string(integer(cpu, "numaid", 0, 4095));
    for (const auto& [known, element] : cpus_) {
      if (known == name) fail(cpu, "numaid is the same as at " + element->place);
    }
    cpus_.emplace_back(name, &cpu);
    parts_.switches.push_back(name);
    for (const XmlElement& child : cpu.children) {
      if (child.name == "pci") read_pci(child, name);
    }
  }

  void read_pci(const XmlElement& pci, const std::string& parent) {
    const std::string& pci_class = need(pci, "class");
    if (pci_class.starts_with("0x03")) {
      read_gpu(pci, parent);
    } else if (pci_class.starts_with("0x0604")) {
      const std::string name = "pcie" + std::to_string(bridge_count_++);
      parts_.switches.push_back(name);
      join(name, parent, kBridgeLatencySeconds, pci_bandwidth(pci));
      for (const XmlElement& child : pci.children) {
        if (child.name == "pci") read_pci(child, name);
      }
    } else {
      ++left_out_;
    }
  }

  void read_gpu(const XmlElement& pci, const std::string& parent) {
    const XmlElement* gpu = nullptr;
    for (const XmlElement& child : pci.children) {
      if (child.name == "gpu") gpu = &child;
    }
    const Generation* generation = find_generation(pci, gpu);
    const std::string name = "gpu" + std::to_string(parts_.devices.size());
    Device device = catalog_device(kind_.empty() ? generation->kind : kind_);
    device.name = name;
    parts_.devices.push_back(device);
    const std::string& bus = need(pci, "busid");
    if (!gpu_of_bus_.emplace(bus, name).second) fail(pci, "busid " + bus + " is given twice");
    join(name, parent, kGpuLatencySeconds, pci_bandwidth(pci));
    if (gpu == nullptr) return;
    for (const XmlElement& child : gpu->children) {
      if (child.name != "nvlink") continue;
      if (generation == nullptr) fail(*gpu, "NVLinks need the attribute 'sm' to have a bandwidth");
      nvlinks_.push_back(
          {.element = &child, .gpu = name, .bandwidth = generation->nvlink_bytes_per_second});
    }
  }

  // The newest generation up to the GPU's; null where the file does not tell, which is fine if the
  // caller names the kind.
  const Generation* find_generation(const XmlElement& pci, const XmlElement* gpu) const {
    const Generation* found = nullptr;
    bool exact = false;
    if (gpu != nullptr && gpu->find("sm") != nullptr) {
      const int sm = integer(*gpu, "sm", 1, 1000);
      for (const Generation& generation : kGenerations) {
        if (generation.sm > sm) continue;
        found = &generation;
        exact = generation.sm == sm;
      }
    }
    if (!exact && kind_.empty()) {
      fail(gpu == nullptr ? pci : *gpu,
           "the file does not tell what GPU this is (sm 60, 70, 80 or 90); name it with --kind");
    }
    return found;
  }

  void add_nvlinks() {
    for (const NvlinkRequest& request : nvlinks_) {
      const XmlElement& element = *request.element;
      const double bandwidth = request.bandwidth * integer(element, "count", 1, 64);
      const std::string& target_class = need(element, "tclass");
      if (target_class.starts_with("0x0680")) {
        if (parts_.switches.empty() || parts_.switches.back() != "nvswitch") {
          parts_.switches.emplace_back("nvswitch");
        }
        join(request.gpu, "nvswitch", kNvswitchLatencySeconds, bandwidth);
      } else if (target_class.starts_with("0x03")) {
        const auto target = gpu_of_bus_.find(need(element, "target"));
        if (target == gpu_of_bus_.end()) {
          fail(element, "target " + need(element, "target") + " is no GPU of this file");
        }
        // The other end states the way back.
        links_.push_back({.from = request.gpu,
                          .to = target->second,
                          .latency_seconds = kNvlinkLatencySeconds,
                          .bandwidth = bandwidth});
      } else {
        ++left_out_;
      }
    }
  }

  void join_cpus() {
    for (std::size_t a = 0; a < cpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) {
        join(cpus_[a].first, cpus_[b].first, kBridgeLatencySeconds,
             cpu_bandwidth(*cpus_[a].second));
      }
    }
  }

  void resolve_nodes() {
    std::map<std::string, NodeId> ids;
    std::int32_t count = 0;
    for (const Device& device : parts_.devices) ids[device.name] = NodeId(count++);
    for (const std::string& name : parts_.switches) ids[name] = NodeId(count++);
    for (const NamedLink& link : links_) {
      parts_.links.push_back({.from = ids.at(link.from),
                              .to = ids.at(link.to),
                              .latency_seconds = link.latency_seconds,
                              .bandwidth_bytes_per_second = link.bandwidth,
                              .groups = {}});
    }
  }

  void add_notes() {
    notes_.push_back("Rates, memory and copy engines of the devices are those of a " +
                     parts_.devices.front().kind + ".");
    notes_.emplace_back("Bandwidths are those that NCCL assumes; latencies are assumptions.");
    if (nvlinks_.empty()) notes_.emplace_back("The file states no NVLink.");
    if (left_out_ > 0) {
      notes_.push_back(std::to_string(left_out_) +
                       " PCI devices or NVLinks are left out: they lead to no GPU.");
    }
  }

  TopologyParts parts_;
  std::string kind_;
  std::vector<std::pair<std::string, const XmlElement*>> cpus_;
  std::map<std::string, std::string> gpu_of_bus_;
  std::vector<NvlinkRequest> nvlinks_;
  std::vector<NamedLink> links_;
  std::vector<std::string> notes_;
  int bridge_count_ = 0;
  int left_out_ = 0;
};

}  // namespace

NcclTopology import_nccl_topology(std::string_view text, const std::string& file,
                                  const std::string& name, const std::string& kind) {
  return NcclReader(name, kind).read(parse_xml(text, file));
}

}  // namespace doppler
