// Simulated annealing on the assignment: what search alone reaches with the same simulator. The
// baseline that learning has to be compared with at equal numbers of simulations.
#ifndef DOPPLER_SIM_LOCAL_SEARCH_H_
#define DOPPLER_SIM_LOCAL_SEARCH_H_

#include <cstdint>

#include "common/cost_table.h"
#include "common/executor.h"
#include "sim/baseline_result.h"

namespace doppler {

struct LocalSearchOptions {
  std::uint64_t seed = 1;
  std::int64_t evaluations = 100000;  // executor runs, >= 1; deterministic
  double seconds = 0;         // > 0: runs for that long instead, and is then not deterministic
  std::int64_t restarts = 4;  // annealings that share the budget, >= 1
};

// Anneals from HEFT's assignment, from the critical path's and from random ones, one after the
// other, and keeps the best assignment ever seen. Moves: another device for one operation; two
// operations swap devices; an operation joins a neighbour; the operations of one symmetry class and
// depth are dealt out anew.
BaselineResult local_search(const CostTable& costs, Executor& executor,
                            const LocalSearchOptions& options);

}  // namespace doppler

#endif  // DOPPLER_SIM_LOCAL_SEARCH_H_
