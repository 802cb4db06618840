// What doppler baseline prints and writes.
#ifndef DOPPLER_SIM_BASELINE_REPORT_H_
#define DOPPLER_SIM_BASELINE_REPORT_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sim/baseline_result.h"
#include "sim/lower_bounds.h"

namespace doppler {

struct BaselineReport {
  std::string graph;
  int devices = 0;
  std::uint64_t seed = 0;
  bool physical = false;              // costs are seconds; else those of the published simulator
  std::optional<LowerBounds> bounds;  // none: noise, which no bound knows
  std::vector<BaselineResult> results;
};

// All of it, with the assignments.
nlohmann::ordered_json to_json(const BaselineReport& report);

// A line for each baseline, then the bounds.
void print_table(const BaselineReport& report, std::ostream& out);

// Makes the folder that write_assignments() is to write to, so that one that cannot be had is told
// before the work and not behind it. Throws ConfigError for what is no folder, SystemError where
// the system refuses it.
void prepare_folder(const std::string& folder);

// One file for each baseline, `folder`/NAME.json. The folder must exist. Throws SystemError.
void write_assignments(const BaselineReport& report, const std::string& folder);

}  // namespace doppler

#endif  // DOPPLER_SIM_BASELINE_REPORT_H_
