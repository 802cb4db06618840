#include "common/device_catalog.h"

#include <vector>

#include "common/error.h"
#include "common/nearest_name.h"

namespace doppler {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

Device gpu(const std::string& kind, std::int64_t gibibytes, double flops, double matmul_flops,
           double memory_bandwidth, int copy_engines) {
  Device device;
  device.kind = kind;
  device.memory_bytes = gibibytes * kGibibyte;
  device.flops_per_second = flops;
  if (matmul_flops != flops) device.flops_per_second_by_kind["matmul"] = matmul_flops;
  device.memory_bandwidth_bytes_per_second = memory_bandwidth;
  device.launch_overhead_seconds = 5e-6;
  device.copy_engines_out = device.copy_engines_in = copy_engines;
  device.forwards = false;
  return device;
}

const std::vector<Device>& catalog() {
  static const std::vector<Device> devices = {
      gpu("p100", 16, 9.3e12, 9.3e12, 732e9, 1),
      gpu("v100", 32, 15.7e12, 125e12, 900e9, 3),
      gpu("a100", 80, 19.5e12, 312e12, 2039e9, 2),
      gpu("h100", 80, 67e12, 989e12, 3350e9, 2),
  };
  return devices;
}

}  // namespace

std::span<const std::string> catalog_kinds() {
  static const std::vector<std::string> list = [] {
    std::vector<std::string> kinds;
    for (const Device& device : catalog()) kinds.push_back(device.kind);
    return kinds;
  }();
  return list;
}

Device catalog_device(const std::string& kind) {
  for (const Device& device : catalog()) {
    if (device.kind == kind) return device;
  }
  throw ConfigError("device kind '" + kind + "' is not known" +
                    suggest_name(kind, catalog_kinds()));
}

}  // namespace doppler
