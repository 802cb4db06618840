#include "learner/run_status.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "common/error.h"
#include "learner/checkpoint_store.h"
#include "tests/support/expect_error.h"
#include "tests/support/sample_checkpoint.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace fs = std::filesystem;

// A run folder, and the lock that a learner would hold.
class RunStatusTest : public ::testing::Test {
 protected:
  RunStatusTest() {
    write("config.yaml",
          "graph: {generate: chain-mm}\n"
          "stages:\n"
          "  imitation: {episodes: 100}\n"
          "  simulation: {episodes: 900}\n"
          "refinement: {seconds: 5}\n");
    write(".lock", "");
  }
  ~RunStatusTest() override {
    if (lock_ >= 0) close(lock_);
  }

  void write(const std::string& name, const std::string& content) { dir_.write(name, content); }
  // `time` seconds of training, `fraction` of the stage's budget.
  static std::string row(int update, double time, const std::string& stage, double fraction,
                         const std::string& more = "") {
    return nlohmann::json({{"update", update},
                           {"time_seconds", time},
                           {"stage", stage},
                           {"stage_used_fraction", fraction},
                           {"episodes", 64 * update},
                           {"episodes_per_second", 500.5},
                           {"best_ticks", 1000 - update},
                           {"restarts", 1},
                           {"reissued_tickets", 2},
                           {"counts", {{"opened", 64 * update}, {"trained", 64 * update}}}})
               .dump()
               .insert(1, more) +
           "\n";
  }
  void hold_lock() {
    lock_ = open(dir_.file(".lock").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(lock_, LOCK_EX | LOCK_NB), 0);
  }
  void make_older(const std::string& name, int seconds) {
    fs::last_write_time(dir_.file(name),
                        fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }
  RunStatus read() { return read_run_status(dir_.path(), {.stalled_after_seconds = 60}); }

  test::TempDir dir_;
  int lock_ = -1;
};

TEST_F(RunStatusTest, RefusesWhatIsNoRun) {
  const test::TempDir other;
  EXPECT_THAT(test::message_of<ConfigError>([&] { read_run_status(other.path(), {}); }),
              HasSubstr("config.yaml"));
}

TEST_F(RunStatusTest, ALearnerWithoutAnUpdateIsStarting) {
  hold_lock();
  const RunStatus status = read();
  EXPECT_EQ(status.state, RunState::kStarting);
  EXPECT_EQ(status.learner_alive, true);
  EXPECT_FALSE(status.checkpoint);
  EXPECT_FALSE(status.seconds_left);
}

TEST_F(RunStatusTest, TellsWhichHostsWereLateForWeights) {
  hold_lock();
  std::string late = row(1, 10, "simulation", 0.1);
  late.insert(late.rfind('}'), R"(, "late_hosts": [{"host": 2, "seconds": 3.25}])");
  write("metrics.jsonl", late);
  const RunStatus status = read();
  EXPECT_EQ(status.late_hosts, (std::map<std::uint64_t, double>{{2, 3.25}}));
  EXPECT_THAT(status_text(status), HasSubstr("host 2, 3.2 s in all"));
  EXPECT_THAT(status_prometheus(status), HasSubstr("host_late_seconds_total"));
}

TEST_F(RunStatusTest, TheNewestRowCountsAndAHalfWrittenOneDoesNot) {
  hold_lock();
  write("metrics.jsonl",
        row(1, 10, "simulation", 0.1) + row(2, 14, "simulation", 0.3) + "{\"update\": 3, \"sta");
  const RunStatus status = read();
  EXPECT_EQ(status.state, RunState::kRunning);
  EXPECT_EQ(status.stage, "simulation");
  EXPECT_EQ(status.update, 2);
  EXPECT_EQ(status.episodes, 128);
  EXPECT_EQ(status.episodes_per_second, 500.5);
  EXPECT_EQ(status.worker_restarts, 1);
  EXPECT_EQ(status.reissued_tickets, 2);
  EXPECT_EQ(status.counts.at("opened"), 128);
  ASSERT_THAT(status.graphs, SizeIs(1));
  EXPECT_EQ(status.graphs[0].best_ticks, 998);
  // 4 s for a fifth of the budget: 20 s for all of it, 14 s for what is left; then 5 s of
  // refinement.
  EXPECT_NEAR(status.seconds_left.value(), 14 + 5, 1e-9);
}

// 10 + 30 episodes 0 versions behind, 20 one, 20 two: (20 + 2 * 20) / 80 = 0.75 on average. A row
// of longer ago than half a minute does not count.
TEST_F(RunStatusTest, TellsHowFarWeightsLieBehind) {
  hold_lock();
  write("metrics.jsonl", row(1, 10, "simulation", 0.1, R"("lags":[0,0,0,99],)") +
                             row(2, 94, "simulation", 0.2, R"("lags":[10,20],)") +
                             row(3, 100, "simulation", 0.3,
                                 R"("lags":[30,0,20],"effective_sample_fraction":0.875,)"));
  const RunStatus status = read();
  EXPECT_EQ(status.recent_lags, (std::vector<std::uint64_t>{40, 20, 20}));
  EXPECT_THAT(status_text(status), HasSubstr("mean 0.75, at most 2; effective samples 87.5%"));
  const std::string prometheus = status_prometheus(status);
  EXPECT_THAT(prometheus, HasSubstr("versions=\"1\"} 20"));
  EXPECT_THAT(prometheus, HasSubstr("doppler_effective_sample_fraction"));
}

TEST_F(RunStatusTest, StagesToComeAreLeftToo) {
  hold_lock();
  write("metrics.jsonl", row(1, 10, "imitation", 0.25) + row(2, 11, "imitation", 0.5));
  // 4 s for all of imitation, 2 left of it; simulation has nine times its episodes.
  EXPECT_NEAR(read().seconds_left.value(), 2 + 36 + 5, 1e-9);
}

TEST_F(RunStatusTest, ThePaceIsThatOfLateInThisStage) {
  hold_lock();
  // The first two rows do not count: another stage, and longer ago than half a minute.
  write("metrics.jsonl", row(1, 10, "imitation", 0.5) + row(2, 11, "simulation", 0.0) +
                             row(3, 100, "simulation", 0.4) + row(4, 110, "simulation", 0.5));
  // 10 s for a tenth: 50 s for half.
  EXPECT_NEAR(read().seconds_left.value(), 50 + 5, 1e-9);
}

TEST_F(RunStatusTest, ALearnerWithoutNewsIsStalled) {
  hold_lock();
  write("metrics.jsonl", row(1, 10, "simulation", 0.1));
  make_older("metrics.jsonl", 59);
  EXPECT_EQ(read().state, RunState::kRunning);
  make_older("metrics.jsonl", 61);
  const RunStatus status = read();
  EXPECT_EQ(status.state, RunState::kStalled);
  EXPECT_THAT(status_text(status), HasSubstr("no update has come for 61 s"));
}

TEST_F(RunStatusTest, RefinementIsNoStall) {
  hold_lock();
  write("metrics.jsonl", row(1, 10, "simulation", 1.0));
  make_older("metrics.jsonl", 1000);
  EXPECT_EQ(read().state, RunState::kFinishing);
}

TEST_F(RunStatusTest, WithoutALearnerItWasKilledStoppedOrIsDone) {
  write("metrics.jsonl", row(1, 10, "simulation", 0.1));
  EXPECT_EQ(read().state, RunState::kInterrupted);
  EXPECT_FALSE(read().seconds_left);
  EXPECT_THAT(status_text(read()), HasSubstr("doppler resume " + dir_.path().string()));
  write("summary.json", R"({"outcome": "stopped early", "graphs": []})");
  EXPECT_EQ(read().state, RunState::kStopped);
  write("summary.json",
        R"({"outcome": "done", "graphs": [{"name": "g", "policy_greedy_ticks": 990,
            "policy_best_ticks": 980, "refined_ticks": 970}]})");
  const RunStatus done = read();
  EXPECT_EQ(done.state, RunState::kDone);
  EXPECT_EQ(done.graphs[0].name, "g");
  EXPECT_EQ(done.graphs[0].greedy_ticks, 990);
  EXPECT_EQ(done.graphs[0].best_ticks, 980);
  EXPECT_EQ(done.graphs[0].refined_ticks, 970);
}

