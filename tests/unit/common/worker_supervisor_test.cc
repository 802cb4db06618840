#include "common/worker_supervisor.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/shared_weights.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Programs in place of doppler-worker, as shell scripts.
class WorkerSupervisorTest : public ::testing::Test {
 protected:
  WorkerLaunch launch(const std::string& script) {
    const std::string path = dir_.path().string() + "/worker.sh";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
    return {.program = path,
            .endpoint = "ipc://@nowhere",
            .keys = "the-key",
            .host = 4,
            .run_token = 99,
            .weights_descriptor = weights_.descriptor()};
  }
  // worker_supervisor_child.cc says what it does in each mode.
  WorkerLaunch child(const std::string& mode) {
    return launch("exec " DP_CHILD " " + mode + " \"$@\"");
  }
  // Deadlines that a test can wait for; those of other phases stay out of reach.
  static SupervisionLimits hour_limits() {
    SupervisionLimits limits;
    limits.starting = limits.idle = limits.playing = std::chrono::hours(1);
    limits.grace = milliseconds(60000);
    return limits;
  }
  void poll_until_event(WorkerSupervisor& supervisor, const std::string& text) {
    poll_until(supervisor, [&] {
      return std::any_of(events_.begin(), events_.end(), [&](const std::string& event) {
        return event.find(text) != std::string::npos;
      });
    });
  }

