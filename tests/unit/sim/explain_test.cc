#include "sim/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/critical_steps.h"
#include "sim/physical_simulator.h"
#include "tests/support/physical_graphs.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Explain, NamesWhatEachStepWaitedFor) {
  // o0 and o1 (1 s, 4 B) on d0 send to o2 and o3 (1 s) on d1 over one link of 1 B/s: o0 0-1, moves
  // 1-5 and 5-9, o3 9-10.
  const Graph graph = test::make_unit_graph({{1, 4}, {1, 4}, {1}, {1}}, {{0, 2}, {1, 3}});
  const Topology topology(test::unit_mesh(2));
  const CostTable costs = CostTable::physical(graph, topology);
  PhysicalSimulator simulator(costs, topology, {});
  const Assignment assignment = test::make_assignment({0, 0, 1, 1});
  const Execution execution = simulator.run_recorded(assignment, {});
  EXPECT_EQ(explain(graph, topology, assignment, execution),
            "critical path of the schedule\n"
            "   start, s        end, s  step                       on        waited for\n"
            "0.000000000   1.000000000  0                          d0        nothing\n"
            "1.000000000   5.000000000  move output of 0, 4 bytes  d0 -> d1  input from 0\n"
            "5.000000000   9.000000000  move output of 1, 4 bytes  d0 -> d1  link d0->d1, held by "
            "output of 0 to d1\n"
            "9.000000000  10.000000000  3                          d1        input from 1, moved\n"
            "\n"
            "makespan             10.000000000 s  100.0 %\n"
            "  computing          2.000000000 s   20.0 %\n"
            "  moving tensors     8.000000000 s   80.0 %\n"
            "    lost to sharing  0.000000000 s    0.0 %\n");
}

TEST(Explain, TheStepsAddUpToTheMakespan) {
  RandomStream random(5);
  const Topology topology(test::h100_node());
  for (Contention contention : {Contention::kNone, Contention::kSerial, Contention::kFair}) {
    for (int i = 0; i < 200; ++i) {
      const Graph graph = test::physical_version(test::random_graph(
          {.operation_count = 60, .least_cost = 1'000'000, .largest_cost = 100'000'000}, random));
      const CostTable costs = CostTable::physical(graph, topology);
      PhysicalOptions options;
      options.contention = contention;
      PhysicalSimulator simulator(costs, topology, options);
      const Execution execution =
          simulator.run_recorded(test::random_assignment(graph.operation_count(), 8, random), {});
      SimTime now;
      for (const ScheduleStep& step : critical_steps(execution)) {
        ASSERT_EQ(step.start, now);
        now = step.end;
      }
      ASSERT_EQ(now, execution.makespan);
    }
  }
}

}  // namespace
}  // namespace doppler
