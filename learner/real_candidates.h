// RealCandidates: what a real stage measures before its own episodes. What simulation thinks good
// is the cheapest guess at what is good, so the best measured placement, and whoever imitates it,
// begins no worse than the earlier stages and the baselines left off.
#ifndef DOPPLER_LEARNER_REAL_CANDIDATES_H_
#define DOPPLER_LEARNER_REAL_CANDIDATES_H_

#include <cstddef>
#include <vector>

#include "common/plan.h"
#include "learner/checkpoint.h"

namespace doppler {

// At most `count` placements, each but once: the policies' best in simulation and their greedy one,
// then `baselines` in their order (each with an order that an episode can follow).
std::vector<NamedPlan> real_candidates(const GraphState& state,
                                       const std::vector<BestPlacement>& baselines,
                                       std::size_t count);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_REAL_CANDIDATES_H_
