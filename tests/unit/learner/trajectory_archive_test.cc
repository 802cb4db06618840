#include "learner/trajectory_archive.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "learner/archive_reader.h"
#include "learner/hdf5_file.h"
#include "learner/segment_writer.h"
#include "tests/support/expect_error.h"
#include "tests/support/sample_trajectory.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

using test::sample_header;
using test::sample_status;
using test::sample_trajectory;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

// Appends episodes first .. end - 1, every second one with its decisions.
void append(TrajectoryArchive& archive, std::uint64_t first, std::uint64_t end,
            std::uint32_t lineage = 0) {
  for (std::uint64_t episode = first; episode < end; ++episode) {
    archive.append(sample_trajectory(episode, lineage), sample_status(episode), episode % 2 == 0);
  }
}

void expect_whole(ArchiveReader& reader, const EpisodeRow& row) {
  const Trajectory expected = sample_trajectory(row.episode, row.lineage);
  EXPECT_EQ(row.graph, expected.graph);
  EXPECT_EQ(row.stage, expected.stage);
  EXPECT_EQ(row.ticket, expected.ticket);
  EXPECT_EQ(row.attempt, expected.attempt);
  EXPECT_EQ(row.weight_version, expected.weight_version);
  EXPECT_EQ(row.worker, expected.worker);
  EXPECT_EQ(row.seed, expected.seed);
  EXPECT_EQ(row.status, sample_status(row.episode));
  EXPECT_EQ(row.makespan, expected.makespan);
  EXPECT_EQ(row.measured_seconds, expected.measured_seconds);
  EXPECT_EQ(row.repeats, expected.repeats);
  EXPECT_EQ(row.spread_seconds, expected.spread_seconds);
  const std::vector<Decision> decisions = reader.decisions(row);
  if (row.episode % 2 == 1) {
    EXPECT_EQ(row.decision_offset, -1);
    EXPECT_THAT(decisions, IsEmpty());
    return;
  }
  ASSERT_EQ(decisions.size(), expected.operations.size());
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const Decision wanted{expected.operations[i], expected.devices[i],
                          expected.select_log_probabilities[i],
                          expected.place_log_probabilities[i]};
    ASSERT_EQ(decisions[i], wanted) << "decision " << i << " of episode " << row.episode;
  }
}

std::vector<std::uint64_t> numbers(const std::vector<EpisodeRow>& rows) {
  std::vector<std::uint64_t> result;
  for (const EpisodeRow& row : rows) result.push_back(row.episode);
  return result;
}

std::vector<std::uint64_t> range(std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = first; i < end; ++i) result.push_back(i);
  return result;
}

TEST(TrajectoryArchive, EveryFieldComesBack) {
  const TempDir dir;
  TrajectoryArchive archive(dir.path(), sample_header());
  append(archive, 0, 300);
  EXPECT_TRUE(archive.close());
  EXPECT_EQ(archive.take_alarm(), std::nullopt);
  ArchiveReader reader(dir.path());
  ASSERT_EQ(reader.segments().size(), 1);
  EXPECT_EQ(reader.segments()[0].header, sample_header());
  const std::vector<EpisodeRow> rows = reader.episodes();
  EXPECT_EQ(numbers(rows), range(0, 300));
  for (const EpisodeRow& row : rows) expect_whole(reader, row);
  EXPECT_THAT(reader.problems(), IsEmpty());
}

TEST(TrajectoryArchive, WhatIsFlushedIsReadableWhileTheSegmentGrows) {
  const TempDir dir;
  TrajectoryArchive archive(dir.path(), sample_header());
  for (std::uint64_t end = 0; end < 500; end += 100) {
    append(archive, end, end + 100);
    ASSERT_TRUE(archive.flush());
    EXPECT_EQ(archive.position().segment, "segment-000001.h5");
    EXPECT_EQ(archive.position().rows, end + 100);
    ArchiveReader reader(dir.path());
    const std::vector<EpisodeRow> rows = reader.episodes();
    EXPECT_THAT(reader.problems(), IsEmpty());
    EXPECT_EQ(numbers(rows), range(0, end + 100));
    for (const EpisodeRow& row : rows) expect_whole(reader, row);
  }
}

