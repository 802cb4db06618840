// The flags that programs which measure have in common: what runs where, and how often.
#ifndef DOPPLER_GPUEXEC_MEASURING_FLAGS_H_
#define DOPPLER_GPUEXEC_MEASURING_FLAGS_H_

#include <string>

#include "gpuexec/measurement.h"
#include "sim/simulation_flags.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace doppler {

struct MeasuringFlags {
  std::string graph;
  std::string topology;
  std::string backend = "cpu";
  ExecutionRules rules;
  MeasurementOptions measurement;  // its values before parsing are the defaults
};

// Adds GRAPH, --topology, --backend, --contention, --dispatch, --repeats, --warmup, --timeout,
// --pause. `flags` must outlive the parsing.
void add_measuring_flags(CLI::App& app, MeasuringFlags& flags);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_MEASURING_FLAGS_H_
