#include "common/child_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppler {
namespace {

using std::chrono::seconds;

TEST(ChildOutput, KeepsWhatTheProgramSays) {
  const ChildOutput output =
      child_output({"sh", "-c", "echo out; echo err >&2; exit 3"}, seconds(60));
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_EQ(output.text, "out\nerr\n");
  EXPECT_FALSE(output.timed_out);
}

TEST(ChildOutput, AMissingProgramIs127) {
  const ChildOutput output = child_output({"no-such-program-here"}, seconds(60));
  EXPECT_EQ(output.exit_code, 127);
  EXPECT_THAT(output.text, ::testing::HasSubstr("No such file"));
}

TEST(ChildOutput, ASignalIs128AndMore) {
  EXPECT_EQ(child_output({"sh", "-c", "kill -TERM $$"}, seconds(60)).exit_code, 128 + 15);
}

TEST(ChildOutput, DoesNotWaitForEver) {
  const ChildOutput output = child_output({"sleep", "1000"}, std::chrono::milliseconds(100));
  EXPECT_TRUE(output.timed_out);
  EXPECT_EQ(output.exit_code, 128 + 9);
}

}  // namespace
}  // namespace doppler
