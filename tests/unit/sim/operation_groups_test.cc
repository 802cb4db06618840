#include "sim/operation_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pinned_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using testing::ElementsAre;
constexpr auto kId = [](int id) { return OperationId(id); };

TEST(OperationGroups, AreTheOperationsOfOneClassAndDepth) {
  EXPECT_THAT(symmetry_groups(test::fork_join_graph()),
              ElementsAre(ElementsAre(kId(0)), ElementsAre(kId(1), kId(2), kId(3), kId(4)),
                          ElementsAre(kId(5))));
}

TEST(OperationGroups, AreStatedPerRoleWhereTheFileStatesThem) {
  // 1 and 2 are shards of group 7, 3 its reduce; 4 states nothing.
  const Graph graph =
      test::change_operations(test::fork_join_graph(), [](OperationId id, Operation& operation) {
        if (id.value() >= 1 && id.value() <= 3) operation.group = GroupId(7);
        if (id.value() == 3) operation.role = Role::kReduce;
      });
  EXPECT_THAT(stated_groups(graph),
              ElementsAre(ElementsAre(kId(0)), ElementsAre(kId(1), kId(2)), ElementsAre(kId(3)),
                          ElementsAre(kId(4)), ElementsAre(kId(5))));
}

}  // namespace
}  // namespace doppler
