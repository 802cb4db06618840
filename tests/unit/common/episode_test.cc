#include "common/episode.h"

#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/physical_graphs.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using ::testing::ElementsAre;

float feature(const Episode& episode, std::size_t device, PlaceFeature f) {
  return episode.features()[device * kPlaceFeatureCount + static_cast<std::size_t>(f)];
}

// x / (1 + x), as times are squashed.
float squashed(double x) {
  return static_cast<float>(x / (1 + std::abs(x)));
}

void step(Episode& episode, int operation, int device) {
  episode.select(OperationId(operation));
  episode.place(DeviceId(device));
}

TEST(Episode, OffersOperationsWhosePredecessorsArePlaced) {
  const Graph graph = test::diamond_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  EXPECT_THAT(episode.candidates(), ElementsAre(OperationId(0)));
  step(episode, 0, 0);
  EXPECT_THAT(episode.candidates(), ElementsAre(OperationId(1), OperationId(2)));
  step(episode, 1, 0);
  EXPECT_THAT(episode.candidates(), ElementsAre(OperationId(2)));
  step(episode, 2, 1);
  EXPECT_THAT(episode.candidates(), ElementsAre(OperationId(3)));
  EXPECT_FALSE(episode.done());
  step(episode, 3, 0);
  EXPECT_TRUE(episode.done());
}

TEST(Episode, TheLastCandidateTakesThePlaceOfTheSelectedOne) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  step(episode, 0, 0);
  EXPECT_THAT(episode.candidates(),
              ElementsAre(OperationId(1), OperationId(2), OperationId(3), OperationId(4)));
  step(episode, 2, 0);
  EXPECT_THAT(episode.candidates(), ElementsAre(OperationId(1), OperationId(4), OperationId(3)));
}

// Diamond: compute 1, 4, 4, 1, transfers 2. 0 on d0: [0, 1]. 1 on d0: [1, 5]. 2 on d1: input at 1 +
// 2 = 3, [3, 7]. 3 on d0: inputs at 5 and 7 + 2 = 9, device free at 5: [9, 10]; on d1: inputs at 5
// + 2 = 7 and 7, free at 7: [7, 8].
TEST(Episode, EstimatesTheScheduleWithTransfersAndBusyDevices) {
  const Graph graph = test::diamond_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  step(episode, 0, 0);
  step(episode, 1, 0);
  episode.select(OperationId(2));
  EXPECT_THAT(episode.earliest_start(), ElementsAre(SimTime(5), SimTime(3)));
  episode.place(DeviceId(1));
  episode.select(OperationId(3));
  EXPECT_THAT(episode.earliest_start(), ElementsAre(SimTime(9), SimTime(7)));
  episode.place(DeviceId(1));
  EXPECT_EQ(episode.estimated_makespan(), SimTime(8));
}

// The same episode before operation 3. Characteristic time: (1 + 16 + 16 + 1) / (1 + 4 + 4 + 1)
// = 3.4. Earliest: 7.
//   load: d0 5, d1 4                        -> 1 / 3.4, 0
//   compute of predecessors: 1 on d0: 4, 2 on d1: 4 -> 4 / 3.4 both
//   first start: d0 1 - 7 = -6, d1 3 - 7 = -4;  last end: d0 5 - 7 = -2, d1 7 - 7 = 0
//   earliest start: d0 9 - 7 = 2, d1 0;   inputs arrive: d0 9 - 7 = 2, d1 7 - 7 = 0
//   local inputs: 2 of 4 ticks of transfer on each
TEST(Episode, FeaturesAreWhatTheirNamesSay) {
  const Graph graph = test::diamond_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  step(episode, 0, 0);
  step(episode, 1, 0);
  step(episode, 2, 1);
  episode.select(OperationId(3));
  const auto expect = [&](PlaceFeature f, double d0, double d1) {
    EXPECT_NEAR(feature(episode, 0, f), d0, 1e-6) << static_cast<int>(f);
    EXPECT_NEAR(feature(episode, 1, f), d1, 1e-6) << static_cast<int>(f);
  };
  expect(PlaceFeature::kLoad, squashed(1 / 3.4), 0);
  expect(PlaceFeature::kPredecessorCompute, squashed(4 / 3.4), squashed(4 / 3.4));
  expect(PlaceFeature::kPredecessorFirstStart, squashed(-6 / 3.4), squashed(-4 / 3.4));
  expect(PlaceFeature::kPredecessorLastEnd, squashed(-2 / 3.4), 0);
  expect(PlaceFeature::kEarliestStart, squashed(2 / 3.4), 0);
  expect(PlaceFeature::kInputsArrive, squashed(2 / 3.4), 0);
  expect(PlaceFeature::kLocalInputs, 0.5, 0.5);
  expect(PlaceFeature::kIsEarliest, 0, 1);
}

