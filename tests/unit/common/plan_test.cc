#include "common/plan.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

// Diamond: 0 -> {1, 2} -> 3.
Plan good_plan() {
  return {{OperationId(0), OperationId(2), OperationId(1), OperationId(3)},
          test::make_assignment({0, 1, 0, 1})};
}

TEST(Plan, AnEpisodeCanFollowAnOrderThatKeepsThePrecedence) {
  EXPECT_TRUE(is_plan_of(good_plan(), test::diamond_graph(), 2));
}

TEST(Plan, IsRefusedWhereNoEpisodeCouldFollow) {
  const Graph graph = test::diamond_graph();
  EXPECT_FALSE(is_plan_of(good_plan(), graph, 1));  // device 1
  EXPECT_FALSE(is_plan_of(good_plan(), test::chain_graph(), 2));
  Plan plan = good_plan();
  std::swap(plan.order[0], plan.order[1]);  // 2 before 0
  EXPECT_FALSE(is_plan_of(plan, graph, 2));
  plan = good_plan();
  plan.order[2] = OperationId(2);  // twice
  EXPECT_FALSE(is_plan_of(plan, graph, 2));
  plan.order[2] = OperationId(-1);
  EXPECT_FALSE(is_plan_of(plan, graph, 2));
  plan = good_plan();
  plan.assignment[OperationId(3)] = DeviceId(-1);
  EXPECT_FALSE(is_plan_of(plan, graph, 2));
}

}  // namespace
}  // namespace doppler
