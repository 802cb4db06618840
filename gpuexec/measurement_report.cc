#include "gpuexec/measurement_report.h"

#include <iomanip>
#include <sstream>

#include <nlohmann/json.hpp>

namespace doppler {

nlohmann::ordered_json to_json(const Measurement& m, const Topology& topology) {
  nlohmann::ordered_json entry;
  entry["status"] = status_name(m.status);
  if (m.status == MeasurementStatus::kDone) {
    entry["seconds"] = m.seconds;
    entry["low_seconds"] = m.interval.low;
    entry["high_seconds"] = m.interval.high;
    entry["coverage"] = m.interval.coverage;
    entry["samples_seconds"] = m.samples;
    entry["outliers"] = m.dropped;
    entry["disturbed"] = m.disturbed;
    entry["control_ratio"] = m.control_ratio;
    entry["attempts"] = m.attempts;
  }
  for (const MemoryShortage& shortage : m.shortages) {
    entry["shortages"].push_back({{"device", topology.device(shortage.device).name},
                                  {"needed_bytes", shortage.needed_bytes},
                                  {"available_bytes", shortage.available_bytes}});
  }
  return entry;
}

std::string to_line(const Measurement& m) {
  std::ostringstream line;
  if (m.status != MeasurementStatus::kDone) {
    line << "-\t-\t-\t" << status_name(m.status);
    return line.str();
  }
  line << std::fixed << std::setprecision(9) << m.seconds << "\t" << m.interval.low << "\t"
       << m.interval.high << "\t" << (m.disturbed ? "disturbed" : "done");
  return line.str();
}

}  // namespace doppler
