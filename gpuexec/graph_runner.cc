#include "gpuexec/graph_runner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/check.h"
#include "common/error.h"

namespace doppler {

GraphRunner::GraphRunner(const CostTable& costs, const Topology& topology,
                         const PhysicalOptions& options, std::unique_ptr<Backend> backend)
    : costs_(&costs),
      topology_(&topology),
      backend_(std::move(backend)),
      works_(operation_works(costs.graph())),
      core_(costs, topology, options) {
  if (backend_->device_count() != topology.device_count()) {
    throw ConfigError("topology " + topology.name() + ": has " +
                      std::to_string(topology.device_count()) + " devices, but backend " +
                      backend_->name() + " " + std::to_string(backend_->device_count()));
  }
}

WorkCounts GraphRunner::work_counts() const {
  WorkCounts counts;
  const Graph& graph = costs_->graph();
  for (std::size_t o = 0; o < works_.size(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    if (graph.in_degree(id) == 0 && graph.operation(id).kind == "input") {
      ++counts.given;
    } else if (works_[o].kind == WorkKind::kSynthetic) {
      ++counts.synthetic;
    } else if (works_[o].kind == WorkKind::kProduct) {
      ++counts.products;
    } else {
      ++counts.others;
    }
  }
  return counts;
}

std::vector<MemoryShortage> GraphRunner::load(const Assignment& assignment) {
  for (std::size_t o = 0; o < assignment.size(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    DP_CHECK(costs_->allowed(id, assignment[id]));
  }
  auto plan = std::make_unique<RunPlan>(costs_->graph(), assignment, costs_->device_count());
  std::vector<MemoryShortage> shortages = backend_->load(*plan, works_);
  plan_ = std::move(plan);  // the backend holds it now, not the one before
  if (!shortages.empty()) plan_.reset();
  return shortages;
}

std::optional<SimTime> GraphRunner::run(std::span<const OperationId> order,
                                        double timeout_seconds) {
  DP_CHECK(plan_ != nullptr);
  constexpr double kMostSeconds = 1e8;
  core_.prepare(*plan_, order, *backend_);
  const std::int64_t deadline =
      now_nanoseconds() + static_cast<std::int64_t>(std::min(timeout_seconds, kMostSeconds) * 1e9);
  backend_->drive(core_, deadline);
  if (!core_.complete()) return std::nullopt;
  return core_.makespan();
}

std::vector<std::vector<std::uint8_t>> GraphRunner::results() {
  DP_CHECK(plan_ != nullptr);
  std::vector<std::vector<std::uint8_t>> results;
  const Graph& graph = costs_->graph();
  for (std::int32_t o = 0; o < plan_->operation_count(); ++o) {
    const OperationId id(o);
    if (graph.out_degree(id) > 0) continue;
    results.push_back(backend_->read_result(o, float_count(graph.operation(id).output_bytes) *
                                                   static_cast<std::int64_t>(sizeof(float))));
  }
  return results;
}

}  // namespace doppler
