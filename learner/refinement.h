// Refinement: local search from the placements that a policy has found. What the policy did and
// what the search added to it is told apart in every report.
#ifndef DOPPLER_LEARNER_REFINEMENT_H_
#define DOPPLER_LEARNER_REFINEMENT_H_

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/plan.h"
#include "learner/checkpoint.h"
#include "sim/local_search.h"
#include "sim/machine.h"

namespace doppler {

struct RefinementBudget {
  double seconds = 0;            // > 0: for that long
  std::int64_t evaluations = 0;  // else that many simulations, a function of the seed
  bool any() const { return seconds > 0 || evaluations > 0; }
};

struct Refinement {
  BestPlacement placement;  // no worse than any of the starts; found_by says whether it is one
  SimTime start_makespan;   // the best start's
  std::int64_t evaluations = 0;
  double seconds = 0;
};

// On `threads` threads. There must be a start, and a budget.
Refinement refine(const Machine& machine, const std::vector<BestPlacement>& starts,
                  const RefinementBudget& budget, int threads, std::uint64_t seed,
                  std::stop_token stop = {},
                  const std::function<void(const SearchProgress&)>& on_progress = {});

}  // namespace doppler

#endif  // DOPPLER_LEARNER_REFINEMENT_H_