  // Polls until the condition holds; the events are collected.
  void poll_until(WorkerSupervisor& supervisor, const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      for (std::string& event : supervisor.poll()) events_.push_back(std::move(event));
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  std::string content(const std::string& name) {
    std::ifstream in(dir_.path().string() + "/" + name);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  test::TempDir dir_;
  SharedWeights weights_ = SharedWeights::create(2, 64);
  std::vector<std::string> events_;
};

TEST_F(WorkerSupervisorTest, RestartsAKilledWorkerAndCounts) {
  WorkerSupervisor supervisor(launch("exec sleep 1000"), 2);
  poll_until(supervisor, [&] { return supervisor.running_count() == 2; });
  const pid_t victim = supervisor.process_ids()[0];
  const pid_t other = supervisor.process_ids()[1];
  kill(victim, SIGKILL);
  poll_until(supervisor,
             [&] { return supervisor.restart_count() == 1 && supervisor.running_count() == 2; });
  EXPECT_EQ(supervisor.process_ids()[1], other);
  EXPECT_NE(supervisor.process_ids()[0], victim);
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_THAT(events_[0], HasSubstr("killed by signal 9"));
}

TEST_F(WorkerSupervisorTest, StopsAWorkerThatIgnoresSigterm) {
  WorkerSupervisor supervisor(
      launch("trap '' TERM; touch " + dir_.path().string() + "/ready; while :; do sleep 1; done"),
      1);
  poll_until(supervisor, [&] { return std::ifstream(dir_.path().string() + "/ready").good(); });
  const pid_t pid = supervisor.process_ids()[0];
  supervisor.stop(milliseconds(50));
  EXPECT_EQ(supervisor.running_count(), 0U);
  EXPECT_EQ(kill(pid, 0), -1) << "the process is still there";
}

TEST_F(WorkerSupervisorTest, GivesUpOnAWorkerThatAlwaysDiesAtOnce) {
  SupervisionLimits limits;
  limits.death_limit = 6;
  limits.first_delay = milliseconds(1);
  limits.longest_delay = milliseconds(4);
  WorkerSupervisor supervisor(launch("exit 7"), 1, limits);
  try {
    poll_until(supervisor, [] { return false; });
    FAIL() << "it went on for ever";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("keeps dying"));
  }
  // The last words are lost with the exception; those before tell of longer and longer pauses.
  std::vector<std::string> delays;
  for (const std::string& event : events_) {
    EXPECT_THAT(event, HasSubstr("exited with code 7; restarting in "));
    delays.push_back(event.substr(event.find(" in ") + 4));
  }
  EXPECT_THAT(delays, ::testing::ElementsAre("1 ms", "2 ms", "4 ms", "4 ms", "4 ms"));
}

TEST_F(WorkerSupervisorTest, GoesOnWithTheOthersWhenOneIsGivenUp) {
  SupervisionLimits limits = hour_limits();
  limits.death_limit = 3;
  limits.first_delay = milliseconds(1);
  WorkerSupervisor supervisor(
      launch("case \"$*\" in *'--worker 1 '*) exit 7;; esac; exec " DP_CHILD " work \"$@\""), 2,
      limits);
  poll_until_event(supervisor, "given up after 3 deaths in a row without a finished episode");
  EXPECT_THAT(events_.back(), HasSubstr("worker 4.1 "));
  EXPECT_EQ(supervisor.running_count(), 1U);
  EXPECT_EQ(supervisor.restart_count(), 2U);
  EXPECT_NO_THROW(supervisor.poll());
}

TEST_F(WorkerSupervisorTest, AWorkerThatFinishedAnEpisodeIsRestartedAtOnceAndNeverGivenUp) {
  SupervisionLimits limits = hour_limits();
  limits.death_limit = 2;
  WorkerSupervisor supervisor(child("die-after-episode"), 1, limits);
  poll_until(supervisor, [&] { return supervisor.restart_count() == 5; });
  for (const std::string& event : events_) EXPECT_THAT(event, HasSubstr("restarting in 0 ms"));
}

TEST_F(WorkerSupervisorTest, ReplacesAWorkerThatSpinsWhileStarting) {
  SupervisionLimits limits = hour_limits();
  limits.starting = milliseconds(300);
  WorkerSupervisor supervisor(child("spin-starting"), 1, limits);
  poll_until(supervisor, [&] { return supervisor.running_count() == 1; });
  const pid_t hung = supervisor.process_ids()[0];
  poll_until_event(supervisor, "restarting in");
  ASSERT_GE(events_.size(), 2U);
  EXPECT_THAT(events_[0],
              ::testing::MatchesRegex("worker 4\\.0 \\(process " + std::to_string(hung) +
                                      "\\) hangs: no progress for [0-9]+\\.[0-9] s while "
                                      "starting; asked to end"));
  EXPECT_THAT(events_[1], HasSubstr("killed by signal 15"));
  EXPECT_EQ(kill(hung, 0), -1) << "the process is still there";
}

TEST_F(WorkerSupervisorTest, KillsAStoppedWorkerThatCannotHearSigterm) {
  SupervisionLimits limits = hour_limits();
  limits.idle = milliseconds(2000);  // a loaded machine must not make the second life look hung
  limits.grace = milliseconds(100);
  WorkerSupervisor supervisor(child("stop-idle"), 1, limits);
  poll_until_event(supervisor, "restarting in");
  ASSERT_EQ(events_.size(), 3U);
  EXPECT_THAT(events_[0], HasSubstr("while idle; asked to end"));
  EXPECT_THAT(events_[1], HasSubstr("did not end when it was asked to; killed"));
  EXPECT_THAT(events_[2], HasSubstr("killed by signal 9"));
  poll_until(supervisor, [&] { return supervisor.running_count() == 1; });
  EXPECT_EQ(supervisor.restart_count(), 1U);
}

TEST_F(WorkerSupervisorTest, KillsAWorkerThatIgnoresSigterm) {
  SupervisionLimits limits = hour_limits();
  limits.playing = milliseconds(300);
  limits.grace = milliseconds(100);
  WorkerSupervisor supervisor(child("deaf"), 1, limits);
  poll_until_event(supervisor, "killed by signal 9");
  EXPECT_THAT(events_[0], HasSubstr("while playing; asked to end"));
}

TEST_F(WorkerSupervisorTest, LongEpisodesMakeForALongDeadline) {
  SupervisionLimits limits = hour_limits();
  limits.playing = milliseconds(1);
  limits.playing_factor = 25;  // of 40 ms
  WorkerSupervisor supervisor(child("spin-after-long-episode"), 1, limits);
  poll_until_event(supervisor, "hangs");
  // 25 times 40 ms; the deadline of 1 ms did not hold.
  const std::size_t at = events_[0].find("no progress for ");
  ASSERT_NE(at, std::string::npos) << events_[0];
  EXPECT_GE(std::stod(events_[0].substr(at + 16)), 1.0) << events_[0];
}

TEST_F(WorkerSupervisorTest, AWorkerThatAlwaysHangsIsGivenUp) {
  SupervisionLimits limits = hour_limits();
  limits.playing = milliseconds(50);
  limits.death_limit = 3;
  limits.first_delay = milliseconds(1);
  WorkerSupervisor supervisor(child("always-spin"), 1, limits);
  try {
    poll_until(supervisor, [] { return false; });
    FAIL() << "it went on for ever";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("keeps dying"));
  }
}

