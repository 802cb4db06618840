// Plan: a placement together with an order in which an episode can make it.
#ifndef DOPPLER_COMMON_PLAN_H_
#define DOPPLER_COMMON_PLAN_H_

#include <string>
#include <vector>

#include "common/assignment.h"
#include "common/graph.h"
#include "common/ids.h"

namespace doppler {

struct Plan {
  std::vector<OperationId> order;  // [operations], each after its predecessors
  Assignment assignment;           // [operations]
  bool operator==(const Plan&) const = default;
};

// One that somebody made and that is known by a name: "heft", "policy greedy".
struct NamedPlan {
  std::string name;
  Plan plan;
  bool operator==(const NamedPlan&) const = default;
};

// Whether an episode over `graph` on that many devices can follow the plan.
bool is_plan_of(const Plan& plan, const Graph& graph, int device_count);

}  // namespace doppler

#endif  // DOPPLER_COMMON_PLAN_H_
