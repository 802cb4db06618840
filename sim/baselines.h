// All baselines by name. Each is deterministic given its options, but for the seconds that it
// reports (and for a local search that is given seconds).
#ifndef DOPPLER_SIM_BASELINES_H_
#define DOPPLER_SIM_BASELINES_H_

#include <cstdint>
#include <span>
#include <string>

#include "common/cost_table.h"
#include "common/executor.h"
#include "sim/baseline_result.h"
#include "sim/local_search.h"

namespace doppler {

struct BaselineOptions {
  std::uint64_t seed = 1;
  std::int64_t random_samples = 1000;
  std::int64_t critical_path_tries = 50;
  std::int64_t local_search_evaluations = 100000;
  double local_search_seconds = 0;  // > 0: instead of the evaluations
};

struct BaselineInfo {
  const char* name;
  const char* summary;  // one line
};

std::span<const BaselineInfo> baselines();

// Throws ConfigError for a name that is not in baselines().
BaselineResult run_baseline(const std::string& name, const CostTable& costs, Executor& executor,
                            const BaselineOptions& options);

}  // namespace doppler

#endif  // DOPPLER_SIM_BASELINES_H_