TEST(TrajectoryArchive, AnEmptyLogIsALog) {
  const TempDir dir;
  EXPECT_THAT(ArchiveReader(dir.path()).segments(), IsEmpty());
  TrajectoryArchive archive(dir.path(), sample_header());
  EXPECT_TRUE(archive.flush());
  EXPECT_TRUE(archive.close());
  ArchiveReader reader(dir.path());
  EXPECT_THAT(reader.episodes(), IsEmpty());
  EXPECT_THAT(reader.problems(), IsEmpty());
}

TEST(TrajectoryArchive, AFullSegmentIsFollowedByAnother) {
  const TempDir dir;
  TrajectoryArchive archive(dir.path(), sample_header(), {.segment_rows = 50});
  for (std::uint64_t first : {0, 40, 80, 120}) {
    append(archive, first, first + 40);
    ASSERT_TRUE(archive.flush());
  }
  EXPECT_TRUE(archive.close());
  ArchiveReader reader(dir.path());
  ASSERT_EQ(reader.segments().size(), 3);  // of 80, 80 and 0 rows
  EXPECT_EQ(numbers(reader.episodes()), range(0, 160));
}

// Asynchronous mode: lineage 0 logged 40 episodes and was saved then, logged on, and was killed;
// lineage 1 begins there with numbers that were never used. What came after row 40 is void, small
// numbers (10 and 11, which were out when the checkpoint was saved) too; 12 to 19 were lost and are
// not missed.
TEST(TrajectoryArchive, WhatALaterLineageDoesNotKnowOfIsVoidWhateverItsNumber) {
  const TempDir dir;
  ArchiveHeader first = sample_header(0, 0);
  first.asynchronous = true;
  {
    TrajectoryArchive archive(dir.path(), first);
    append(archive, 20, 60);
    EXPECT_TRUE(archive.flush());
    ASSERT_EQ(archive.position().rows, 40U);
    append(archive, 10, 12);
    append(archive, 60, 70);
    EXPECT_TRUE(archive.close());
  }
  ArchiveHeader second = sample_header(1, 80);
  second.asynchronous = true;
  second.resumed_segment = 1;
  second.resumed_row = 40;
  {
    TrajectoryArchive archive(dir.path(), second);
    append(archive, 80, 90, 1);
    EXPECT_TRUE(archive.close());
  }
  ArchiveReader reader(dir.path());
  EXPECT_EQ(reader.segments()[1].header, second);
  std::vector<std::uint64_t> expected = range(20, 60);
  for (std::uint64_t episode : range(80, 90)) expected.push_back(episode);
  EXPECT_EQ(numbers(reader.episodes()), expected);
  EXPECT_THAT(reader.problems(), IsEmpty());
  // A third life that began with the same checkpoint leaves out the second as well.
  ArchiveHeader third = second;
  third.lineage = 2;
  {
    TrajectoryArchive archive(dir.path(), third);
    append(archive, 80, 82, 2);
    EXPECT_TRUE(archive.close());
  }
  expected.resize(42);
  EXPECT_EQ(numbers(ArchiveReader(dir.path()).episodes()), expected);
}

// Lineage 0 played to 100; lineage 1 resumed at 60 and played to 90; lineage 2 resumed at 80.
TEST(TrajectoryArchive, EpisodesThatALaterLineagePlaysAgainCountOnce) {
  const TempDir dir;
  const auto play = [&](std::uint32_t lineage, std::uint64_t first, std::uint64_t end) {
    TrajectoryArchive archive(dir.path(), sample_header(lineage, first));
    append(archive, first, end, lineage);
    archive.close();
  };
  play(0, 0, 100);
  play(1, 60, 90);
  play(2, 80, 110);
  ArchiveReader reader(dir.path());
  const std::vector<EpisodeRow> rows = reader.episodes();
  EXPECT_EQ(numbers(rows), range(0, 110));
  for (const EpisodeRow& row : rows) {
    EXPECT_EQ(row.lineage, row.episode < 60 ? 0 : row.episode < 80 ? 1 : 2);
    expect_whole(reader, row);
  }
  const ArchiveSummary summary = reader.visit([](const EpisodeRow&) {});
  EXPECT_EQ(summary.episodes, 110);
  EXPECT_EQ(summary.superseded, 40 + 10);
  EXPECT_EQ(reader.find(70)->lineage, 1);
  EXPECT_EQ(reader.find(110), std::nullopt);
}

