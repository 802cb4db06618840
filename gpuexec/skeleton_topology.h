// A topology whose figures mean nothing yet: devices that are joined pairwise, for calibration to
// fill in.
#ifndef DOPPLER_GPUEXEC_SKELETON_TOPOLOGY_H_
#define DOPPLER_GPUEXEC_SKELETON_TOPOLOGY_H_

#include <string>

#include "common/topology.h"

namespace doppler {

// Devices "cpu0", "cpu1", ... of kind "cpu" for a backend of that name.
Topology skeleton_topology(const std::string& backend, int devices);

// How many devices a backend has by itself: 2, or for cuda one for each GPU. Throws SystemError
// where there is none.
int default_device_count(const std::string& backend);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_SKELETON_TOPOLOGY_H_