TEST(Episode, FeaturesDoNotDependOnTheUnitOfTime) {
  const Graph small = test::make_graph("a", {{2, 1}, {3, 5}, {4, 2}}, {{0, 2}, {1, 2}});
  const Graph large =
      test::make_graph("b", {{2000, 1000}, {3000, 5000}, {4000, 2000}}, {{0, 2}, {1, 2}});
  const CostTable small_costs = CostTable::reference(small, 3);
  const CostTable large_costs = CostTable::reference(large, 3);
  Episode a(small_costs);
  Episode b(large_costs);
  for (const auto& [operation, device] : {std::pair{0, 1}, {1, 2}, {2, 0}}) {
    a.select(OperationId(operation));
    b.select(OperationId(operation));
    for (std::size_t i = 0; i < a.features().size(); ++i) {
      EXPECT_NEAR(a.features()[i], b.features()[i], 1e-6);
    }
    a.place(DeviceId(device));
    b.place(DeviceId(device));
  }
}

// Swapping the names of equal devices in all decisions swaps the rows of the features and changes
// nothing else.
TEST(Episode, FeaturesFollowARelabellingOfDevices) {
  RandomStream random(11);
  const Graph graph = test::random_graph({.operation_count = 40}, random);
  const CostTable costs = CostTable::reference(graph, 3);
  const std::array<int, 3> relabel = {2, 0, 1};
  Episode a(costs);
  Episode b(costs);
  while (!a.done()) {
    const OperationId operation = a.candidates()[random.next_below(a.candidates().size())];
    a.select(operation);
    b.select(operation);
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t f = 0; f < kPlaceFeatureCount; ++f) {
        EXPECT_EQ(a.features()[d * kPlaceFeatureCount + f],
                  b.features()[static_cast<std::size_t>(relabel[d]) * kPlaceFeatureCount + f]);
      }
    }
    const auto device = static_cast<std::size_t>(random.next_below(3));
    a.place(DeviceId(static_cast<int>(device)));
    b.place(DeviceId(relabel[device]));
  }
}

TEST(Episode, ResetForgetsEverything) {
  RandomStream random(12);
  const Graph graph = test::random_graph({.operation_count = 30}, random);
  const CostTable costs = CostTable::reference(graph, 2);
  Episode used(costs);
  while (!used.done())
    step(used, used.candidates().front().value(), static_cast<int>(random.next_below(2)));
  used.reset();
  Episode fresh(costs);
  while (!fresh.done()) {
    ASSERT_THAT(used.candidates(), ::testing::ElementsAreArray(fresh.candidates()));
    const OperationId operation = fresh.candidates().back();
    used.select(operation);
    fresh.select(operation);
    ASSERT_THAT(used.features(), ::testing::ElementsAreArray(fresh.features()));
    used.place(DeviceId(1));
    fresh.place(DeviceId(1));
  }
  EXPECT_EQ(used.estimated_makespan(), fresh.estimated_makespan());
}

TEST(EpisodeDeathTest, RefusesAnOperationThatIsNoCandidate) {
  const Graph graph = test::chain_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  EXPECT_DEATH(episode.select(OperationId(1)), "is_candidate");
}

