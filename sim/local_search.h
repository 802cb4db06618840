// Simulated annealing on the assignment: what search alone reaches with the same simulator. The
// baseline that learning has to be compared with at equal numbers of simulations, and a way to
// refine what a policy has found.
#ifndef DOPPLER_SIM_LOCAL_SEARCH_H_
#define DOPPLER_SIM_LOCAL_SEARCH_H_

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/executor.h"
#include "common/ids.h"
#include "sim/baseline_result.h"
#include "sim/try_monitor.h"

namespace doppler {

struct SearchStart {
  Assignment assignment;           // [operations], every device allowed
  std::vector<OperationId> order;  // [operations], or empty: by decreasing bottom level
};

struct LocalSearchOptions {
  std::uint64_t seed = 1;
  std::int64_t evaluations = 100000;     // executor runs of all threads together, >= 1
  double seconds = 0;                    // > 0: runs for that long instead; not deterministic
  std::vector<SearchStart> starts = {};  // to begin from, besides those of the list schedulers
  // Refines: where one of `starts` is better than all list schedules, every round begins from the
  // best so far, since heat would only lead away from it. Where none is, they are worth no more
  // than other starts.
  bool refine = false;
  SimTime target = SimTime(-1);  // stops as soon as the best is no larger, a bound for instance
  std::stop_token stop = {};     // stops early and returns the best so far
  // Called now and then by the thread that called local_search().
  std::function<void(const SearchProgress&)> on_progress = {};
};

// Begins from the given starts and from the assignments of HEFT, of the critical path, of EnumOpt
// and of ETF, and keeps the best assignment ever seen; an infeasible one
// only where there is no other. The budget is divided into rounds: anneals from the starts in turn,
// then anneals at lower temperature from the best so far. Moves: search_moves.h. Energy and
// temperatures: annealer.h.
//
// Runs a thread for each of `executors`, which must be alike. With evaluations as budget the result
// is a function of the seed and of the number of executors.
BaselineResult local_search(const CostTable& costs, std::span<Executor* const> executors,
                            const LocalSearchOptions& options);

BaselineResult local_search(const CostTable& costs, Executor& executor,
                            const LocalSearchOptions& options);

}  // namespace doppler

#endif  // DOPPLER_SIM_LOCAL_SEARCH_H_
