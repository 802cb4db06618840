// The JSON of "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020,
// msr-fiddle/dnn-partitioning): layers or operators with latencies on a CPU and on an accelerator
// ("fpga"), memory limits, and splits made by experts.
//
// Latencies and transfer costs are milliseconds, sizes bytes. Becomes a physical graph with
// measured durations on the device kinds "cpu" and "fpga". What a node needs beyond its output (its
// parameters) becomes an input tensor of its own. Devices are numbered as the file counts them: the
// accelerators first, then the CPUs.
#ifndef DOPPLER_COMMON_IMPORT_DNN_PARTITIONING_H_
#define DOPPLER_COMMON_IMPORT_DNN_PARTITIONING_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/assignment.h"
#include "common/import.h"

namespace doppler {

Imported import_dnn_partitioning(std::string_view content, const std::string& file,
                                 const ImportOptions& options);

struct ImportedSplit {
  Assignment assignment;  // [operations]
  std::vector<Warning> warnings;
  int accelerator_count = 0;  // devices 0.. are accelerators; the CPUs follow
  int cpu_count = 0;
};

// A split ("cpus" and "fpgas", each a list of {"nodes": [ids]}) of `graph`, which must come from
// import_dnn_partitioning(). Nodes of the split that became input tensors are passed over; an
// operation that no device holds, or two, is an error.
ImportedSplit import_dnn_split(std::string_view content, const std::string& file,
                               const Imported& graph);

}  // namespace doppler

#endif  // DOPPLER_COMMON_IMPORT_DNN_PARTITIONING_H_
