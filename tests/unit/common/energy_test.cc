#include "common/energy.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

// 0 -> 1 -> 2, transfers of 10 and 20 between devices.
class EnergyTest : public testing::Test {
 protected:
  Trajectory played(std::vector<int> devices) const {
    Trajectory trajectory;
    trajectory.makespan = SimTime(100);
    trajectory.operations = {OperationId(0), OperationId(1), OperationId(2)};
    for (int device : devices) trajectory.devices.emplace_back(device);
    return trajectory;
  }

  Graph graph_ = test::chain_graph();
  CostTable costs_ = CostTable::reference(graph_, 4);
};

TEST_F(EnergyTest, TransfersAreThoseBetweenDevices) {
  EXPECT_EQ(transfer_ticks(costs_, test::make_assignment({1, 1, 1})), 0);
  EXPECT_EQ(transfer_ticks(costs_, test::make_assignment({1, 1, 0})), 20);
  EXPECT_EQ(transfer_ticks(costs_, test::make_assignment({1, 2, 1})), 30);
}

// 100 + 0.2 x 30 / 4 = 101.5, to the nearest tick; 100 + 2 x 20 / 4 = 110.
TEST_F(EnergyTest, IsTheMakespanAndAShareOfTheTransfers) {
  EXPECT_EQ(energy(costs_, played({1, 2, 1}), 0.2), SimTime(102));
  EXPECT_EQ(energy(costs_, played({1, 1, 0}), 2), SimTime(110));
  EXPECT_EQ(energy(costs_, played({1, 1, 1}), 2), SimTime(100));
}

TEST_F(EnergyTest, IsTheMakespanWithoutWeight) {
  EXPECT_EQ(energy(costs_, played({1, 2, 1}), 0), SimTime(100));
}

}  // namespace
}  // namespace doppler
