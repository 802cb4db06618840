// GraphRunner: one graph on one backend; loads assignments and runs them.
#ifndef DOPPLER_GPUEXEC_GRAPH_RUNNER_H_
#define DOPPLER_GPUEXEC_GRAPH_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/executor.h"
#include "common/physical_options.h"
#include "common/topology.h"
#include "gpuexec/backend.h"
#include "gpuexec/operation_work.h"
#include "gpuexec/run_core.h"
#include "gpuexec/run_plan.h"

namespace doppler {

// How many operations run as what.
struct WorkCounts {
  std::int64_t given = 0;      // inputs that are there from the start
  std::int64_t synthetic = 0;  // of no known kind, or of no shape that fits it
  std::int64_t products = 0;
  std::int64_t others = 0;
};

class GraphRunner {
 public:
  // Cost table (its graph) and topology must outlive it. Throws ConfigError where the backend has
  // another number of devices.
  GraphRunner(const CostTable& costs, const Topology& topology, const PhysicalOptions& options,
              std::unique_ptr<Backend> backend);

  const CostTable& costs() const { return *costs_; }
  const Topology& topology() const { return *topology_; }
  Backend& backend() { return *backend_; }
  WorkCounts work_counts() const;

  // Makes `assignment` ([operations], every device allowed) the one that runs. Returns what does
  // not fit into memory; then nothing is loaded.
  std::vector<MemoryShortage> load(const Assignment& assignment);

  // Runs what is loaded; nothing if it did not end within `timeout_seconds`. `order` as in
  // Executor::run().
  std::optional<SimTime> run(std::span<const OperationId> order, double timeout_seconds);
  // Of the last run, which ended in time; once a run.
  Execution take_record() { return core_.take_record(); }

  // The output of each operation that nobody reads, in operation order, after a run.
  std::vector<std::vector<std::uint8_t>> results();

 private:
  const CostTable* costs_;
  const Topology* topology_;
  std::unique_ptr<Backend> backend_;
  std::vector<OperationWork> works_;  // [operations]
  std::unique_ptr<RunPlan> plan_;     // what is loaded
  RunCore core_;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_GRAPH_RUNNER_H_
