// Which operation a device takes next, by schedules that are computed by hand:
// tests/support/unit_schedules.h says how they are written.

#include <gtest/gtest.h>

#include "tests/support/unit_schedules.h"

namespace doppler {
namespace {

using test::execute;
using test::kFair;
using test::kNone;
using test::kSerial;
using test::make_unit_graph;
using test::makespan;
using test::mode;
using test::start;
using test::transfers;
using test::unit_mesh;

TEST(PhysicalDispatch, FifoTakesWhatBecameReadyFirst) {
  // On d1: o2 (2 s) is ready at 1 + 3 = 4, o3 (2 s) at 2 + 1 = 3, o4 (6 s) at 0. o4 0-6, o3 6-8, o2
  // 8-10.
  TopologyParts parts = unit_mesh(3);
  const Graph graph = make_unit_graph({{1, 3}, {2, 1}, {2}, {2}, {6}}, {{0, 2}, {1, 3}});
  const Execution execution = execute(graph, parts, kNone, {0, 2, 1, 1, 1});
  EXPECT_EQ(start(execution, 3), 6);
  EXPECT_EQ(start(execution, 2), 8);
}

// o0 (5 s) and o1 (1 s, 1 B) on d0, o2 (5 s) behind o1 on d1.
Graph short_one_feeds() {
  return make_unit_graph({{5}, {1, 1}, {5}}, {{1, 2}});
}

TEST(PhysicalDispatch, PriorityTakesWhatWasSelectedFirst) {
  // FIFO: o0 0-5, o1 5-6, transfer 6-7, o2 7-12. o1 first: o1 0-1, transfer 1-2, o2 2-7, o0 1-6.
  EXPECT_EQ(makespan(execute(short_one_feeds(), unit_mesh(2), kSerial, {0, 0, 1})), 12);
  EXPECT_EQ(makespan(execute(short_one_feeds(), unit_mesh(2),
                             mode(Contention::kSerial, Dispatch::kPriority), {0, 0, 1},
                             {OperationId(1), OperationId(0), OperationId(2)})),
            7);
}

TEST(PhysicalDispatch, PriorityInterruptsNothing) {
  // On d0: o0 (3 s) 0-3; o1 (1 s, from o2 on d1: 1 s + 1 B) is ready at 2 and comes before o3 (2 s,
  // ready at 0): o1 3-4, o3 4-6.
  const Graph graph = make_unit_graph({{3}, {1}, {1, 1}, {2}}, {{2, 1}});
  const Execution execution =
      execute(graph, unit_mesh(2), mode(Contention::kSerial, Dispatch::kPriority), {0, 0, 1, 0},
              {OperationId(0), OperationId(2), OperationId(1), OperationId(3)});
  EXPECT_EQ(start(execution, 1), 3);
  EXPECT_EQ(start(execution, 3), 4);
}

TEST(PhysicalDispatch, PriorityWithoutAnOrderFollowsTheGraph) {
  // Topological order with the smallest id first: o0, o1, o2.
  EXPECT_EQ(makespan(execute(short_one_feeds(), unit_mesh(2),
                             mode(Contention::kSerial, Dispatch::kPriority), {0, 0, 1})),
            12);
}

TEST(PhysicalDispatch, RandomDispatchIsAFunctionOfTheSeed) {
  // Either o0 or o1 goes first: 12 s or 7 s, each for about half of the seeds.
  int short_ones = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    PhysicalOptions options = mode(Contention::kSerial, Dispatch::kRandom);
    options.seed = seed;
    const double first = makespan(execute(short_one_feeds(), unit_mesh(2), options, {0, 0, 1}));
    EXPECT_EQ(makespan(execute(short_one_feeds(), unit_mesh(2), options, {0, 0, 1})), first);
    EXPECT_TRUE(first == 12 || first == 7) << first;
    short_ones += first == 7 ? 1 : 0;
  }
  EXPECT_GT(short_ones, 60);
  EXPECT_LT(short_ones, 140);
}

TEST(PhysicalDispatch, EventsOfOneInstantComeInTheOrderOfTheirCreation) {
  // At 3: o0 on d0 ends (created at 0) and the transfer of o1 arrives at d0 (created at 1). So o2
  // (behind o0) is ready before o3 (behind o1): o2 3-4, o3 4-5.
  const Graph graph = make_unit_graph({{3}, {1, 2}, {1}, {1}}, {{0, 2}, {1, 3}});
  const Execution execution = execute(graph, unit_mesh(2), kSerial, {0, 1, 0, 0});
  EXPECT_EQ(start(execution, 2), 3);
  EXPECT_EQ(start(execution, 3), 4);
  // Here o4 (1 s) comes before o0 (2 s) on d0. At 1, o1 ends before o4 (entries start by id), so
  // the arrival at 3 is created before the end of o0 at 3: o3 3-4, o2 4-5.
  const Graph later = make_unit_graph({{2}, {1, 2}, {1}, {1}, {1}}, {{4, 0}, {0, 2}, {1, 3}});
  const Execution second = execute(later, unit_mesh(2), kSerial, {0, 1, 0, 0, 0});
  EXPECT_EQ(start(second, 3), 3);
  EXPECT_EQ(start(second, 2), 4);
  // With fair sharing, ends of transfers are created once an instant is done, after the end of o0:
  // in both graphs o2 3-4, o3 4-5.
  for (const Execution& shared : {execute(graph, unit_mesh(2), kFair, {0, 1, 0, 0}),
                                  execute(later, unit_mesh(2), kFair, {0, 1, 0, 0, 0})}) {
    EXPECT_EQ(start(shared, 2), 3);
    EXPECT_EQ(start(shared, 3), 4);
  }
}

}  // namespace
}  // namespace doppler
