#include "gpuexec/arena_plan.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/physical_graphs.h"
#include "tests/support/random_physical.h"

namespace doppler {
namespace {

using test::make_unit_graph;

ArenaPlan plan_of(const RunPlan& plan, const Graph& graph) {
  std::vector<std::int64_t> bytes;
  for (const PlannedBuffer& buffer : plan.buffers()) bytes.push_back(buffer.bytes);
  const IdVector<DeviceId, std::int64_t> scratch(static_cast<std::size_t>(plan.device_count()), 0);
  return plan_arena(plan, Precedence(graph), bytes, scratch);
}

TEST(RunPlan, SendsATensorOnceToEachDevice) {
  // 0 on d0 feeds 1 and 2 on d1, 3 on d0 and 4 on d2.
  const Graph graph =
      make_unit_graph({{1, 8}, {1, 8}, {1, 8}, {1, 8}, {1, 8}}, {{0, 1}, {0, 2}, {0, 3}, {0, 4}});
  const Assignment assignment(
      std::vector<DeviceId>{DeviceId(0), DeviceId(1), DeviceId(1), DeviceId(0), DeviceId(2)});
  const RunPlan plan(graph, assignment, 3);
  ASSERT_EQ(plan.transfers().size(), 2U);
  EXPECT_EQ(plan.transfers()[0].to, DeviceId(1));
  EXPECT_EQ(plan.consumers(0).size(), 2U);
  EXPECT_EQ(plan.transfers()[1].to, DeviceId(2));
  EXPECT_EQ(plan.local_consumers(0).size(), 1U);
  EXPECT_EQ(plan.reads(2)[0].buffer, plan.copy_buffer(0));
  EXPECT_EQ(plan.reads(3)[0].buffer, plan.output_buffer(0));
}

// A chain on one device needs room for two outputs at a time, and its result a place of its own.
TEST(ArenaPlan, LetsAChainReuseTwoPlaces) {
  const Graph graph = make_unit_graph({{1, 256}, {1, 256}, {1, 256}, {1, 256}, {1, 256}},
                                      {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  const RunPlan plan(graph, Assignment(5, DeviceId(0)), 1);
  const ArenaPlan arena = plan_of(plan, graph);
  EXPECT_EQ(arena.offset[2], arena.offset[0]);
  EXPECT_EQ(arena.offset[3], arena.offset[1]);
  EXPECT_EQ(arena.bytes[DeviceId(0)], 3 * 256);
}

// 0 -> 1 and 2 -> 3 are unrelated, so that any order of them is possible: no sharing.
TEST(ArenaPlan, SharesNothingBetweenUnrelatedOperations) {
  const Graph graph = make_unit_graph({{1, 256}, {1, 256}, {1, 256}, {1, 256}}, {{0, 1}, {2, 3}});
  const RunPlan plan(graph, Assignment(4, DeviceId(0)), 1);
  EXPECT_EQ(plan_of(plan, graph).bytes[DeviceId(0)], 4 * 256);
}

// Who uses a buffer, found by the plainest means: readers on its device, and transfers, which have
// ended when one of their consumers starts.
TEST(ArenaPlan, NeverSharesBetweenBuffersThatMayLiveTogether) {
  RandomStream random(11);
  int shared = 0;
  for (int round = 0; round < 200; ++round) {
    const int devices = test::pick(random, 1, 3);
    const Graph graph = test::random_physical_graph(random, devices, false, 30);
    const RunPlan plan(graph, test::random_assignment(graph.operation_count(), devices, random),
                       devices);
    const ArenaPlan arena = plan_of(plan, graph);
    const Precedence precedence(graph);
    const auto ends_before = [&](std::int32_t a, std::int32_t b) {
      if (plan.buffers()[static_cast<std::size_t>(a)].resident) return false;
      if (b >= plan.first_input_buffer()) return false;
      const bool b_is_copy = b >= plan.operation_count();
      const std::int32_t writer =
          b_is_copy ? plan.transfers()[static_cast<std::size_t>(b - plan.operation_count())]
                          .producer.value()
                    : b;
      std::vector<std::pair<std::int32_t, bool>> users;  // and whether only its start counts
      if (a >= plan.operation_count()) {
        for (std::int32_t user : plan.consumers(a - plan.operation_count())) {
          users.emplace_back(user, false);
        }
      } else {
        for (std::int32_t user : plan.local_consumers(a)) users.emplace_back(user, false);
        for (std::int32_t t = plan.first_transfer(a); t < plan.end_transfer(a); ++t) {
          bool over = false;
          for (std::int32_t user : plan.consumers(t)) {
            over = over || user == writer || precedence.before(user, writer);
          }
          if (!over) return false;
        }
      }
      for (const auto& [user, starts] : users) {
        if (!precedence.before(user, writer)) return false;
      }
      return true;
    };
    for (std::int32_t a = 0; a < static_cast<std::int32_t>(plan.buffers().size()); ++a) {
      for (std::int32_t b = 0; b < a; ++b) {
        const auto ia = static_cast<std::size_t>(a);
        const auto ib = static_cast<std::size_t>(b);
        if (plan.buffers()[ia].device != plan.buffers()[ib].device) continue;
        const bool apart = arena.offset[ia] + plan.buffers()[ia].bytes <= arena.offset[ib] ||
                           arena.offset[ib] + plan.buffers()[ib].bytes <= arena.offset[ia];
        if (apart) continue;
        ++shared;
        EXPECT_TRUE(ends_before(a, b) || ends_before(b, a)) << "buffers " << a << " and " << b;
      }
    }
  }
  EXPECT_GT(shared, 100) << "the test tests nothing";
}

TEST(Precedence, IsTheAncestorsAlone) {
  const Graph graph = make_unit_graph({{1, 4}, {1, 4}, {1, 4}, {1, 4}}, {{0, 1}, {1, 2}});
  const Precedence precedence(graph);
  EXPECT_TRUE(precedence.before(0, 2));
  EXPECT_FALSE(precedence.before(2, 0));
  EXPECT_FALSE(precedence.before(0, 0));
  EXPECT_FALSE(precedence.before(0, 3));
}

}  // namespace
}  // namespace doppler
