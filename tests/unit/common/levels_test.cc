#include "common/levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_graph;

std::vector<std::int64_t> ticks(const IdVector<OperationId, SimTime>& times) {
  std::vector<std::int64_t> result;
  for (SimTime time : times) result.push_back(time.ticks());
  return result;
}

std::vector<std::int32_t> values(const IdVector<OperationId, OperationId>& ids) {
  std::vector<std::int32_t> result;
  for (OperationId id : ids) result.push_back(id.value());
  return result;
}

TEST(Levels, ChainCountsComputeAndEveryCrossedEdge) {
  const Graph graph = test::chain_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  const Levels levels = compute_levels(costs);
  // Before 1: 2 + 10 = 12; before 2: 12 + 3 + 20 = 35.
  EXPECT_THAT(ticks(levels.top_level), testing::ElementsAre(0, 12, 35));
  // From 2: 4; from 1: 3 + 20 + 4 = 27; from 0: 2 + 10 + 27 = 39. The transfer time of the exit
  // crosses no edge.
  EXPECT_THAT(ticks(levels.bottom_level), testing::ElementsAre(39, 27, 4));
  EXPECT_EQ(levels.critical_path, SimTime(39));
  EXPECT_THAT(values(levels.critical_successor), testing::ElementsAre(1, 2, -1));
  EXPECT_THAT(values(levels.critical_predecessor), testing::ElementsAre(-1, 0, 1));
}

TEST(Levels, ASingleDeviceHasNoTransfers) {
  const Graph graph = test::chain_graph();
  const Levels levels = compute_levels(CostTable::reference(graph, 1));
  EXPECT_THAT(ticks(levels.top_level), testing::ElementsAre(0, 2, 5));
  EXPECT_THAT(ticks(levels.bottom_level), testing::ElementsAre(9, 7, 4));
}

TEST(Levels, TiesGoToTheSmallestId) {
  // The diamond's two arms cost the same; the edge to the arm 2 is added first, which must not
  // matter.
  const Graph graph =
      make_graph("diamond", {{1, 2}, {4, 2}, {4, 2}, {1, 2}}, {{0, 2}, {0, 1}, {2, 3}, {1, 3}});
  const Levels levels = compute_levels(CostTable::reference(graph, 2));
  EXPECT_THAT(values(levels.critical_successor), testing::ElementsAre(1, 3, 3, -1));
  EXPECT_THAT(values(levels.critical_predecessor), testing::ElementsAre(-1, 0, 0, 1));
}

TEST(Levels, PathsOfZeroLengthStillHaveNeighbours) {
  const Graph graph = make_graph("zeros", {{0, 0}, {0, 0}, {0, 0}}, {{0, 2}, {1, 2}});
  const Levels levels = compute_levels(CostTable::reference(graph, 2));
  EXPECT_THAT(values(levels.critical_successor), testing::ElementsAre(2, 2, -1));
  EXPECT_THAT(values(levels.critical_predecessor), testing::ElementsAre(-1, -1, 0));
  EXPECT_EQ(levels.critical_path, SimTime(0));
}

TEST(Levels, DepthCountsEdgesFromTheFarthestEntry) {
  // 0 -> 1 -> 2 -> 3 and the short cut 0 -> 3; 4 stands alone.
  const Graph graph = make_graph("depths", {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
                                 {{0, 3}, {0, 1}, {1, 2}, {2, 3}});
  EXPECT_THAT(operation_depths(graph).raw(), testing::ElementsAre(0, 1, 2, 3, 0));
  EXPECT_EQ(graph_depth(graph), 4);
}

TEST(Levels, TopPlusBottomNeverExceedsTheCriticalPath) {
  const Graph graph = test::fork_join_graph();
  const Levels levels = compute_levels(CostTable::reference(graph, 3));
  // 1 + 1 + 5 + 1 + 1 = 9.
  EXPECT_EQ(levels.critical_path, SimTime(9));
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    EXPECT_LE(levels.top_level[id] + levels.bottom_level[id], levels.critical_path);
  }
}

}  // namespace
}  // namespace doppler
