#include "gpuexec/skeleton_topology.h"

#include <utility>

#include "common/error.h"

#ifdef DP_HAVE_CUDA
#include "gpuexec/cuda_backend.h"
#endif

namespace doppler {

Topology skeleton_topology(const std::string& backend, int devices) {
  TopologyParts parts;
  parts.name = backend + "x" + std::to_string(devices);
  for (int d = 0; d < devices; ++d) {
    Device device;
    device.name = backend + std::to_string(d);
    device.kind = backend;
    device.flops_per_second = 1e12;
    parts.devices.push_back(std::move(device));
  }
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      if (from == to) continue;
      parts.links.push_back({.from = NodeId(from),
                             .to = NodeId(to),
                             .latency_seconds = 0,
                             .bandwidth_bytes_per_second = 1e10,
                             .groups = {}});
    }
  }
  return Topology(std::move(parts));
}

int default_device_count(const std::string& backend) {
#ifdef DP_HAVE_CUDA
  if (backend == "cuda") {
    const int count = cuda_gpu_count();
    if (count == 0) throw SystemError("cuda: no GPU that this process may use; look at nvidia-smi");
    return count;
  }
#endif
  static_cast<void>(backend);
  return 2;
}

}  // namespace doppler
