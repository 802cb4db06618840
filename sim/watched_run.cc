#include "sim/watched_run.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace doppler {
namespace {

constexpr std::chrono::milliseconds kInterval(50);

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr failure;
};

void run_to_end(const std::function<void()>& work, State& state) {
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(state.mutex);
  state.failure = failure;
  state.done = true;
  state.changed.notify_all();
}

}  // namespace

bool run_watched(std::function<void()> work, const std::function<bool()>& go_on) {
  const auto state = std::make_shared<State>();  // outlives whoever of the two ends first
  std::thread thread([state, work = std::move(work)] { run_to_end(work, *state); });
  while (true) {
    {
      std::unique_lock lock(state->mutex);
      if (state->changed.wait_for(lock, kInterval, [&] { return state->done; })) break;
    }
    if (!go_on()) {
      thread.detach();
      return false;
    }
  }
  thread.join();
  if (state->failure) std::rethrow_exception(state->failure);
  return true;
}

}  // namespace doppler