// As when this process, or the machine, was stopped for a while.
TEST_F(WorkerSupervisorTest, TimeInWhichNobodyLookedIsNotAllCharged) {
  SupervisionLimits limits = hour_limits();
  limits.starting = milliseconds(400);
  WorkerSupervisor supervisor(launch("exec sleep 1000"), 1, limits);
  supervisor.poll();
  std::this_thread::sleep_for(milliseconds(600));
  EXPECT_THAT(supervisor.poll(), ::testing::IsEmpty());
  poll_until_event(supervisor, "hangs");
}

TEST_F(WorkerSupervisorTest, AWorkerThatGetsOnIsLeftAlone) {
  SupervisionLimits limits = hour_limits();
  // A thousand times what it needs, and over before the end of the test.
  limits.starting = limits.idle = limits.playing = milliseconds(5000);
  WorkerSupervisor supervisor(child("work"), 2, limits);
  const auto end = std::chrono::steady_clock::now() + milliseconds(6000);
  poll_until(supervisor, [&] { return std::chrono::steady_clock::now() > end; });
  EXPECT_EQ(supervisor.restart_count(), 0U);
  EXPECT_THAT(events_, ::testing::IsEmpty());
}

TEST(SupervisionLimits, AreTakenFromTheEnvironment) {
  unsetenv(kHangDeadlineVariable);
  EXPECT_EQ(supervision_limits_from_environment().playing, milliseconds(30000));
  setenv(kHangDeadlineVariable, "1500", 1);
  const SupervisionLimits limits = supervision_limits_from_environment();
  EXPECT_EQ(limits.starting, milliseconds(1500));
  EXPECT_EQ(limits.idle, milliseconds(1500));
  EXPECT_EQ(limits.playing, milliseconds(1500));
  EXPECT_EQ(limits.playing_factor, 0U);
  for (const char* wrong : {"", "0", "-5", "5s", "1e3", "99999999999"}) {
    setenv(kHangDeadlineVariable, wrong, 1);
    EXPECT_THROW(supervision_limits_from_environment(), ConfigError) << wrong;
  }
  unsetenv(kHangDeadlineVariable);
}

TEST_F(WorkerSupervisorTest, AWorkerSeesTheWeightsTheKeyAndNoMpi) {
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  setenv("PMIX_RANK", "0", 1);
  WorkerSupervisor supervisor(
      launch("env > " + dir_.path().string() + "/env; ls /proc/self/fd > " + dir_.path().string() +
             "/fds; echo \"$@\" > " + dir_.path().string() + "/args; touch " +
             dir_.path().string() + "/done; exec sleep 1000"),
      1);
  poll_until(supervisor, [&] { return std::ifstream(dir_.path().string() + "/done").good(); });
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("PMIX_RANK");
  const std::string environment = content("env");
  EXPECT_THAT(environment, HasSubstr("DOPPLER_RUN_KEYS=the-key"));
  EXPECT_THAT(environment, HasSubstr("OMP_NUM_THREADS=1"));
  EXPECT_THAT(environment, ::testing::Not(HasSubstr("OMPI_")));
  EXPECT_THAT(environment, ::testing::Not(HasSubstr("PMIX_")));
  std::istringstream lines(content("fds"));
  std::set<int> descriptors;
  for (int descriptor = 0; lines >> descriptor;) descriptors.insert(descriptor);
  // 0, 1, 2, the weights, the progress, and the folder that ls itself reads.
  EXPECT_TRUE(descriptors.contains(kWeightsDescriptor));
  EXPECT_TRUE(descriptors.contains(kProgressDescriptor));
  EXPECT_LE(descriptors.size(), 6U);
  EXPECT_THAT(content("args"), HasSubstr("--host 4 --worker 0 --incarnation 0 --run-token 99"));
  EXPECT_THAT(content("args"), ::testing::Not(HasSubstr("the-key")));
}

TEST_F(WorkerSupervisorTest, SaysWhatIsMissing) {
  WorkerLaunch missing = launch("");
  missing.program = dir_.path().string() + "/nothing-here";
  WorkerSupervisor supervisor(missing, 1);
  EXPECT_THROW(supervisor.poll(), SystemError);
}

}  // namespace
}  // namespace doppler
