#include "learner/run_folder.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

using ::testing::HasSubstr;

std::string content(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(RunFolder, NeverOverwritesARun) {
  const test::TempDir dir;
  { RunFolder::create(dir.path().string() + "/run", "a: 1\n"); }
  EXPECT_THAT(test::message_of<ConfigError>(
                  [&] { RunFolder::create(dir.path().string() + "/run", "b: 2\n"); }),
              HasSubstr("doppler resume"));
  EXPECT_EQ(content(dir.path().string() + "/run/config.yaml"), "a: 1\n");
}

TEST(RunFolder, OneLearnerAtATime) {
  const test::TempDir dir;
  const RunFolder first = RunFolder::create(dir.path().string() + "/run", "a: 1\n");
  EXPECT_THAT(test::message_of<ConfigError>([&] { RunFolder::open(dir.path().string() + "/run"); }),
              HasSubstr("another process"));
}

TEST(RunFolder, SaysWhereThereIsNoRun) {
  const test::TempDir dir;
  EXPECT_THAT(test::message_of<ConfigError>([&] { RunFolder::open(dir.path().string()); }),
              HasSubstr("config.yaml"));
}

TEST(RunFolder, DropsTheRowsThatAResumedRunRepeats) {
  const test::TempDir dir;
  {
    RunFolder folder = RunFolder::create(dir.path().string() + "/run", "");
    for (int update = 1; update <= 4; ++update) {
      folder.append_metrics("{\"update\":" + std::to_string(update) + "}");
    }
    folder.flush_metrics();
  }
  // A killed writer leaves half a line.
  std::ofstream(dir.path().string() + "/run/metrics.jsonl", std::ios::app)
      << "{\"update\":5, \"sta";
  RunFolder folder = RunFolder::open(dir.path().string() + "/run");
  folder.trim_metrics(2);
  folder.append_metrics("{\"update\":3}");
  folder.flush_metrics();
  EXPECT_EQ(content(dir.path().string() + "/run/metrics.jsonl"),
            "{\"update\":1}\n{\"update\":2}\n{\"update\":3}\n");
}

TEST(RunFolder, ReplacesResultsAsAWhole) {
  const test::TempDir dir;
  RunFolder folder = RunFolder::create(dir.path().string() + "/run", "");
  folder.write_best_assignment(0, "{\"assignment\":[0]}");
  folder.write_best_assignment(0, "{\"assignment\":[1]}");
  folder.write_best_assignment(2, "{\"assignment\":[2]}");
  EXPECT_EQ(content(dir.path().string() + "/run/best/assignment.json"), "{\"assignment\":[1]}");
  EXPECT_EQ(content(dir.path().string() + "/run/best/assignment-0002.json"),
            "{\"assignment\":[2]}");
}

}  // namespace
}  // namespace doppler
