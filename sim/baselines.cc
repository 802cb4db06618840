#include "sim/baselines.h"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/nearest_name.h"
#include "sim/critical_path.h"
#include "sim/etf.h"
#include "sim/heft.h"
#include "sim/simple_placements.h"

namespace doppler {
namespace {

using Run = BaselineResult (*)(const CostTable&, Executor&, const BaselineOptions&);

struct Baseline {
  BaselineInfo info;
  Run run;
};

constexpr std::array kBaselines = {
    Baseline{{"one-device", "everything on device 0"},
             [](const CostTable& costs, Executor& executor, const BaselineOptions&) {
               return one_device(costs, executor);
             }},
    Baseline{{"random", "best and mean of uniform assignments"},
             [](const CostTable& costs, Executor& executor, const BaselineOptions& options) {
               return random_placement(costs, executor, options.seed, options.random_samples);
             }},
    Baseline{{"round-robin", "operation id modulo devices"},
             [](const CostTable& costs, Executor& executor, const BaselineOptions&) {
               return round_robin_by_id(costs, executor);
             }},
    Baseline{{"round-robin-topological", "position in topological order modulo devices"},
             [](const CostTable& costs, Executor& executor, const BaselineOptions&) {
               return round_robin_topological(costs, executor);
             }},
    Baseline{{"critical-path", "largest bottom level first, on the device of the earliest start"},
             [](const CostTable& costs, Executor& executor, const BaselineOptions& options) {
               return critical_path(costs, executor, options.seed, options.critical_path_tries);
             }},
    Baseline{
        {"heft", "largest upward rank first, on the device of the earliest end, with insertion"},
        [](const CostTable& costs, Executor& executor, const BaselineOptions&) {
          return heft(costs, executor);
        }},
    Baseline{{"etf", "the operation and device with the earliest start first"},
             [](const CostTable& costs, Executor& executor, const BaselineOptions&) {
               return etf(costs, executor);
             }},
    Baseline{{"local-search", "simulated annealing from several starts"},
             [](const CostTable& costs, Executor& executor, const BaselineOptions& options) {
               return local_search(costs, executor,
                                   {.seed = options.seed,
                                    .evaluations = options.local_search_evaluations,
                                    .seconds = options.local_search_seconds});
             }},
};

constexpr auto kInfos = [] {
  std::array<BaselineInfo, kBaselines.size()> infos{};
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i] = kBaselines[i].info;
  return infos;
}();

}  // namespace

std::span<const BaselineInfo> baselines() {
  return kInfos;
}

BaselineResult run_baseline(const std::string& name, const CostTable& costs, Executor& executor,
                            const BaselineOptions& options) {
  for (const Baseline& baseline : kBaselines) {
    if (name != baseline.info.name) continue;
    const auto begin = std::chrono::steady_clock::now();
    BaselineResult result = baseline.run(costs, executor, options);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    result.name = name;
    result.seconds = passed.count();
    return result;
  }
  std::vector<std::string> known;
  for (const BaselineInfo& info : baselines()) known.emplace_back(info.name);
  throw ConfigError("algorithm '" + name + "' is not known" + suggest_name(name, known));
}

}  // namespace doppler
