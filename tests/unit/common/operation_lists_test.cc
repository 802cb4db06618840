#include "common/operation_lists.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/cost_table.h"
#include "common/levels.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// 0 -> 1 -> 3 and 0 -> 2 -> 3, with 2 the dearer; 4 stands alone.
Graph diamond_and_one() {
  return test::make_graph("diamond", {{1, 1}, {2, 1}, {5, 1}, {1, 1}, {1, 1}},
                          {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
}

TEST(OperationLists, CriticalPathsLeaveTheOperationItselfOut) {
  const Graph graph = diamond_and_one();
  const Levels levels = compute_levels(CostTable::reference(graph, 2));
  const OperationLists to_exit = critical_paths(levels.critical_successor);
  EXPECT_THAT(to_exit.of(0), ElementsAre(2, 3));
  EXPECT_THAT(to_exit.of(1), ElementsAre(3));
  EXPECT_THAT(to_exit.of(3), IsEmpty());
  EXPECT_THAT(to_exit.of(4), IsEmpty());
  const OperationLists to_entry = critical_paths(levels.critical_predecessor);
  EXPECT_THAT(to_entry.of(3), ElementsAre(2, 0));
  EXPECT_THAT(to_entry.of(1), ElementsAre(0));
}

TEST(OperationLists, CriticalPathsEndAfterSixteenOperations) {
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < 19; ++i) edges.emplace_back(i, i + 1);
  const Graph graph = test::make_graph("chain", std::vector<test::TinyCost>(20, {1, 1}), edges);
  const Levels levels = compute_levels(CostTable::reference(graph, 2));
  const OperationLists paths = critical_paths(levels.critical_successor);
  EXPECT_THAT(paths.of(0), SizeIs(16));
  EXPECT_THAT(paths.of(3), SizeIs(16));  // 4 to 19
  EXPECT_THAT(paths.of(4), SizeIs(15));
}

TEST(OperationLists, RelationsPartTheOthers) {
  const auto [ancestors, descendants, others] = relations(diamond_and_one());
  EXPECT_THAT(ancestors.of(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(descendants.of(3), IsEmpty());
  EXPECT_THAT(others.of(3), ElementsAre(4));
  EXPECT_THAT(ancestors.of(1), ElementsAre(0));
  EXPECT_THAT(descendants.of(1), ElementsAre(3));
  EXPECT_THAT(others.of(1), ElementsAre(2, 4));
  EXPECT_THAT(others.of(4), ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace doppler
