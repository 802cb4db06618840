#include "gpuexec/timed_runs.h"

#include <chrono>
#include <thread>

namespace doppler {

std::optional<std::vector<double>> time_runs(GraphRunner& runner,
                                             std::span<const OperationId> order,
                                             const TimedRuns& runs,
                                             const std::function<void()>& after_each) {
  std::vector<double> seconds;
  for (int run = 0; run < runs.warmup + runs.repeats; ++run) {
    std::this_thread::sleep_for(std::chrono::duration<double>(runs.pause_seconds));
    const std::optional<SimTime> makespan = runner.run(order, runs.timeout_seconds);
    if (!makespan) return std::nullopt;
    if (run < runs.warmup) continue;
    seconds.push_back(makespan->seconds());
    if (after_each) after_each();
  }
  return seconds;
}

}  // namespace doppler
