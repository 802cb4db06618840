#include "sim/baselines.h"

#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/error.h"
#include "common/nearest_name.h"
#include "sim/critical_path.h"
#include "sim/enum_opt.h"
#include "sim/etf.h"
#include "sim/heft.h"
#include "sim/peft.h"
#include "sim/simple_placements.h"

namespace doppler {
namespace {

using Executors = std::span<Executor* const>;
using Run = BaselineResult (*)(const CostTable&, Executors, const BaselineOptions&);

struct Baseline {
  BaselineInfo info;
  Run run;
};

// One that has nothing to choose.
template <BaselineResult (*RunOnOne)(const CostTable&, Executor&)>
BaselineResult run_plain(const CostTable& costs, Executors executors, const BaselineOptions&) {
  return RunOnOne(costs, *executors[0]);
}

BaselineResult run_random(const CostTable& costs, Executors executors,
                          const BaselineOptions& options) {
  return random_placement(costs, *executors[0], options.seed, options.random_samples,
                          {.stop = options.stop, .on_progress = options.on_progress});
}

BaselineResult run_critical_path(const CostTable& costs, Executors executors,
                                 const BaselineOptions& options) {
  return critical_path(costs, *executors[0], options.seed, options.critical_path_tries,
                       {.stop = options.stop, .on_progress = options.on_progress});
}

BaselineResult run_local_search(const CostTable& costs, Executors executors,
                                const BaselineOptions& options) {
  return local_search(costs, executors,
                      {.seed = options.seed,
                       .evaluations = options.local_search_evaluations,
                       .seconds = options.local_search_seconds,
                       .starts = options.local_search_starts,
                       .target = options.local_search_target,
                       .stop = options.stop,
                       .on_progress = options.on_progress});
}

BaselineResult run_exhaustive(const CostTable& costs, Executors executors,
                              const BaselineOptions& options) {
  ExhaustiveOptions limits = options.exhaustive;
  limits.stop = options.stop;
  std::optional<BaselineResult> result = exhaustive(costs, *executors[0], limits);
  if (!result) {
    throw ConfigError("graph " + costs.graph().name() +
                      ": exhaustive search has not seen everything after " +
                      std::to_string(options.exhaustive.limit) +
                      " assignments; it is for tiny graphs, or needs a higher limit");
  }
  return std::move(*result);
}

constexpr std::array kBaselines = {
    Baseline{{"one-device", "everything on device 0"}, run_plain<one_device>},
    Baseline{{"random", "best and mean of uniform assignments"}, run_random},
    Baseline{{"round-robin", "operation id modulo devices"}, run_plain<round_robin_by_id>},
    Baseline{{"round-robin-topological", "position in topological order modulo devices"},
             run_plain<round_robin_topological>},
    Baseline{{"critical-path", "largest bottom level first, on the device of the earliest start"},
             run_critical_path},
    Baseline{
        {"heft", "largest upward rank first, on the device of the earliest end, with insertion"},
        run_plain<heft>},
    Baseline{{"etf", "the operation and device with the earliest start first"}, run_plain<etf>},
    Baseline{{"peft", "HEFT with a look at what successors will need"}, run_plain<peft>},
    Baseline{{"enum-opt", "group by group, the even assignment with the least transfers"},
             run_plain<enum_opt>},
    Baseline{{"local-search", "simulated annealing from several starts"}, run_local_search},
};

constexpr auto kInfos = [] {
  std::array<BaselineInfo, kBaselines.size()> infos{};
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i] = kBaselines[i].info;
  return infos;
}();

Run find_run(const std::string& name) {
  for (const Baseline& baseline : kBaselines) {
    if (name == baseline.info.name) return baseline.run;
  }
  if (name == kExhaustiveInfo.name) return run_exhaustive;
  std::vector<std::string> known;
  for (const BaselineInfo& info : baselines()) known.emplace_back(info.name);
  known.emplace_back(kExhaustiveInfo.name);
  throw ConfigError("algorithm '" + name + "' is not known" + suggest_name(name, known));
}

}  // namespace

std::span<const BaselineInfo> baselines() {
  return kInfos;
}

BaselineResult run_baseline(const std::string& name, const CostTable& costs, Executors executors,
                            const BaselineOptions& options) {
  DP_CHECK_GE(executors.size(), 1U);
  const Run run = find_run(name);
  const auto begin = std::chrono::steady_clock::now();
  BaselineResult result = run(costs, executors, options);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  result.name = name;
  result.seconds = passed.count();
  return result;
}

BaselineResult run_baseline(const std::string& name, const CostTable& costs, Executor& executor,
                            const BaselineOptions& options) {
  const std::array<Executor*, 1> executors = {&executor};
  return run_baseline(name, costs, executors, options);
}

}  // namespace doppler