TEST(TrajectoryArchive, DuplicatesAndGapsAreToldAndDuplicatesLeftOut) {
  const TempDir dir;
  TrajectoryArchive archive(dir.path(), sample_header());
  append(archive, 10, 20);
  append(archive, 15, 20);
  append(archive, 23, 25);
  append(archive, 5, 6,
         7);  // from another lineage than the segment's: shown, and no part of the count
  archive.close();
  ArchiveReader reader(dir.path());
  EXPECT_EQ(numbers(reader.episodes()).size(), 10 + 2 + 1);
  EXPECT_THAT(reader.problems(), ElementsAre(HasSubstr("5 rows repeat an episode"),
                                             HasSubstr("3 episodes have no row, the first is 20")));
}

TEST(TrajectoryArchive, EvaluationsMayShareANumberWithAnEpisode) {
  const TempDir dir;
  TrajectoryArchive archive(dir.path(), sample_header());
  append(archive, 0, 3);
  for (int i = 0; i < 2; ++i) {
    archive.append(sample_trajectory(2), TrajectoryStatus::kEvaluated, false);
  }
  archive.close();
  ArchiveReader reader(dir.path());
  EXPECT_THAT(numbers(reader.episodes()), ElementsAre(0, 1, 2, 2, 2));
  EXPECT_THAT(reader.problems(), IsEmpty());
}

TEST(TrajectoryArchive, DecisionsAreShedAndRowsKeptWhenTheyWaitTooLong) {
  const TempDir dir;
  // Room for two trajectories; nothing is committed before the flush.
  TrajectoryArchive archive(dir.path(), sample_header(),
                            {.commit_seconds = 3600,
                             .commit_decisions = 1 << 30,
                             .max_waiting_decisions = 2 * test::kSampleOperations});
  for (std::uint64_t episode : {0, 2, 4, 6}) {
    archive.append(sample_trajectory(episode), TrajectoryStatus::kTrained, true);
  }
  ASSERT_TRUE(archive.flush());
  EXPECT_EQ(archive.counters().shed_episodes, 2);
  EXPECT_EQ(archive.counters().committed_rows, 4);
  EXPECT_EQ(archive.counters().committed_decisions, 2 * test::kSampleOperations);
  // What is committed makes room again.
  archive.append(sample_trajectory(8), TrajectoryStatus::kTrained, true);
  EXPECT_TRUE(archive.close());
  ArchiveReader reader(dir.path());
  std::vector<std::int64_t> counts;
  for (const EpisodeRow& row : reader.episodes()) counts.push_back(row.decision_count);
  EXPECT_THAT(counts, ElementsAre(229, 229, 0, 0, 229));
}

TEST(TrajectoryArchive, RowsBeyondTheLastBoundAreLostAndCounted) {
  const TempDir dir;
  TrajectoryArchive archive(dir.path(), sample_header(),
                            {.commit_seconds = 3600, .max_waiting_rows = 3});
  append(archive, 0, 5);
  EXPECT_THAT(archive.take_alarm().value_or(""), HasSubstr("3 episodes wait"));
  EXPECT_TRUE(archive.close());
  EXPECT_EQ(archive.counters().lost_rows, 2);
  EXPECT_EQ(numbers(ArchiveReader(dir.path()).episodes()), range(0, 3));
}

TEST(TrajectoryArchive, AFailedEpisodeHasNoDecisions) {
  const TempDir dir;
  TrajectoryArchive archive(dir.path(), sample_header());
  Trajectory failed;
  failed.episode = 3;
  archive.append(failed, TrajectoryStatus::kFailed, true);
  archive.close();
  ArchiveReader reader(dir.path());
  const std::vector<EpisodeRow> rows = reader.episodes();
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].status, TrajectoryStatus::kFailed);
  EXPECT_EQ(rows[0].decision_offset, -1);
}

TEST(TrajectoryArchive, AFolderThatCannotBeMadeIsToldAtOnce) {
  const TempDir dir;
  const std::string file = dir.write("file", "");
  EXPECT_THAT(test::message_of<SystemError>([&] { TrajectoryArchive(file, sample_header()); }),
              HasSubstr(file));
}

TEST(TrajectoryArchive, UnfinishedSegmentsOfAKilledProcessAreRemoved) {
  const TempDir dir;
  fs::create_directories(dir.path() / "trajectories");
  dir.write("trajectories/segment-000004.h5.tmp", "half");
  dir.write("trajectories/segment-000002.h5", "");
  TrajectoryArchive archive(dir.path(), sample_header());
  EXPECT_EQ(archive.position().segment, "segment-000003.h5");
  EXPECT_FALSE(fs::exists(dir.path() / "trajectories/segment-000004.h5.tmp"));
}

