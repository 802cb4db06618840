#include "sim/search_state.h"

#include <gtest/gtest.h>

#include "sim/device_choices.h"
#include "sim/operation_groups.h"
#include "sim/search_moves.h"
#include "tests/support/pinned_graph.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_assignment;

TEST(SearchState, CountsTheTransfersBetweenDevices) {
  // 0 -> 1 -> 2 with transfers of 10 and 20.
  const Graph graph = test::chain_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  SearchState state(costs);
  state.reset(make_assignment({0, 0, 1}));
  EXPECT_EQ(state.transfer_ticks(), 20);
  state.begin_move();
  state.set(OperationId(1), DeviceId(1));
  EXPECT_EQ(state.transfer_ticks(), 10);
  state.set(OperationId(0), DeviceId(1));
  EXPECT_EQ(state.transfer_ticks(), 0);
  state.undo_move();
  EXPECT_EQ(state.assignment(), make_assignment({0, 0, 1}));
  EXPECT_EQ(state.transfer_ticks(), 20);
}

TEST(SearchState, DoesNothingWhereADeviceIsForbidden) {
  const Graph graph = test::pin(test::chain_graph(), 1, 0);
  const CostTable costs = CostTable::reference(graph, 2);
  SearchState state(costs);
  state.reset(make_assignment({0, 0, 0}));
  state.set(OperationId(1), DeviceId(1));
  EXPECT_FALSE(state.moved());
  state.set(OperationId(2), DeviceId(0));  // it is there
  EXPECT_FALSE(state.moved());
  state.set(OperationId(2), DeviceId(1));
  EXPECT_TRUE(state.moved());
}

TEST(SearchMoves, KeepCountAndStayAllowedAndCanBeTakenBack) {
  RandomStream random(3);
  for (int g = 0; g < 20; ++g) {
    const Graph graph = test::constrain_at_random(
        test::random_graph({.operation_count = 25, .largest_cost = 20}, random), 3, random);
    const CostTable costs = CostTable::reference(graph, 3);
    const DeviceChoices choices(costs);
    SearchMoves moves(costs, choices, symmetry_groups(graph), 7);
    SearchState state(costs);
    state.reset(choices.draw(random));
    int moved = 0;
    for (int i = 0; i < 2000; ++i) {
      const Assignment before = state.assignment();
      moves.move(state);
      moves.learn(i % 3 == 0);
      moved += state.moved() ? 1 : 0;
      EXPECT_TRUE(test::is_allowed(costs, state.assignment()));
      SearchState anew(costs);
      anew.reset(state.assignment());
      ASSERT_EQ(state.transfer_ticks(), anew.transfer_ticks());
      if (i % 2 == 0) {
        state.undo_move();
        ASSERT_EQ(state.assignment(), before);
      }
    }
    EXPECT_GT(moved, 500);
  }
}

TEST(DeviceChoices, ListWhatIsAllowed) {
  const Graph graph = test::change_operations(test::pin(test::chain_graph(), 0, 2),
                                              [](OperationId id, Operation& operation) {
                                                if (id.value() == 1)
                                                  operation.forbidden_devices = {DeviceId(1)};
                                              });
  const DeviceChoices choices(CostTable::reference(graph, 3));
  const auto list = [&](int operation) {
    const auto devices = choices.of(OperationId(operation));
    return std::vector<DeviceId>(devices.begin(), devices.end());
  };
  EXPECT_EQ(list(0), (std::vector<DeviceId>{DeviceId(2)}));
  EXPECT_EQ(list(1), (std::vector<DeviceId>{DeviceId(0), DeviceId(2)}));
  EXPECT_EQ(list(2), (std::vector<DeviceId>{DeviceId(0), DeviceId(1), DeviceId(2)}));
  EXPECT_EQ(choices.free_operations(), (std::vector<OperationId>{OperationId(1), OperationId(2)}));
}

}  // namespace
}  // namespace doppler
