#include "common/symmetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_graph;

TEST(Symmetry, ArmsOfAForkAreAlike) {
  const SymmetryClasses classes = symmetry_classes(test::fork_join_graph());
  EXPECT_THAT(classes.class_of.raw(), testing::ElementsAre(0, 1, 1, 1, 1, 2));
  EXPECT_THAT(classes.rank_in_class.raw(), testing::ElementsAre(0, 0, 1, 2, 3, 0));
  EXPECT_THAT(classes.class_size, testing::ElementsAre(1, 4, 1));
}

TEST(Symmetry, DirectionMatters) {
  // In 0 -> 1 -> 2 with equal costs the ends differ: one is an entry, the other an exit.
  const SymmetryClasses classes =
      symmetry_classes(make_graph("chain", {{1, 1}, {1, 1}, {1, 1}}, {{0, 1}, {1, 2}}));
  EXPECT_THAT(classes.class_of.raw(), testing::ElementsAre(0, 1, 2));
}

TEST(Symmetry, ADifferenceFarAwaySplitsAClass) {
  // Two chains of three, equal but for the cost of the last operation.
  const SymmetryClasses classes =
      symmetry_classes(make_graph("chains", {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 1}},
                                  {{0, 2}, {2, 4}, {1, 3}, {3, 5}}));
  EXPECT_EQ(classes.class_size.size(), 6U);
}

TEST(Symmetry, KindsSplitAClass) {
  const SymmetryClasses classes =
      symmetry_classes(make_graph("pair", {{1, 1, "add"}, {1, 1, "exp"}}, {}));
  EXPECT_THAT(classes.class_of.raw(), testing::ElementsAre(0, 1));
}

TEST(Symmetry, RefinementCannotTellTwoTrianglesFromAHexagon) {
  // Every operation feeds two and every second one is fed by two: one ring of six pairs against two
  // rings of three. Colour refinement sees the same neighbourhoods everywhere, and so does message
  // passing: two classes.
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < 6; ++i) {
    edges.emplace_back(i, 6 + i);
    edges.emplace_back(i, 6 + (i + 1) % 6);
  }
  for (int ring = 0; ring < 2; ++ring) {
    for (int i = 0; i < 3; ++i) {
      edges.emplace_back(12 + 3 * ring + i, 18 + 3 * ring + i);
      edges.emplace_back(12 + 3 * ring + i, 18 + 3 * ring + (i + 1) % 3);
    }
  }
  const SymmetryClasses classes =
      symmetry_classes(make_graph("rings", std::vector<test::TinyCost>(24, {1, 1}), edges));
  EXPECT_THAT(classes.class_size, testing::ElementsAre(12, 12));
}

TEST(Symmetry, NamesGroupsAndCoordinatesDoNotCount) {
  GraphBuilder builder("shards", CostUnit::kDurations);
  for (int i = 0; i < 2; ++i) {
    Operation operation;
    operation.name = "shard " + std::to_string(i);
    operation.group = GroupId(0);
    operation.block_coordinates = {i};
    builder.add_operation(operation);
  }
  EXPECT_THAT(symmetry_classes(builder.build()).class_of.raw(), testing::ElementsAre(0, 0));
}

TEST(Symmetry, PinsInputsAndEdgeBytesCount) {
  GraphBuilder builder("physical", CostUnit::kPhysical);
  for (int i = 0; i < 6; ++i) {
    Operation operation;
    operation.kind = "work";
    if (i == 1) operation.pinned_device = DeviceId(0);
    builder.add_operation(operation);
  }
  builder.add_input({.name = "x", .bytes = 8, .consumers = {OperationId(2)}});
  builder.add_edge({.source = OperationId(0), .destination = OperationId(3), .bytes = 1});
  builder.add_edge({.source = OperationId(4), .destination = OperationId(5), .bytes = 2});
  // 0 and 4 send different bytes, 1 is pinned, 2 reads an input, 3 and 5 receive different bytes.
  EXPECT_EQ(symmetry_classes(builder.build()).class_size.size(), 6U);
}

}  // namespace
}  // namespace doppler
