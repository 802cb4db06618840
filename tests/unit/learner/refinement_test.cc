#include "learner/refinement.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

BestPlacement placed(Machine& machine, const std::vector<int>& devices, const char* found_by) {
  BestPlacement placement;
  placement.assignment = test::make_assignment(devices);
  placement.makespan = machine.executor().run(placement.assignment, {});
  placement.found_by = found_by;
  return placement;
}

SimulationConfig two_devices() {
  SimulationConfig simulation;
  simulation.devices = 2;
  return simulation;
}

// Fork-join, two of the four on each device: those on device 1 have their input at 1 + 1 = 2 and
// end at 12, those on device 0 end at 11 and are on device 1 at 12, so with the join there it is
// over at
// 13. Three and one would take 1 + 15 and more.
TEST(Refinement, FindsTheOptimumNextToThePolicysPlacement) {
  const Graph graph = test::fork_join_graph();
  Machine machine(graph, nullptr, two_devices(), 1);
  const BestPlacement greedy = placed(machine, {0, 0, 0, 0, 0, 0}, "policy greedy");
  const BestPlacement sample = placed(machine, {0, 0, 0, 0, 1, 0}, "policy sample");
  const Refinement refined =
      refine(machine, {greedy, sample}, {.seconds = 0, .evaluations = 2000}, 1, 7);
  EXPECT_EQ(refined.start_makespan, sample.makespan);
  EXPECT_EQ(refined.placement.makespan, SimTime(13));
  EXPECT_EQ(machine.executor().run(refined.placement.assignment, {}), SimTime(13));
  EXPECT_EQ(refined.placement.found_by, "local search from policy sample");
  EXPECT_LE(refined.evaluations, 2000);
  const Refinement again =
      refine(machine, {greedy, sample}, {.seconds = 0, .evaluations = 2000}, 1, 7);
  EXPECT_EQ(again.placement.assignment, refined.placement.assignment);
}

TEST(Refinement, KeepsAStartThatCannotBeImproved) {
  const Graph graph = test::fork_join_graph();
  Machine machine(graph, nullptr, two_devices(), 1);
  const BestPlacement best = placed(machine, {0, 0, 0, 1, 1, 1}, "policy sample");
  ASSERT_EQ(best.makespan, SimTime(13));
  const Refinement refined = refine(machine, {best}, {.seconds = 0.05, .evaluations = 0}, 2, 7);
  EXPECT_EQ(refined.placement, best);
}

}  // namespace
}  // namespace doppler
