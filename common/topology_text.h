// Topologies as text. Standard library only: what reads it back is topology_file.h.
#ifndef DOPPLER_COMMON_TOPOLOGY_TEXT_H_
#define DOPPLER_COMMON_TOPOLOGY_TEXT_H_

#include <string>

#include "common/topology.h"

namespace doppler {

// The topology as a file that parse_topology() takes back exactly (same content hash), one entry a
// device and a link.
std::string format_topology(const Topology& topology);

}  // namespace doppler

#endif  // DOPPLER_COMMON_TOPOLOGY_TEXT_H_
