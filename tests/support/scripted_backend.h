// A backend whose runs take what a list says.
#ifndef DOPPLER_TESTS_SUPPORT_SCRIPTED_BACKEND_H_
#define DOPPLER_TESTS_SUPPORT_SCRIPTED_BACKEND_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpuexec/backend.h"
#include "gpuexec/run_core.h"

namespace doppler::test {

// Runs at once; the k-th run ever takes `seconds[k]`, the last of them for good.
class ScriptedBackend : public Backend {
 public:
  ScriptedBackend(int devices, std::vector<double> seconds)
      : devices_(devices), seconds_(std::move(seconds)), arena_(2, 0) {}

  std::string name() const override { return "scripted"; }
  int device_count() const override { return devices_; }
  std::vector<MemoryShortage> load(const RunPlan& plan,
                                   const std::vector<OperationWork>& /*works*/) override {
    plan_ = &plan;
    return {};
  }
  void start_operation(std::int32_t operation, std::int64_t now) override {
    started_.emplace_back(operation, now);
  }
  void start_transfer(std::int32_t /*transfer*/, std::int64_t /*now*/) override { FAIL(); }
  // What takes longer than there is time is cut off at once.
  void drive(RunCore& core, std::int64_t deadline) override {
    const std::lock_guard lock(core.mutex());
    const double seconds = seconds_[std::min(runs_++, seconds_.size() - 1)];
    core.begin(0);
    if (seconds > 1e-9 * static_cast<double>(deadline - now_nanoseconds())) {
      core.stop();
      started_.clear();
      return;
    }
    while (!started_.empty()) {
      const auto [operation, now] = started_.back();
      started_.pop_back();
      const std::int64_t end = now + static_cast<std::int64_t>(seconds * 1e9);
      core.operation_ended(operation, now, end, end);
    }
  }
  std::vector<std::uint8_t> read_result(std::int32_t /*operation*/,
                                        std::int64_t /*bytes*/) override {
    return {};
  }
  const IdVector<DeviceId, std::int64_t>& arena_bytes() const override { return arena_; }
  std::int64_t memory_bytes(DeviceId /*device*/) const override { return 0; }

 private:
  int devices_;
  std::vector<double> seconds_;
  std::size_t runs_ = 0;
  const RunPlan* plan_ = nullptr;
  std::vector<std::pair<std::int32_t, std::int64_t>> started_;
  IdVector<DeviceId, std::int64_t> arena_;
};

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_SCRIPTED_BACKEND_H_
