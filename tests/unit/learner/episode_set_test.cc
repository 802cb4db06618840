#include "learner/episode_set.h"

#include <gtest/gtest.h>

namespace doppler {
namespace {

TEST(EpisodeSet, CountsWhatIsMissingBetweenTheEnds) {
  EpisodeSet set;
  EXPECT_EQ(set.missing(), 0);
  EXPECT_TRUE(set.insert(70000));
  EXPECT_FALSE(set.insert(70000));
  EXPECT_EQ(set.missing(), 0);
  EXPECT_EQ(set.first_missing(), std::nullopt);
  EXPECT_TRUE(set.insert(65535));
  EXPECT_EQ(set.size(), 2);
  EXPECT_EQ(set.missing(), 70000 - 65535 - 1);
  EXPECT_EQ(set.first_missing(), 65536);
}

}  // namespace
}  // namespace doppler
