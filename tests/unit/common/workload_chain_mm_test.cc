#include "common/workload_chain_mm.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/graph_text.h"
#include "common/levels.h"
#include "common/symmetry.h"
#include "tests/support/public_data.h"

namespace doppler {
namespace {

TEST(ChainMm, HasTheCountsOfThePaper) {
  const Graph graph = generate_chain_mm({});
  // D x E: 2*2*4 products + 2*2 sums; C x DE: 4*2*2 + 4*2; A x B: 4*2*2 + 4*2; the sum: 4*2.
  EXPECT_EQ(graph.operation_count(), 16U + 4 + 16 + 8 + 16 + 8 + 8);
  // Products into sums 16 + 16 + 16, blocks of DE into 4 rows each 16, both sums into the last 8
  // + 8.
  EXPECT_EQ(graph.edge_count(), 80U);
  // D 2*4, E 4*2, C 4*2, A 4*2, B 2*2.
  EXPECT_EQ(graph.input_count(), 36U);
  // product, sum, product, sum, add
  EXPECT_EQ(graph_depth(graph), 5);
}

TEST(ChainMm, HasTheCostClassesOfThePaper) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> counts;
  const Graph graph = generate_chain_mm({});
  for (const Operation& operation : graph.operations()) {
    ++counts[{operation.compute_time.ticks(), operation.transfer_time.ticks()}];
  }
  EXPECT_THAT(counts,
              testing::ElementsAre(testing::Pair(std::pair(100000000LL, 400000000LL), 28),
                                   testing::Pair(std::pair(1000000000000LL, 4000000000000LL), 48)));
}

TEST(ChainMm, HasSevenSymmetryClasses) {
  EXPECT_THAT(symmetry_classes(generate_chain_mm({})).class_size,
              testing::UnorderedElementsAre(16, 4, 16, 8, 16, 8, 8));
}

TEST(ChainMm, EveryOperationKnowsItsPlace) {
  const Graph graph = generate_chain_mm({});
  std::map<std::pair<std::int32_t, std::vector<std::int32_t>>, int> seen;
  for (const Operation& operation : graph.operations()) {
    EXPECT_THAT(operation.group.value(), testing::AllOf(testing::Ge(0), testing::Le(3)));
    EXPECT_EQ(operation.block_coordinates.size(), operation.kind == "matmul" ? 3U : 2U);
    EXPECT_EQ(operation.role, operation.kind == "reduce" ? Role::kReduce : Role::kShard);
    EXPECT_EQ(++seen[std::pair(operation.group.value(), operation.block_coordinates)], 1)
        << operation.name;
  }
  EXPECT_EQ(graph.operation(OperationId(0)).name, "DE.matmul[0,0,0]");
}

TEST(ChainMm, EveryProductReadsTwoBlocks) {
  const Graph graph = generate_chain_mm({});
  IdVector<OperationId, int> reads(graph.operation_count(), 0);
  for (const InputTensor& input : graph.inputs()) {
    for (OperationId consumer : input.consumers) ++reads[consumer];
  }
  for (const Edge& edge : graph.edges()) ++reads[edge.destination];
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    if (graph.operation(id).kind == "matmul") {
      EXPECT_EQ(reads[id], 2) << i;
    }
  }
}

TEST(ChainMm, OtherSizesWork) {
  const Graph graph =
      generate_chain_mm({.rows = 1, .columns = 1, .inner = 1, .inner_de = 1, .block_size = 10});
  // Three products, three sums of one block each, one sum.
  EXPECT_EQ(graph.operation_count(), 7U);
  EXPECT_EQ(graph.operation(OperationId(0)).compute_time, SimTime(1000));
  EXPECT_THROW(generate_chain_mm({.rows = 0}), ConfigError);
  EXPECT_THROW(generate_chain_mm({.block_size = 2000000}), ConfigError);
}

TEST(ChainMm, IsThePublishedGraph) {
  DP_SKIP_WITHOUT_PUBLIC_DATA("doppler/gdp_chain_mm_112nodes.txt");
  const Graph published =
      load_graph_text(test::public_data_path("doppler/gdp_chain_mm_112nodes.txt")).graph;
  const Graph generated = generate_chain_mm({});
  EXPECT_EQ(generated.edges(), published.edges());
  ASSERT_EQ(generated.operation_count(), published.operation_count());
  EXPECT_EQ(generated.input_count(), published.input_count());
  for (std::size_t i = 0; i < generated.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    EXPECT_EQ(generated.operation(id).compute_time, published.operation(id).compute_time) << i;
    EXPECT_EQ(generated.operation(id).transfer_time, published.operation(id).transfer_time) << i;
  }
  EXPECT_EQ(symmetry_classes(generated).class_of, symmetry_classes(published).class_of);
}

}  // namespace
}  // namespace doppler
