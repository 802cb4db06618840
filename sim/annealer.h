// Annealer: simulated annealing of one assignment on one thread.
//
// The energy is the makespan plus a small share of all transfers (SearchState::transfer_ticks()). A
// move that does not raise it is kept, one that raises it by x with probability exp(-x / T). T
// falls geometrically over several powers of ten, because the gains do: at first whole operations
// move, at the end what decides is who comes first in a queue.
#ifndef DOPPLER_SIM_ANNEALER_H_
#define DOPPLER_SIM_ANNEALER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/executor.h"
#include "common/ids.h"
#include "common/sim_time.h"
#include "sim/device_choices.h"
#include "sim/search_monitor.h"
#include "sim/search_moves.h"
#include "sim/search_state.h"

namespace doppler {

// An assignment and what it costs.
struct SearchPoint {
  Assignment assignment;           // [operations]
  std::vector<OperationId> order;  // [operations], for executors that dispatch by priority
  SimTime makespan = SimTime::max();
  bool feasible = false;

  // A feasible point is better than any other.
  bool better_than(const SearchPoint& other) const {
    return feasible != other.feasible ? feasible : makespan < other.makespan;
  }
};

struct AnnealingPlan {
  double first_temperature = 0;  // in ticks
  double last_temperature = 0;
  std::int64_t evaluations = 0;  // > 0: that many; else until `end`
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
};

// Not thread-safe. What it is given must outlive it.
class Annealer {
 public:
  Annealer(const CostTable& costs, const DeviceChoices& choices,
           const std::vector<std::vector<OperationId>>& groups, Executor& executor,
           SearchMonitor& monitor, std::uint64_t seed);

  // Anneals from `start`, whose cost is known, until the plan is carried out or a stop is
  // requested. `report` is called now and then. There must be a free operation.
  void anneal(const SearchPoint& start, const AnnealingPlan& plan,
              const std::function<void()>& report);

  // The best that anneal() has come by; it does not know the starts.
  const SearchPoint& best() const { return best_; }

  RandomStream& random() { return moves_.random(); }

 private:
  SimTime evaluate(const std::vector<OperationId>& order);
  void find_critical(const std::vector<OperationId>& order);
  double used_share(const AnnealingPlan& plan);

  const CostTable* costs_;
  Executor* executor_;
  SearchMonitor* monitor_;
  SearchMoves moves_;
  SearchState state_;
  SearchPoint best_;
  std::int64_t evaluations_ = 0;  // of the plan under way
  double clock_share_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_ANNEALER_H_
