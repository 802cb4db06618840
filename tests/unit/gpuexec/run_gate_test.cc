#include "gpuexec/run_gate.h"

#include <atomic>
#include <exception>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpuexec/backend.h"
#include "gpuexec/run_core.h"
#include "tests/support/physical_graphs.h"

namespace doppler {
namespace {

class RunGateTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kThreads = 3;
  static constexpr std::int64_t kMinute = 60'000'000'000;  // nanoseconds

  // Threads that do `work` in each run.
  template <typename Work>
  void start(const Work& work) {
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this, work, i] {
        std::uint64_t last_run = 0;
        while (RunCore* core = gate_.enter(last_run)) {
          EXPECT_EQ(core, &core_);
          gate_.leave(work(i));
        }
      });
    }
  }
  ~RunGateTest() override {
    gate_.close();
    for (std::thread& thread : threads_) thread.join();
  }

  RunGate gate_;
  Graph graph_ = test::make_unit_graph({{.seconds = 1}}, {});
  Topology topology_ = Topology(test::unit_mesh(1));
  CostTable costs_ = CostTable::physical(graph_, topology_);
  RunCore core_{costs_, topology_, {}};
  std::vector<std::thread> threads_;
};

TEST_F(RunGateTest, EveryThreadIsInEachRunOnce) {
  std::atomic<std::size_t> entered{0};
  start([&](std::size_t) {
    ++entered;
    return std::exception_ptr();
  });
  for (std::size_t run = 1; run <= 200; ++run) {
    gate_.open(core_, kThreads);
    gate_.wait_until_left();
    EXPECT_EQ(entered, run * kThreads);
  }
}

TEST_F(RunGateTest, AFailureReachesTheDriverOfItsRunAlone) {
  std::atomic<bool> fails{true};
  start([&](std::size_t thread) {
    return fails && thread == 1 ? std::make_exception_ptr(std::runtime_error("broken"))
                                : std::exception_ptr();
  });
  gate_.open(core_, kThreads);
  EXPECT_THROW(gate_.wait_until_left(), std::runtime_error);
  fails = false;
  gate_.open(core_, kThreads);
  EXPECT_NO_THROW(gate_.wait_until_left());
}

TEST_F(RunGateTest, TellsWhetherAllHaveLeft) {
  std::latch release(1);
  start([&](std::size_t thread) {
    if (thread == 2) release.wait();
    return std::exception_ptr();
  });
  gate_.open(core_, kThreads);
  EXPECT_FALSE(gate_.left_by(now_nanoseconds() + 1000));
  release.count_down();
  EXPECT_TRUE(gate_.left_by(now_nanoseconds() + kMinute));
  gate_.wait_until_left();
}

// As for a backend whose driver does all the work itself.
TEST_F(RunGateTest, OpensForNobody) {
  gate_.open(core_, 0);
  EXPECT_TRUE(gate_.left_by(now_nanoseconds()));
  gate_.wait_until_left();
}

}  // namespace
}  // namespace doppler
