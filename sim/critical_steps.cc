#include "sim/critical_steps.h"

#include <algorithm>

#include "common/check.h"

namespace doppler {

std::vector<ScheduleStep> critical_steps(const Execution& execution) {
  DP_CHECK_EQ(execution.wait.size(), execution.end.size());
  std::vector<ScheduleStep> steps;
  if (execution.end.empty()) return steps;
  const auto last = std::max_element(execution.end.begin(), execution.end.end());
  bool is_transfer = false;
  auto index = static_cast<std::int32_t>(last - execution.end.begin());
  while (true) {
    ScheduleStep step = {
        .is_transfer = is_transfer, .index = index, .start = {}, .end = {}, .wait = {}};
    if (is_transfer) {
      const TransferRecord& transfer = execution.transfers[static_cast<std::size_t>(index)];
      step.start = transfer.start;
      step.end = transfer.end;
      step.wait = transfer.wait;
    } else {
      step.start = execution.start[OperationId(index)];
      step.end = execution.end[OperationId(index)];
      step.wait = execution.wait[OperationId(index)];
    }
    steps.push_back(step);
    if (step.wait.kind == Wait::Kind::kNothing) break;
    is_transfer = step.wait.kind != Wait::Kind::kOperation && step.wait.kind != Wait::Kind::kDevice;
    index = step.wait.index;
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace doppler
