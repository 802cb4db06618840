#include "common/plan.h"

namespace doppler {

bool is_plan_of(const Plan& plan, const Graph& graph, int device_count) {
  const std::size_t n = graph.operation_count();
  if (plan.order.size() != n || plan.assignment.size() != n) return false;
  std::vector<bool> placed(n, false);
  for (OperationId operation : plan.order) {
    if (operation.value() < 0 || operation.index() >= n || placed[operation.index()]) return false;
    for (OperationId predecessor : graph.predecessors(operation)) {
      if (!placed[predecessor.index()]) return false;
    }
    placed[operation.index()] = true;
    const DeviceId device = plan.assignment[operation];
    if (device.value() < 0 || device.value() >= device_count) return false;
  }
  return true;
}

}  // namespace doppler