TEST_F(RunStatusTest, TheCheckpointTellsTheBaselines) {
  CheckpointStore store(dir_.path(), 3);
  store.save(test::sample_checkpoint(7));
  make_older("checkpoints/checkpoint-000000000007.h5", 20);
  const RunStatus status = read();
  ASSERT_TRUE(status.checkpoint);
  EXPECT_EQ(status.checkpoint->update, 7);
  EXPECT_NEAR(status.checkpoint->age_seconds, 20, 10);
  EXPECT_EQ(status.resumes, 2);
  EXPECT_EQ(status.update, 7);
  ASSERT_THAT(status.graphs, SizeIs(2));
  EXPECT_EQ(status.graphs[0].best_ticks, 170);
  EXPECT_EQ(status.graphs[0].greedy_ticks, 190);
  // The best first.
  EXPECT_EQ(status.graphs[0].baselines[0].name, "HEFT");
  EXPECT_FALSE(status.graphs[1].best_ticks);
  // 170 against 180.
  EXPECT_THAT(status_text(status), HasSubstr("-5.56%"));
}

TEST_F(RunStatusTest, RowsAfterTheCheckpointAreNewer) {
  CheckpointStore store(dir_.path(), 3);
  store.save(test::sample_checkpoint(7));
  write("metrics.jsonl",
        row(6, 10, "simulation", 0.1, R"("graphs": [{"best_ticks": 1}, {"best_ticks": 2}],)") +
            row(8, 10, "simulation", 0.1,
                R"("graphs": [{"best_ticks": 160}, {"greedy_ticks": 5}],)") +
            row(9, 10, "simulation", 0.1, R"("graphs": [{"best_ticks": 150}, {}],)"));
  const RunStatus status = read();
  EXPECT_EQ(status.update, 9);
  EXPECT_EQ(status.graphs[0].best_ticks, 150);
  EXPECT_EQ(status.graphs[0].greedy_ticks, 190);
  EXPECT_EQ(status.graphs[1].greedy_ticks, 5);
}

TEST_F(RunStatusTest, DamageIsTold) {
  write("summary.json", "{");
  write("config.yaml", "graph: [");
  write("metrics.jsonl", "[1]\nnull\n{\"update\": \"x\"}\n" + row(1, 10, "simulation", 0.1));
  const RunStatus status = read();
  EXPECT_THAT(status.problems, SizeIs(2));
  EXPECT_EQ(status.update, 1);
  EXPECT_THAT(status_text(status), HasSubstr("problem: "));
}

TEST_F(RunStatusTest, PrometheusGetsOneLineASample) {
  hold_lock();
  write("metrics.jsonl", row(1, 10, "simulation", 0.1));
  const std::string text = status_prometheus(read());
  EXPECT_THAT(text, HasSubstr("\ndoppler_updates_total{run=\"" + dir_.path().string() + "\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(",fate=\"trained\"} 64\n"));
  EXPECT_THAT(text, HasSubstr("by=\"policy best\"} 999\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE doppler_run_stalled gauge\n"));
}

}  // namespace
}  // namespace doppler
