#include "sim/local_search.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include "common/graph_text.h"
#include "common/workload_chain_mm.h"
#include "sim/critical_operations.h"
#include "sim/etf.h"
#include "sim/exhaustive.h"
#include "sim/heft.h"
#include "sim/lower_bounds.h"
#include "sim/reference_simulator.h"
#include "tests/support/pinned_graph.h"
#include "tests/support/public_data.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_assignment;

BaselineResult search(const CostTable& costs, const LocalSearchOptions& options) {
  ReferenceSimulator simulator(costs);
  return local_search(costs, simulator, options);
}

BaselineResult search_with_threads(const CostTable& costs, std::size_t threads,
                                   const LocalSearchOptions& options) {
  std::vector<std::unique_ptr<Executor>> owned;
  std::vector<Executor*> executors;
  for (std::size_t t = 0; t < threads; ++t) {
    executors.push_back(owned.emplace_back(std::make_unique<ReferenceSimulator>(costs)).get());
  }
  return local_search(costs, executors, options);
}

TEST(LocalSearch, FindsTheOptimumOfTinyGraphs) {
  const Graph chain = test::chain_graph();
  EXPECT_EQ(search(CostTable::reference(chain, 4), {.evaluations = 2000}).makespan, SimTime(9));
  const Graph fork_join = test::fork_join_graph();
  EXPECT_EQ(search(CostTable::reference(fork_join, 2), {.evaluations = 2000}).makespan,
            SimTime(13));
}

TEST(LocalSearch, FindsTheOptimumOfSmallRandomGraphs) {
  RandomStream random(23);
  for (int g = 0; g < 40; ++g) {
    Graph graph = test::random_graph({.operation_count = 9, .largest_cost = 20}, random);
    if (g % 2 == 1) graph = test::constrain_at_random(graph, 3, random);
    const CostTable costs = CostTable::reference(graph, 3);
    ReferenceSimulator simulator(costs);
    const auto optimum = exhaustive(costs, simulator, {});
    ASSERT_TRUE(optimum.has_value());
    EXPECT_EQ(local_search(costs, simulator, {.evaluations = 5000}).makespan, optimum->makespan)
        << "graph " << g;
  }
}

TEST(LocalSearch, KeepsToItsBudget) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  for (std::int64_t evaluations : {1, 2, 3, 4, 5, 100, 1000}) {
    EXPECT_EQ(search(costs, {.evaluations = evaluations}).evaluations, evaluations);
    EXPECT_EQ(search_with_threads(costs, 3, {.evaluations = evaluations}).evaluations, evaluations);
  }
}

TEST(LocalSearch, IsNeverWorseThanItsStarts) {
  RandomStream random(29);
  for (int g = 0; g < 30; ++g) {
    const Graph graph = test::random_graph({.operation_count = 40, .largest_cost = 50}, random);
    const CostTable costs = CostTable::reference(graph, 3);
    ReferenceSimulator simulator(costs);
    SearchStart start{test::random_assignment(40, 3, random), {}};
    const SimTime given = simulator.run(start.assignment, {});
    const SimTime listed =
        std::min(heft(costs, simulator).makespan, etf(costs, simulator).makespan);
    const SimTime found =
        local_search(costs, simulator, {.evaluations = 50, .starts = {start}}).makespan;
    EXPECT_LE(found, std::min(given, listed));
  }
}

TEST(LocalSearch, CostsAGivenStartFirst) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  const Assignment start = make_assignment({1, 1, 1, 1, 1, 1});
  const BaselineResult result =
      search(costs, {.evaluations = 1, .starts = {{start, {OperationId(0)}}}});
  EXPECT_EQ(result.assignment, start);
  EXPECT_EQ(result.order.size(), 1U);  // the start's order is kept with it
}

TEST(LocalSearch, IsAFunctionOfSeedAndThreads) {
  const Graph graph = generate_chain_mm({});
  const CostTable costs = CostTable::reference(graph, 4);
  for (std::size_t threads : {1, 2, 3}) {
    const LocalSearchOptions options{.seed = 5, .evaluations = 90000};
    const BaselineResult first = search_with_threads(costs, threads, options);
    const BaselineResult second = search_with_threads(costs, threads, options);
    EXPECT_EQ(first.assignment, second.assignment) << threads;
    EXPECT_EQ(first.makespan, second.makespan) << threads;
    EXPECT_EQ(first.evaluations, second.evaluations) << threads;
  }
  EXPECT_NE(search(costs, {.seed = 5, .evaluations = 3000}).assignment,
            search(costs, {.seed = 6, .evaluations = 3000}).assignment);
}

TEST(LocalSearch, RespectsPinsAndForbiddenDevices) {
  RandomStream random(31);
  for (int g = 0; g < 20; ++g) {
    const Graph graph = test::constrain_at_random(
        test::random_graph({.operation_count = 40, .largest_cost = 50}, random), 3, random);
    const CostTable costs = CostTable::reference(graph, 3);
    EXPECT_TRUE(test::is_allowed(costs, search(costs, {.evaluations = 3000}).assignment));
  }
}

TEST(LocalSearch, HasNothingToDoWhereEverythingIsDecided) {
  const Graph graph = test::pin(test::make_graph("g", {{3, 1}}, {}), 0, 1);
  const BaselineResult pinned = search(CostTable::reference(graph, 2), {.evaluations = 100});
  EXPECT_EQ(pinned.assignment, make_assignment({1}));
  EXPECT_LT(pinned.evaluations, 5);
  EXPECT_EQ(search(CostTable::reference(test::chain_graph(), 1), {.evaluations = 100}).makespan,
            SimTime(9));
}