TEST(ArchiveReader, DamagedSegmentsAreToldAndTheOthersRead) {
  const TempDir dir;
  for (std::uint64_t first : {0, 100, 200}) {
    TrajectoryArchive archive(dir.path(), sample_header());
    append(archive, first, first + 100);
    archive.close();
  }
  dir.write("trajectories/segment-000002.h5", "no HDF5 at all");
  dir.write("trajectories/segment-000004.h5", "");
  dir.write("trajectories/notes.txt", "mine");
  fs::resize_file(dir.path() / "trajectories/segment-000003.h5", 30000);
  ArchiveReader reader(dir.path());
  EXPECT_EQ(numbers(reader.episodes()), range(0, 100));
  EXPECT_THAT(reader.problems(),
              ElementsAre(HasSubstr("damaged: H5Fopen("), HasSubstr("segment-000003.h5"),
                          HasSubstr("segment-000004.h5")));
}

TEST(ArchiveReader, ASegmentOfAnotherFormatVersionIsRefusedByNumber) {
  const TempDir dir;
  const std::string path = dir.file("other.h5");
  {
    Hdf5File file = Hdf5File::create_for_swmr(path, true);
    Hdf5Group root = file.root();
    root.set_attribute("format", kArchiveFormat);
    root.set_attribute("format_version", std::int64_t{9});
  }
  const ArchiveReader reader = ArchiveReader::of_file(path);
  EXPECT_THAT(reader.segments()[0].damage,
              HasSubstr("@format_version: 9, but this program reads version 1"));
}

// Impossible values inside of a readable file: rows up to there are shown.
TEST(ArchiveReader, AnImpossibleRowEndsItsSegment) {
  const TempDir dir;
  const std::string path = dir.file("segment-000001.h5");
  WaitingRows rows;
  for (std::uint64_t episode = 0; episode < 10; ++episode) {
    Trajectory trajectory = sample_trajectory(episode);
    if (episode == 7) trajectory.graph = 2;  // the header knows two
    rows.append(trajectory, TrajectoryStatus::kTrained, true);
  }
  SegmentWriter writer(path, sample_header(), true);
  writer.commit(rows);
  writer.close();
  ArchiveReader reader = ArchiveReader::of_file(path);
  EXPECT_EQ(numbers(reader.episodes()), range(0, 7));
  EXPECT_THAT(reader.problems(), testing::Contains(HasSubstr("row 7: no such graph")));
}

// A row of /commit counts only when it was written whole.
TEST(ArchiveReader, TornAndMissingCommitRowsArePassedOver) {
  const TempDir dir;
  const std::string path = dir.file("segment-000001.h5");
  SegmentWriter writer(path, sample_header(), true);
  for (std::uint64_t episode : {0, 1, 2}) {
    WaitingRows rows;
    rows.append(sample_trajectory(episode), TrajectoryStatus::kTrained, true);
    writer.commit(rows);
  }
  writer.close();
  const auto spoil = [&](std::int64_t row, std::uint64_t value) {
    Hdf5File file = Hdf5File::open_swmr_write(path, true);
    Hdf5Dataset commit = file.root().dataset("commit");
    std::vector<std::uint64_t> values = commit.read_rows<std::uint64_t>(row, 1);
    values[1] = value;
    commit.write_rows<std::uint64_t>(row, values);
  };
  EXPECT_EQ(ArchiveReader::of_file(path).segments()[0].committed_episodes, 3);
  spoil(2, 0);
  {
    ArchiveReader reader = ArchiveReader::of_file(path);
    EXPECT_EQ(numbers(reader.episodes()), range(0, 2));
    EXPECT_EQ(reader.segments()[0].uncommitted_episodes, 1);
    EXPECT_THAT(reader.problems(), ElementsAre(HasSubstr("1 rows at the end are not committed")));
  }
  spoil(1, 99);
  EXPECT_EQ(ArchiveReader::of_file(path).segments()[0].committed_episodes, 1);
  spoil(0, 99);
  EXPECT_EQ(ArchiveReader::of_file(path).segments()[0].committed_episodes, 0);
}

}  // namespace
}  // namespace doppler
