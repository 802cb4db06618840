// PipeDream's profiles (graph.txt): one line a layer with the times that its profiler measured, and
// one indented line an edge.
//
//   node12 -- Conv2d(256, 256) -- forward_compute_time=2.815, backward_compute_time=5.497,
//       activation_size=44302336.000, parameter_size=2360320.000 [-- stage_id=0]
//   <tab>node11 -- node12
//
// Times are milliseconds, sizes bytes. Layers become operations of a physical graph with a measured
// duration, named after the node, in the order of the file; parameters become an input tensor of
// their layer.
#ifndef DOPPLER_COMMON_IMPORT_PIPEDREAM_H_
#define DOPPLER_COMMON_IMPORT_PIPEDREAM_H_

#include <string>
#include <string_view>

#include "common/import.h"

namespace doppler {

Imported import_pipedream(std::string_view content, const std::string& file,
                          const ImportOptions& options);

}  // namespace doppler

#endif  // DOPPLER_COMMON_IMPORT_PIPEDREAM_H_
