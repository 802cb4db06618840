#include "learner/refinement.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "common/check.h"

namespace doppler {

Refinement refine(const Machine& machine, const std::vector<BestPlacement>& starts,
                  const RefinementBudget& budget, int threads, std::uint64_t seed,
                  std::stop_token stop,
                  const std::function<void(const SearchProgress&)>& on_progress) {
  DP_CHECK(!starts.empty());
  DP_CHECK(budget.any());
  const auto begin = std::chrono::steady_clock::now();
  const BestPlacement& best_start =
      *std::min_element(starts.begin(), starts.end(),
                        [](const auto& a, const auto& b) { return a.makespan < b.makespan; });
  LocalSearchOptions options;
  options.seed = seed;
  options.seconds = budget.seconds;
  if (budget.seconds <= 0) options.evaluations = budget.evaluations;
  options.refine = true;
  options.stop = std::move(stop);
  options.on_progress = on_progress;
  for (const BestPlacement& start : starts) {
    options.starts.push_back({start.assignment, start.order});
  }
  std::vector<std::unique_ptr<Executor>> owned;
  std::vector<Executor*> executors;
  for (int t = 0; t < std::max(1, threads); ++t) {
    executors.push_back(owned.emplace_back(machine.make_executor()).get());
  }
  const BaselineResult result = local_search(machine.costs(), executors, options);
  Refinement refinement;
  refinement.start_makespan = best_start.makespan;
  refinement.evaluations = result.evaluations;
  refinement.placement = best_start;
  if (result.makespan < best_start.makespan) {
    refinement.placement.makespan = result.makespan;
    refinement.placement.assignment = result.assignment;
    refinement.placement.order = result.order;
    refinement.placement.found_by = fmt::format("local search from {}", best_start.found_by);
  }
  refinement.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return refinement;
}

}  // namespace doppler