// x of 2 s at 1 FLOP/s, 6 bytes out, feeds y of 2 s. d1 computes twice as fast and has 24 bytes of
// memory; links 0 -> 1 and 1 -> 0 carry 1 byte/s, 0 -> 2 and 1 -> 2 as much, 2 -> 0 and 2 -> 1 3
// bytes/s.
TEST(Episode, TellsUnequalDevicesAndLinksApart) {
  const Graph graph = test::make_unit_graph({{2, 6}, {2, 0}}, {{0, 1}});
  TopologyParts parts = test::unit_devices(3);
  parts.devices[1].flops_per_second = 2;
  parts.devices[1].memory_bytes = 24;
  for (auto [from, to, bandwidth] :
       {std::tuple(0, 1, 1.0), std::tuple(1, 0, 1.0), std::tuple(0, 2, 1.0), std::tuple(1, 2, 1.0),
        std::tuple(2, 0, 3.0), std::tuple(2, 1, 3.0)}) {
    test::add_link(parts, from, to, bandwidth);
  }
  const Topology topology(std::move(parts));
  const CostTable costs = CostTable::physical(graph, topology);
  // Both operations take (2 + 1 + 2) / 3 s on average, so that is the scale.
  const double scale = 5.0 / 3;
  Episode episode(costs);
  EXPECT_EQ(episode.used_features(), kPlaceFeatureCount);
  episode.select(OperationId(0));
  // Finishes after 2, 1 and 2 s.
  EXPECT_NEAR(feature(episode, 0, PlaceFeature::kComputeExcess), squashed(1 / scale), 1e-6);
  EXPECT_EQ(feature(episode, 1, PlaceFeature::kComputeExcess), 0);
  EXPECT_NEAR(feature(episode, 0, PlaceFeature::kEarliestFinish), squashed(1 / scale), 1e-6);
  EXPECT_EQ(feature(episode, 0, PlaceFeature::kIsEarliestFinish), 0);
  EXPECT_EQ(feature(episode, 1, PlaceFeature::kIsEarliestFinish), 1);
  // 6 bytes to the others take 6 s on average from d0 and d1, 2 s from d2.
  EXPECT_NEAR(feature(episode, 0, PlaceFeature::kReach), squashed(4 / scale), 1e-6);
  EXPECT_NEAR(feature(episode, 1, PlaceFeature::kReach), squashed(4 / scale), 1e-6);
  EXPECT_EQ(feature(episode, 2, PlaceFeature::kReach), 0);
  EXPECT_EQ(feature(episode, 1, PlaceFeature::kMemoryTaken), 0);
  episode.place(DeviceId(1));  // [0, 1]; 6 of 24 bytes

  episode.select(OperationId(1));
  // Inputs arrive after 7, 1 and 7 s; the device is free at 0, 1 and 0; y could start on d1 at 1.
  EXPECT_NEAR(feature(episode, 0, PlaceFeature::kTransferExcess), squashed(6 / scale), 1e-6);
  EXPECT_EQ(feature(episode, 1, PlaceFeature::kTransferExcess), 0);
  EXPECT_NEAR(feature(episode, 0, PlaceFeature::kDeviceFree), squashed(-1 / scale), 1e-6);
  EXPECT_EQ(feature(episode, 1, PlaceFeature::kDeviceFree), 0);
  // Finishes at 9 on d0, at 2 on d1.
  EXPECT_NEAR(feature(episode, 0, PlaceFeature::kEarliestFinish), squashed(7 / scale), 1e-6);
  EXPECT_EQ(feature(episode, 1, PlaceFeature::kMemoryTaken), 0.25F);
  EXPECT_EQ(feature(episode, 0, PlaceFeature::kMemoryTaken), 0);  // without limit
  EXPECT_EQ(feature(episode, 0, PlaceFeature::kReach), 0);        // y sends nothing
}

TEST(Episode, EqualDevicesNeedNoPhysicalFeatures) {
  const Graph graph = test::diamond_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  EXPECT_EQ(episode.used_features(), kUniformFeatureCount);
  step(episode, 0, 0);
  episode.select(OperationId(1));
  for (std::size_t d = 0; d < 2; ++d) {
    for (std::size_t f = kUniformFeatureCount; f < kPlaceFeatureCount; ++f) {
      EXPECT_EQ(episode.features()[d * kPlaceFeatureCount + f], 0);
    }
  }
}

}  // namespace
}  // namespace doppler