TEST(LocalSearch, StopsAtItsTarget) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  const BaselineResult result = search(costs, {.evaluations = 1000000, .target = SimTime(13)});
  EXPECT_EQ(result.makespan, SimTime(13));
  EXPECT_LT(result.evaluations, 100000);
}

TEST(LocalSearch, StopsWhenAskedToAndTellsHowFarItIs) {
  const Graph graph = generate_chain_mm({});
  const CostTable costs = CostTable::reference(graph, 4);
  std::stop_source source;
  int reports = 0;
  SearchProgress last;
  const BaselineResult result =
      search(costs, {.evaluations = 1000000,
                     .stop = source.get_token(),
                     .on_progress = [&](const SearchProgress& progress) {
                       EXPECT_GE(progress.evaluations, last.evaluations);
                       EXPECT_LE(progress.best, reports == 0 ? SimTime::max() : last.best);
                       EXPECT_NEAR(progress.fraction,
                                   static_cast<double>(progress.evaluations) / 1e6, 1e-9);
                       last = progress;
                       if (++reports == 10) source.request_stop();
                     }});
  EXPECT_GE(reports, 10);
  EXPECT_LT(result.evaluations, 5000);
  EXPECT_LE(result.makespan, last.best);
}

TEST(LocalSearch, WithSecondsAsBudgetEnds) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  EXPECT_EQ(search_with_threads(costs, 2, {.seconds = 0.05}).makespan, SimTime(13));
}

// Runs of the reference simulator that may say more than it does.
class StrangeExecutor final : public Executor {
 public:
  explicit StrangeExecutor(const CostTable& costs) : simulator_(costs) {}

  SimTime run(const Assignment& assignment, std::span<const OperationId> order) override {
    if (--runs_left_ < 0) throw std::runtime_error("out of order");
    feasible_ = !needs_device_ || assignment[OperationId(0)] == *needs_device_;
    const SimTime makespan = simulator_.run(assignment, order);
    return feasible_ ? makespan + SimTime(100) : makespan;
  }
  Execution run_recorded(const Assignment& assignment,
                         std::span<const OperationId> order) override {
    return simulator_.run_recorded(assignment, order);
  }
  bool feasible() const override { return feasible_; }

  std::int64_t runs_left_ = 1000000;
  std::optional<DeviceId> needs_device_;

 private:
  ReferenceSimulator simulator_;
  bool feasible_ = true;
};

TEST(LocalSearch, NeverPrefersAnInfeasibleAssignment) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  StrangeExecutor executor(costs);
  executor.needs_device_ = DeviceId(1);
  const BaselineResult result = local_search(costs, executor, {.evaluations = 2000});
  EXPECT_TRUE(result.feasible);
  EXPECT_EQ(result.assignment[OperationId(0)], DeviceId(1));
  EXPECT_EQ(result.makespan, SimTime(113));  // though infeasible ones cost 13
  executor.needs_device_ = DeviceId(7);      // nothing is feasible
  const BaselineResult none = local_search(costs, executor, {.evaluations = 2000});
  EXPECT_FALSE(none.feasible);
  EXPECT_EQ(none.makespan, SimTime(13));
}

TEST(LocalSearch, PassesOnWhatAThreadThrows) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  for (std::size_t failing : {0, 1}) {
    std::array<StrangeExecutor, 2> owned = {StrangeExecutor(costs), StrangeExecutor(costs)};
    owned[failing].runs_left_ = 500;
    const std::array<Executor*, 2> executors = {&owned[0], &owned[1]};
    EXPECT_THROW(local_search(costs, executors, {.evaluations = 1000000}), std::runtime_error);
  }
}

TEST(CriticalOperations, GoBackFromTheLastEnd) {
  const Graph graph = test::make_graph("g", {{2, 10}, {3, 0}, {4, 0}, {13, 0}}, {{0, 1}, {3, 2}});
  const CostTable costs = CostTable::reference(graph, 2);
  ReferenceSimulator simulator(costs);
  Assignment assignment = make_assignment({0, 1, 1, 0});
  Execution execution = simulator.run_recorded(assignment, {});
  // 0 at 0..2 and 3 behind it at 2..15 on device 0; 1 at 12..15; 2 at 15..19, when both the device
  // and its input 3 (no transfer time) come at 15: the device counts.
  ASSERT_EQ(execution.makespan, SimTime(19));
  EXPECT_EQ(critical_operations(costs, assignment, execution),
            (std::vector<OperationId>{OperationId(2), OperationId(1), OperationId(0)}));
}

struct PublishedSearch {
  const char* file;
  double cost;  // to be reached
};

class PublishedSearches : public testing::TestWithParam<PublishedSearch> {};

// What the project promises for a minute on one core, which is several million evaluations.
TEST_P(PublishedSearches, ReachWhatIsPromisedWithin100000Evaluations) {
  DP_SKIP_WITHOUT_PUBLIC_DATA(GetParam().file);
  const Graph graph = load_graph_text(test::public_data_path(GetParam().file)).graph;
  const CostTable costs = CostTable::reference(graph, 4);
  const BaselineResult result = search(costs, {.evaluations = 100000});
  EXPECT_LE(ReferenceSimulator::reference_cost(result.makespan), GetParam().cost);
}

INSTANTIATE_TEST_SUITE_P(
    Paper, PublishedSearches,
    testing::Values(PublishedSearch{"doppler/gdp_chain_mm_112nodes.txt", 1200.0901},
                    PublishedSearch{"doppler/gdp_ffnn_192nodes.txt", 56.70},
                    PublishedSearch{"doppler/gdp_transformer_block_215nodes.txt", 166.744},
                    PublishedSearch{"doppler/gdp_full_transformer_layer_261nodes.txt", 123.4}));

}  // namespace
}  // namespace doppler
