// Topologies from NCCL's XML: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE takes.
//
// NUMA nodes and PCI bridges become switches, GPUs (PCI class 0x03....) devices, other PCI devices
// are left out. The tree of PCI becomes links both ways, CPUs are joined with each other, and
// <nvlink> elements become links between GPUs or, where they lead to an NVSwitch (class 0x0680..),
// to one switch. The file tells no rates of devices: they come from the catalog, by the `sm` of
// <gpu> elements or by a kind that the caller names.
//
// Bandwidths are those that NCCL assumes (its topo.h): PCI 12e9 bytes/s at 8 GT/s x 16 and in
// proportion; NVLink 18e9, 20e9, 20e9 and 20.6e9 a link for sm 60, 70, 80 and 90; between CPUs by
// vendor and model. Latencies, which it does not tell, are those of configs/topologies/.
#ifndef DOPPLER_COMMON_NCCL_TOPOLOGY_H_
#define DOPPLER_COMMON_NCCL_TOPOLOGY_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/topology.h"

namespace doppler {

struct NcclTopology {
  Topology topology;
  std::vector<std::string> notes;  // what was assumed or left out, a sentence each
};

// `name` becomes the topology's, `kind` overrides what the file tells of GPUs (empty: it must
// tell). Throws FormatError "file:line:column: what is wrong; what to do", ConfigError for an
// unknown kind.
NcclTopology import_nccl_topology(std::string_view text, const std::string& file,
                                  const std::string& name, const std::string& kind);

}  // namespace doppler

#endif  // DOPPLER_COMMON_NCCL_TOPOLOGY_H_
