#include "common/worker_supervisor.h"

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
            .server_key = "the-key",
            .host = 4,
            .run_token = 99,
            .weights_descriptor = weights_.descriptor()};
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
      launch("trap '' TERM; touch " + dir_.path().string() + "/ready; while :; do sleep 1; done"), 1);
  poll_until(supervisor, [&] { return std::ifstream(dir_.path().string() + "/ready").good(); });
  const pid_t pid = supervisor.process_ids()[0];
  supervisor.stop(milliseconds(50));
  EXPECT_EQ(supervisor.running_count(), 0U);
  EXPECT_EQ(kill(pid, 0), -1) << "the process is still there";
}

TEST_F(WorkerSupervisorTest, GivesUpOnAWorkerThatAlwaysDiesAtOnce) {
  WorkerSupervisor supervisor(launch("exit 7"), 1);
  try {
    poll_until(supervisor, [] { return false; });
    FAIL() << "it went on for ever";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("keeps dying"));
  }
  EXPECT_THAT(events_.front(), HasSubstr("exited with code 7"));
}

TEST_F(WorkerSupervisorTest, AWorkerSeesTheWeightsTheKeyAndNoMpi) {
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  setenv("PMIX_RANK", "0", 1);
  WorkerSupervisor supervisor(launch("env > " + dir_.path().string() + "/env; ls /proc/self/fd > " +
                                     dir_.path().string() + "/fds; echo \"$@\" > " + dir_.path().string() +
                                     "/args; touch " + dir_.path().string() + "/done; exec sleep 1000"),
                              1);
  poll_until(supervisor, [&] { return std::ifstream(dir_.path().string() + "/done").good(); });
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("PMIX_RANK");
  const std::string environment = content("env");
  EXPECT_THAT(environment, HasSubstr("DOPPLER_SERVER_KEY=the-key"));
  EXPECT_THAT(environment, HasSubstr("OMP_NUM_THREADS=1"));
  EXPECT_THAT(environment, ::testing::Not(HasSubstr("OMPI_")));
  EXPECT_THAT(environment, ::testing::Not(HasSubstr("PMIX_")));
  std::istringstream lines(content("fds"));
  std::set<int> descriptors;
  for (int descriptor = 0; lines >> descriptor;) descriptors.insert(descriptor);
  // 0, 1, 2, the weights, and the folder that ls itself reads.
  EXPECT_TRUE(descriptors.contains(kWeightsDescriptor));
  EXPECT_LE(descriptors.size(), 5U);
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
