#include "learner/inspect_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "learner/checkpoint_store.h"
#include "learner/trajectory_archive.h"
#include "tests/support/expect_error.h"
#include "tests/support/sample_checkpoint.h"
#include "tests/support/sample_trajectory.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

using test::TempDir;
using ::testing::HasSubstr;

// Updates 6 and 7, 7 the best; episodes 0 to 19, made longer the later, every second with
// decisions, all trained.
void write_run(const std::string& run_dir) {
  CheckpointStore store(run_dir, 3);
  for (const std::uint64_t update : {6, 7}) {
    Checkpoint checkpoint = test::sample_checkpoint(update);
    checkpoint.counts.trained = 19;
    store.save(checkpoint, update == 7);
  }
  TrajectoryArchive archive(run_dir, test::sample_header());
  for (std::uint64_t episode = 0; episode < 20; ++episode) {
    archive.append(test::sample_trajectory(episode),
                   episode == 0 ? TrajectoryStatus::kFailed : TrajectoryStatus::kTrained,
                   episode % 2 == 0);
  }
}

TEST(InspectReport, TellsCheckpointsEpisodesAndRanges) {
  const TempDir dir;
  write_run(dir.path());
  const nlohmann::ordered_json report = inspect_run(dir.path(), 2);
  ASSERT_EQ(report["checkpoints"].size(), 3);
  EXPECT_EQ(report["checkpoints"][1]["update"], 7);
  EXPECT_EQ(report["checkpoints"][1]["counts"]["trained"], 19);
  EXPECT_EQ(report["checkpoints"][1]["parameters"][0]["shape"], nlohmann::json({3, 2}));
  EXPECT_EQ(report["checkpoints"][2]["file"], "best.h5");
  EXPECT_EQ(report["segments"][0]["committed_episodes"], 20);
  EXPECT_EQ(report["episodes"]["by_status"]["trained"], 19);
  EXPECT_EQ(report["episodes"]["by_status"]["failed"], 1);
  EXPECT_EQ(report["episodes"]["ranges"]["episode"]["mean"], 9.5);
  // Episode 0 failed: its makespan counts for nothing.
  ASSERT_EQ(report["graphs"][0]["best_episodes"].size(), 2);
  EXPECT_EQ(report["graphs"][0]["best_episodes"][0]["episode"], 1);
  EXPECT_EQ(report["graphs"][0]["makespan_ticks"]["max"], 1000019);
  EXPECT_TRUE(report["problems"].empty());
  EXPECT_THAT(inspect_text(report), HasSubstr("nothing is damaged or missing"));
}

TEST(InspectReport, TellsOfALogThatLostItsRows) {
  const TempDir dir;
  write_run(dir.path());
  CheckpointStore(dir.path(), 3).save(test::sample_checkpoint(9));  // counts 60 trained episodes
  const nlohmann::ordered_json report = inspect_run(dir.path(), 2);
  ASSERT_EQ(report["problems"].size(), 1);
  EXPECT_THAT(report["problems"][0].get<std::string>(),
              HasSubstr("checkpoint-000000000009.h5 counts 60 trained episodes, the log holds 19"));
}

TEST(InspectReport, TellsDamage) {
  const TempDir dir;
  write_run(dir.path());
  dir.write("checkpoints/checkpoint-000000000008.h5", "damaged");
  dir.write("trajectories/segment-000002.h5", "damaged");
  const nlohmann::ordered_json report = inspect_run(dir.path(), 2);
  EXPECT_EQ(report["checkpoints"][2]["valid"], false);
  EXPECT_EQ(report["problems"].size(), 2);
  EXPECT_THAT(inspect_text(report), HasSubstr("not a Doppler checkpoint"));
  EXPECT_THROW(inspect_file(dir.file("checkpoints/checkpoint-000000000008.h5"), 2), FormatError);
  EXPECT_THROW(inspect_file(dir.file("trajectories/segment-000002.h5"), 2), FormatError);
}

TEST(InspectReport, ShowsOneEpisodeWithItsDecisions) {
  const TempDir dir;
  write_run(dir.path());
  const nlohmann::ordered_json report = inspect_episode(dir.path(), 4);
  EXPECT_EQ(report["episode"]["makespan_ticks"], 1000004);
  EXPECT_EQ(report["decisions"].size(), 229);
  EXPECT_EQ(report["decisions"][1]["operation"], 5);
  EXPECT_THAT(inspect_text(report), HasSubstr("-0.01"));
  EXPECT_THAT(inspect_text(inspect_episode(dir.path(), 5)),
              HasSubstr("its decisions were not logged"));
  EXPECT_THAT(test::message_of<ConfigError>([&] { inspect_episode(dir.path(), 99); }),
              HasSubstr("--episode 99"));
}

TEST(InspectReport, AFileByItselfIsEnough) {
  const TempDir dir;
  write_run(dir.path());
  EXPECT_THAT(inspect_text(inspect_file(dir.file("checkpoints/best.h5"), 2)),
              HasSubstr("heads.select.weight"));
  EXPECT_THAT(inspect_text(inspect_file(dir.file("trajectories/segment-000001.h5"), 2)),
              HasSubstr("20 in all"));
}

}  // namespace
}  // namespace doppler
