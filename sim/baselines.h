// All baselines by name. Each is deterministic given its options and the number of executors, but
// for the seconds that it reports (and for a local search that is given seconds).
#ifndef DOPPLER_SIM_BASELINES_H_
#define DOPPLER_SIM_BASELINES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/cost_table.h"
#include "common/executor.h"
#include "common/sim_time.h"
#include "sim/baseline_result.h"
#include "sim/exhaustive.h"
#include "sim/local_search.h"

namespace doppler {

struct BaselineOptions {
  std::uint64_t seed = 1;
  std::int64_t random_samples = 1000;
  std::int64_t critical_path_tries = 50;
  std::int64_t local_search_evaluations = 100000;
  double local_search_seconds = 0;  // > 0: instead of the evaluations
  // Local search stops as soon as it is no slower: a lower bound, for instance.
  SimTime local_search_target = SimTime(-1);
  std::vector<SearchStart> local_search_starts = {};
  // Ends those that make many tries with the best so far; the others do not look at it.
  std::stop_token stop = {};
  std::function<void(const SearchProgress&)> on_progress = {};  // of those, but for exhaustive
  ExhaustiveOptions exhaustive = {};
};

struct BaselineInfo {
  const char* name;
  const char* summary;  // one line
};

// Those that any graph can be given to.
std::span<const BaselineInfo> baselines();

// The one that only tiny graphs can be given to.
inline constexpr BaselineInfo kExhaustiveInfo = {
    "exhaustive", "the optimum of a tiny graph, with proof that there is no better one"};

// `executors` must be alike and at least one; local search runs a thread for each, the others use
// the first. Throws ConfigError for a name that is neither in baselines() nor exhaustive, and where
// exhaustive search reaches its limit.
BaselineResult run_baseline(const std::string& name, const CostTable& costs,
                            std::span<Executor* const> executors, const BaselineOptions& options);

BaselineResult run_baseline(const std::string& name, const CostTable& costs, Executor& executor,
                            const BaselineOptions& options);

}  // namespace doppler

#endif  // DOPPLER_SIM_BASELINES_H_
