#include "learner/group_sum.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/learner/gradient_sums_fixture.h"

namespace doppler {
namespace {

class GroupSumTest : public test::GradientSumsTest {
 protected:
  // A group whose gradient is 1 for every table entry, that of its episodes' graph.
  TrainingGroup group(std::size_t first, std::size_t count, std::size_t graph) const {
    TrainingGroup result{.first = first, .count = count, .gradient = {}};
    const HeadTables& tables = snapshot_.tables[graph];
    result.gradient.sum.reset(kShape, tables.select_scores.size());
    for (float& value : result.gradient.sum.tables.select_scores) value = 1;
    result.gradient.statistics.loss = 3;
    return result;
  }
  UpdateStatistics sum(const std::vector<Trajectory>& batch,
                       const std::vector<TrainingGroup>& groups, std::size_t full_batch) {
    const ReplayHeads heads(snapshot_);
    Replayers own = replayers();
    return sum_groups(batch, groups, full_batch, heads, own, gradients_, invalid_);
  }

  std::vector<HeadGradients> gradients_;
  std::vector<bool> invalid_;
};

// Of graph 0 two groups, of graph 1 one.
TEST_F(GroupSumTest, EachGraphsGroupsAreSummed) {
  const std::vector<Trajectory> episodes = {episode(0, 1), episode(1, 2), episode(0, 3),
                                            episode(0, 4)};
  const UpdateStatistics found = sum(episodes, {group(0, 1, 0), group(1, 1, 1), group(2, 2, 0)}, 4);
  EXPECT_EQ(gradients_[0].tables.select_scores, std::vector<float>(15, 2.0F));
  EXPECT_EQ(gradients_[1].tables.select_scores, std::vector<float>(22, 1.0F));
  EXPECT_EQ(found.trained, 4U);
  EXPECT_EQ(found.invalid, 0U);
  EXPECT_EQ(found.loss, 9.0 / 4);  // three groups of 3 over four episodes
  EXPECT_EQ(invalid_, std::vector<bool>(4, false));
}

// 2 of 6 episodes: the mean over a third of them is three times as large.
TEST_F(GroupSumTest, ABatchThatLostTicketsIsAMeanOverTheRest) {
  const std::vector<Trajectory> episodes = {episode(0, 1), episode(0, 2)};
  sum(episodes, {group(0, 2, 0)}, 6);
  EXPECT_EQ(gradients_[0].tables.select_scores, std::vector<float>(15, 3.0F));
}

TEST_F(GroupSumTest, AGroupOfTwoGraphsOrOfAnotherShapeIsInvalid) {
  const std::vector<Trajectory> episodes = {episode(0, 1), episode(1, 2), episode(0, 3)};
  std::vector<TrainingGroup> groups = {group(0, 2, 0), group(2, 1, 1)};
  const UpdateStatistics found = sum(episodes, groups, 3);
  EXPECT_EQ(found.trained, 0U);
  EXPECT_EQ(found.invalid, 3U);
  EXPECT_EQ(invalid_, std::vector<bool>(3, true));
  EXPECT_EQ(gradients_[0].tables.select_scores, std::vector<float>(15, 0.0F));
}

}  // namespace
}  // namespace doppler
