#include "gpuexec/spread_assignments.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/random.h"
#include "gpuexec/measurement.h"
#include "sim/baselines.h"
#include "sim/simple_placements.h"

namespace doppler {
namespace {

constexpr std::size_t kPool = 40;  // candidates for each that is chosen

Assignment random_allowed(const CostTable& costs, RandomStream& random) {
  Assignment assignment(costs.graph().operation_count());
  const auto devices = static_cast<std::uint64_t>(costs.device_count());
  for (std::size_t o = 0; o < assignment.size(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    do {
      assignment[id] = DeviceId(static_cast<std::int32_t>(random.next_below(devices)));
    } while (!costs.allowed(id, assignment[id]));
  }
  return assignment;
}

}  // namespace

std::vector<SpreadAssignment> spread_assignments(const CostTable& costs, Executor& simulator,
                                                 std::size_t count, std::int64_t evaluations,
                                                 std::uint64_t seed) {
  DP_CHECK_GE(count, std::size_t{2});
  std::vector<SpreadAssignment> pool;
  const auto add = [&](Assignment assignment) {
    const SimTime makespan = simulator.run(assignment, {});
    if (!simulator.feasible()) return;
    pool.push_back({.assignment = std::move(assignment), .simulated = makespan});
  };
  BaselineOptions options;
  options.seed = seed;
  options.local_search_evaluations = evaluations;
  const Assignment best = run_baseline("local-search", costs, simulator, options).assignment;
  add(best);
  RandomStream random(derive_seed({seed, 0x73707264}));
  std::vector<Assignment> others = {one_device(costs, simulator).assignment,
                                    round_robin_assignment(costs)};
  for (const Assignment& other : others) add(other);
  for (std::size_t i = 0; i < kPool * count; ++i) {
    const Assignment other = i % 3 < others.size() ? others[i % 3] : random_allowed(costs, random);
    const double share = static_cast<double>(i + 1) / static_cast<double>(kPool * count);
    Assignment mixture = best;
    for (std::size_t o = 0; o < mixture.size(); ++o) {
      const OperationId id(static_cast<std::int32_t>(o));
      if (random.next_unit() < share) mixture[id] = other[id];
    }
    add(std::move(mixture));
  }
  std::stable_sort(pool.begin(), pool.end(),
                   [](const SpreadAssignment& a, const SpreadAssignment& b) {
                     return a.simulated > b.simulated;
                   });
  if (pool.size() <= count) return pool;
  std::vector<SpreadAssignment> chosen;
  const auto high = static_cast<double>(pool.front().simulated.ticks());
  const auto low = static_cast<double>(pool.back().simulated.ticks());
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double wanted =
        high - (high - low) * static_cast<double>(i) / static_cast<double>(count - 1);
    // Leaves enough for those that come after it.
    const std::size_t last = pool.size() - (count - i);
    while (next<last&& static_cast<double>(pool[next].simulated.ticks())> wanted) ++next;
    if (i + 1 == count) next = pool.size() - 1;
    chosen.push_back(std::move(pool[next++]));
  }
  return chosen;
}

}  // namespace doppler
