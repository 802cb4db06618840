// How a measurement is told: as an object, or as one line of a table.
#ifndef DOPPLER_GPUEXEC_MEASUREMENT_REPORT_H_
#define DOPPLER_GPUEXEC_MEASUREMENT_REPORT_H_

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "common/topology.h"
#include "gpuexec/measurement.h"

namespace doppler {

// Status, and what was measured or what did not fit; `topology` names the devices.
nlohmann::ordered_json to_json(const Measurement& measurement, const Topology& topology);

// Median, low and high end of its interval in seconds ("-" where it failed), and "done",
// "disturbed", "timed out" or "out of memory", separated by tabs.
std::string to_line(const Measurement& measurement);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_MEASUREMENT_REPORT_H_
