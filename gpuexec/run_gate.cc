#include "gpuexec/run_gate.h"

#include <chrono>
#include <utility>

namespace doppler {

RunCore* RunGate::enter(std::uint64_t& last_run) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || run_number_ != last_run; });
  if (closed_) return nullptr;
  last_run = run_number_;
  if (--outside_ == 0) changed_.notify_all();
  return core_;
}

void RunGate::leave(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (failure_ == nullptr) failure_ = std::move(failure);
  if (--working_ == 0) changed_.notify_all();
}

void RunGate::open(RunCore& core, std::size_t threads) {
  std::unique_lock lock(mutex_);
  core_ = &core;
  failure_ = nullptr;
  outside_ = threads;
  working_ = threads;
  ++run_number_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return outside_ == 0; });
}

bool RunGate::left_by(std::int64_t deadline) {
  const auto until = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline));
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, until, [this] { return working_ == 0; });
}

void RunGate::wait_until_left() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return working_ == 0; });
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void RunGate::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace doppler
