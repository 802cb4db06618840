// Real kills, a full disk and a reader beside a writer, each with a process of its own
// (run_files_child.cc).
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include "learner/archive_reader.h"
#include "learner/checkpoint_store.h"
#include "tests/support/child_process.h"
#include "tests/support/sample_checkpoint.h"
#include "tests/support/sample_trajectory.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

using test::ChildProcess;
using test::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

const std::string kChild = DP_CHILD;

// DOPPLER_KILLS=200 makes it thorough.
int kill_count() {
  const char* text = std::getenv("DOPPLER_KILLS");
  return text == nullptr ? 20 : std::atoi(text);
}

// Lets the child say `lines` lines, then kills it somewhere in its next few milliseconds. Returns
// the newest number that it said.
std::uint64_t kill_somewhere(ChildProcess& child, std::mt19937& random, std::uint64_t before) {
  std::uint64_t said = before;
  const auto lines = 1 + random() % 3;
  for (std::size_t i = 0; i < lines; ++i) said = std::stoull(child.read_line().value());
  const timespec moment = {.tv_sec = 0, .tv_nsec = static_cast<long>(random() % 6000000)};
  ::nanosleep(&moment, nullptr);
  child.kill();
  EXPECT_EQ(child.wait(), -SIGKILL);
  while (const auto line = child.read_line()) said = std::stoull(*line);
  return said;
}

TEST(RunFilesKill, AKilledProcessLeavesACheckpointNoOlderThanItsLast) {
  std::mt19937 random(7);
  int stopped_while_writing = 0;
  for (int i = 0; i < kill_count(); ++i) {
    const TempDir dir;
    ChildProcess child({kChild, "save-checkpoints", dir.path()});
    const std::uint64_t said = kill_somewhere(child, random, 0);
    const NewestCheckpoint newest = CheckpointStore(dir.path(), 2).load_newest_valid();
    ASSERT_TRUE(newest.loaded);
    const std::uint64_t update = newest.loaded->checkpoint.update;
    EXPECT_TRUE(update == said || update == said + 1) << update << " after " << said;
    EXPECT_EQ(newest.loaded->checkpoint, test::sample_checkpoint(update, 20000));
    for (const std::string& warning : newest.warnings) {
      EXPECT_THAT(warning, HasSubstr(".tmp: unfinished"));
      ++stopped_while_writing;
    }
  }
  // How many kills hit the writing itself depends on the disk; the prefix test of
  // checkpoint_store_test.cc hits all of it.
  RecordProperty("stopped_while_writing", stopped_while_writing);
}

void expect_whole(ArchiveReader& reader, const EpisodeRow& row) {
  const Trajectory expected = test::sample_trajectory(row.episode, row.lineage);
  EXPECT_EQ(row.seed, expected.seed);
  EXPECT_EQ(row.makespan, expected.makespan);
  EXPECT_EQ(row.spread_seconds, expected.spread_seconds);
  if (row.decision_offset < 0) return;
  const std::vector<Decision> decisions = reader.decisions(row);
  ASSERT_EQ(decisions.size(), expected.operations.size());
  for (std::size_t k = 0; k < decisions.size(); ++k) {
    const Decision wanted{expected.operations[k], expected.devices[k],
                          expected.select_log_probabilities[k],
                          expected.place_log_probabilities[k]};
    ASSERT_EQ(decisions[k], wanted) << "decision " << k << " of episode " << row.episode;
  }
}

// How many episodes analysis/load_run.py finds: another reader of HDF5, which knows docs/formats.md
// only.
std::string count_in_python(const std::string& run_dir) {
  const std::string script = std::string(DP_SOURCE_DIR) + "/analysis/load_run.py";
  ChildProcess python({"/usr/bin/python3", script, run_dir, "--count-episodes"});
  const std::string count = python.read_line().value_or("nothing");
  EXPECT_EQ(python.wait(), 0);
  return count;
}

