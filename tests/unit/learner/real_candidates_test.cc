#include "learner/real_candidates.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

BestPlacement placement(const std::string& found_by, const std::vector<int>& devices) {
  BestPlacement result;
  result.found_by = found_by;
  result.assignment = test::make_assignment(devices);
  result.order = {OperationId(0), OperationId(1)};
  return result;
}

std::vector<std::string> names(const std::vector<NamedPlan>& plans) {
  std::vector<std::string> result;
  for (const NamedPlan& plan : plans) result.push_back(plan.name);
  return result;
}

class RealCandidatesTest : public testing::Test {
 protected:
  RealCandidatesTest() {
    state_.best = placement("policy sample", {0, 1});
    state_.greedy = placement("policy greedy", {0, 0});
  }
  GraphState state_;
  // The second is the policies' best by another name.
  std::vector<BestPlacement> baselines_ = {placement("heft", {1, 1}), placement("etf", {0, 1}),
                                           placement("peft", {1, 0})};
};

TEST_F(RealCandidatesTest, ArePoliciesFirstAndEachPlacementOnce) {
  const auto found = real_candidates(state_, baselines_, 10);
  EXPECT_EQ(names(found),
            (std::vector<std::string>{"policy, best in simulation", "policy, greedy in simulation",
                                      "heft", "peft"}));
  EXPECT_EQ(found[2].plan.assignment, test::make_assignment({1, 1}));
  EXPECT_EQ(found[2].plan.order, baselines_[0].order);
}

TEST_F(RealCandidatesTest, AreNoMoreThanAskedFor) {
  EXPECT_EQ(real_candidates(state_, baselines_, 3).size(), 3U);
  EXPECT_TRUE(real_candidates(state_, baselines_, 0).empty());
}

// Without earlier stages there are the baselines alone.
TEST_F(RealCandidatesTest, AreWhatThereIs) {
  EXPECT_EQ(names(real_candidates(GraphState{}, baselines_, 2)),
            (std::vector<std::string>{"heft", "etf"}));
}

}  // namespace
}  // namespace doppler
