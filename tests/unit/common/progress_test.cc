#include "common/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppler {
namespace {

TEST(Progress, TheBarFillsWithTheFraction) {
  EXPECT_EQ(Progress::bar("train", 0, "start", 80), "train [........................] 0% start");
  EXPECT_EQ(Progress::bar("train", 0.5, "half", 80), "train [############............] 50% half");
  EXPECT_EQ(Progress::bar("train", 1, "end", 80), "train [########################] 100% end");
}

TEST(Progress, TheBarNeverWrapsAndNeverOverflows) {
  EXPECT_EQ(Progress::bar("train", 0.5, std::string(200, 'x'), 40).size(), 39U);
  EXPECT_EQ(Progress::bar("train", 7, "", 80), Progress::bar("train", 1, "", 80));
  EXPECT_EQ(Progress::bar("train", -1, "", 80), Progress::bar("train", 0, "", 80));
  EXPECT_EQ(Progress::bar("train", 0, "", 0).size(), 1U);
}

TEST(Progress, OffATerminalItPrintsPlainLines) {
  // Tests run without a terminal on stderr, or their output is captured, which is the same.
  testing::internal::CaptureStderr();
  {
    Progress progress("train", {.line_interval = std::chrono::milliseconds(0)});
    progress.update(0.25, "a");
    progress.update(0.5, "b");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "train: 25% a\ntrain: 50% b\n");
}

TEST(Progress, UpdatesInQuickSuccessionAreSkippedButForTheLast) {
  testing::internal::CaptureStderr();
  {
    Progress progress("train");
    for (int i = 0; i <= 100; ++i) progress.update(i / 100.0, std::to_string(i));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "train: 0% 0\ntrain: 100% 100\n");
}

}  // namespace
}  // namespace doppler