// Each process is resumed a little before the place where the one before was killed, as from a
// checkpoint.
TEST(RunFilesKill, EveryCommittedEpisodeOfKilledProcessesIsReadableOnce) {
  constexpr int kKillsARun = 20;
  std::mt19937 random(11);
  for (int run = 0; run < (kill_count() + kKillsARun - 1) / kKillsARun; ++run) {
    const TempDir dir;
    std::uint64_t committed = 0;
    for (int i = 0; i < kKillsARun; ++i) {
      const std::uint64_t first = committed - std::min<std::uint64_t>(committed, random() % 30);
      ChildProcess child(
          {kChild, "append-episodes", dir.path(), std::to_string(i), std::to_string(first)});
      committed = kill_somewhere(child, random, first);
      ArchiveReader reader(dir.path());
      std::set<std::uint64_t> episodes;
      for (const EpisodeRow& row : reader.episodes()) {
        EXPECT_TRUE(episodes.insert(row.episode).second) << row.episode;
        if (row.episode + 200 > committed) expect_whole(reader, row);
      }
      EXPECT_GE(episodes.size(), committed) << "after kill " << i;
      EXPECT_EQ(*episodes.rbegin() + 1, episodes.size());
      for (const SegmentInfo& info : reader.segments()) EXPECT_EQ(info.damage, "");
    }
    EXPECT_EQ(count_in_python(dir.path()),
              std::to_string(ArchiveReader(dir.path()).episodes().size()));
  }
}

TEST(RunFilesKill, AReaderFollowsAWriterInAnotherProcess) {
  const TempDir dir;
  ChildProcess child({kChild, "append-episodes", dir.path(), "0", "0"});
  for (int i = 0; i < 30; ++i) {
    const std::uint64_t committed = std::stoull(child.read_line().value());
    ArchiveReader reader(dir.path());
    const std::vector<EpisodeRow> rows = reader.episodes();
    ASSERT_GE(rows.size(), committed);
    for (std::size_t k = 0; k < rows.size(); ++k) ASSERT_EQ(rows[k].episode, k);
    for (std::size_t k = rows.size() - std::min<std::size_t>(rows.size(), 40); k < rows.size();
         ++k) {
      expect_whole(reader, rows[k]);
    }
    for (const SegmentInfo& info : reader.segments()) EXPECT_EQ(info.damage, "");
  }
}

TEST(RunFilesLocking, AFileSystemWithoutLockingIsToldAndServesAllTheSame) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer must be loaded before anything else";
#else
  const TempDir dir;
  ChildProcess child({kChild, "append-without-locking", dir.path()}, {"LD_PRELOAD=" DP_NO_FLOCK});
  EXPECT_THAT(child.read_line().value(),
              AllOf(HasSubstr("file locking does not work"), HasSubstr("No locks available"),
                    HasSubstr("HDF5_USE_FILE_LOCKING=FALSE")));
  EXPECT_EQ(child.read_line().value(), "1");
  EXPECT_EQ(child.read_line().value(), "10");
  EXPECT_EQ(child.read_line().value(), "1");
  EXPECT_EQ(child.wait(), 0);
#endif
}

TEST(RunFilesFullDisk, ACheckpointThatDoesNotFitLeavesTheOneBefore) {
  const TempDir dir;
  ChildProcess child({kChild, "overfill-checkpoints", dir.path()});
  EXPECT_THAT(child.read_line().value(), AllOf(HasSubstr("write("), HasSubstr("File too large")));
  EXPECT_EQ(child.wait(), 0);
  const NewestCheckpoint newest = CheckpointStore(dir.path(), 2).load_newest_valid();
  ASSERT_TRUE(newest.loaded);
  EXPECT_EQ(newest.loaded->checkpoint, test::sample_checkpoint(1));
  EXPECT_THAT(newest.warnings, IsEmpty());
}

TEST(RunFilesFullDisk, TheLogGoesOnInANewSegmentOnceThereIsRoom) {
  const TempDir dir;
  ChildProcess child({kChild, "overfill-archive", dir.path()});
  EXPECT_THAT(child.read_line().value(),
              AllOf(HasSubstr("File too large"), HasSubstr("segment-000001.h5 ends at row"),
                    HasSubstr("training goes on")));
  EXPECT_EQ(child.read_line().value(), "1");
  const std::uint64_t appended = std::stoull(child.read_line().value());
  EXPECT_EQ(child.read_line().value(), std::to_string(appended));
  EXPECT_GE(std::stoi(child.read_line().value()), 3);
  EXPECT_EQ(child.read_line().value(), "1");
  EXPECT_EQ(child.wait(), 0);
  // Nothing is lost: what did not fit waited.
  ArchiveReader reader(dir.path());
  const std::vector<EpisodeRow> rows = reader.episodes();
  ASSERT_EQ(rows.size(), appended);
  for (std::size_t k = 0; k < rows.size(); ++k) EXPECT_EQ(rows[k].episode, k);
  for (std::size_t k = 0; k < rows.size(); k += 97) expect_whole(reader, rows[k]);
  for (const SegmentInfo& info : reader.segments()) EXPECT_EQ(info.damage, "");
}

}  // namespace
}  // namespace doppler
