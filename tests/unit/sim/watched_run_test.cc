#include "sim/watched_run.h"

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace doppler {
namespace {

TEST(WatchedRun, DoesTheWorkElsewhere) {
  std::thread::id worker;
  EXPECT_TRUE(run_watched([&] { worker = std::this_thread::get_id(); }, [] { return true; }));
  EXPECT_NE(worker, std::thread::id());
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(WatchedRun, RethrowsWhatTheWorkThrows) {
  EXPECT_THROW(run_watched([] { throw std::out_of_range("work"); }, [] { return true; }),
               std::out_of_range);
}

TEST(WatchedRun, LeavesBehindWhatDoesNotEnd) {
  struct Shared {
    std::promise<void> go;
    std::promise<void> ended;
  };
  const auto shared = std::make_shared<Shared>();
  int asked = 0;
  EXPECT_FALSE(run_watched(
      [shared] {
        shared->go.get_future().wait();
        shared->ended.set_value();
      },
      [&] { return ++asked < 3; }));
  EXPECT_EQ(asked, 3);
  shared->go.set_value();  // nobody waits for it, but it runs on
  shared->ended.get_future().wait();
}

}  // namespace
}  // namespace doppler
