#include "common/nearest_name.h"

#include <vector>

#include <gtest/gtest.h>

namespace doppler {
namespace {

const std::vector<std::string> kKnown = {"train", "resume", "baseline", "simulate"};

TEST(NearestName, ForgivesTypingErrors) {
  EXPECT_EQ(nearest_name("trian", kKnown), "train");         // swapped
  EXPECT_EQ(nearest_name("rsume", kKnown), "resume");        // left out
  EXPECT_EQ(nearest_name("basseline", kKnown), "baseline");  // doubled
  EXPECT_EQ(nearest_name("simulite", kKnown), "simulate");   // replaced
}

TEST(NearestName, SaysNothingAboutADifferentWord) {
  EXPECT_EQ(nearest_name("xyzzy", kKnown), "");
  EXPECT_EQ(nearest_name("train", {}), "");
}

TEST(NearestName, ASuggestionOrTheWholeList) {
  EXPECT_EQ(suggest_name("trian", kKnown), "; did you mean 'train'?");
  EXPECT_EQ(suggest_name("xyzzy", kKnown), "; known: train, resume, baseline, simulate");
}

}  // namespace
}  // namespace doppler
