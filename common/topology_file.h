// Topology files: YAML, read strictly.
//
//   name: h100x8-nvswitch
//   route_reference_bytes: 16777216       # optional; topology.h says what for
//   devices:
//     - name: gpu
//       count: 8                          # optional: gpu0 .. gpu7 instead of gpu
//       kind: h100
//       memory_bytes: 85899345920         # optional: no limit
//       flops_per_second: 67e12
//       flops_per_second_by_kind: {matmul: 989e12}        # optional
//       memory_bandwidth_bytes_per_second: 3.35e12        # optional: never bound by bytes
//       launch_overhead_seconds: 5e-6                     # optional: 0
//       copy_engines_out: 2                               # optional: no limit
//       copy_engines_in: 2                                # optional: no limit
//       forwards: true                                    # optional
//   switches:                             # optional: nodes that hold nothing
//     - {name: nvswitch}                  # count as above
//   shared_groups:                        # optional
//     - {name: host-bridge, capacity_bytes_per_second: 12e9}
//   links:
//     - between: [gpu, nvswitch]          # both ways; or from: and to:, one way
//       latency_seconds: 1e-6             # optional: 0
//       bandwidth_bytes_per_second: 450e9
//       shared_groups: [host-bridge]      # optional
//
// Where an end of a link names an entry with a count, it stands for all nodes of the entry: there
// is a link for every pair of different nodes, first ends in the outer loop. Links are numbered in
// the order of the file; of a link both ways, the way there comes before the way back.
//
// Errors are ConfigError "file:line:column: key: what is wrong; what to do": broken YAML, an
// unknown or duplicate key (with the nearest known one), a value of the wrong type or out of range,
// a name that does not exist or exists twice; and, without a line, a pair of devices that no path
// joins.
#ifndef DOPPLER_COMMON_TOPOLOGY_FILE_H_
#define DOPPLER_COMMON_TOPOLOGY_FILE_H_

#include <string>
#include <string_view>

#include "common/topology.h"
#include "common/topology_text.h"

namespace doppler {

// `file` names the text in messages.
Topology parse_topology(std::string_view text, const std::string& file);

// Reads a file; "-" is standard input. Also throws what read_text_file() throws.
Topology load_topology(const std::string& path);

}  // namespace doppler

#endif  // DOPPLER_COMMON_TOPOLOGY_FILE_H_
