// MeasuredExecutor: an Executor whose costs are measured, for those that play episodes: the seam
// between the policies and the real machine.
//
// What fails gets a cost, not a crash, and is infeasible (never kept as best): an assignment that
// does not fit into memory costs its simulated makespan x (1 + 10 x largest overflow / capacity),
// as in simulation; one that runs into the time-out costs twice the time-out. A machine that fails
// throws: SystemError, or PoisonedError where the process must be replaced.
#ifndef DOPPLER_GPUEXEC_MEASURED_EXECUTOR_H_
#define DOPPLER_GPUEXEC_MEASURED_EXECUTOR_H_

#include <memory>
#include <optional>
#include <span>

#include "common/executor.h"
#include "common/physical_options.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/measurement.h"
#include "sim/physical_simulator.h"

namespace doppler {

class MeasuredExecutor : public Executor {
 public:
  // Cost table (its graph) and topology must outlive it. Threads of the backend, but not this
  // object, may be many: one executor a machine.
  MeasuredExecutor(const CostTable& costs, const Topology& topology,
                   const PhysicalOptions& physical, std::unique_ptr<Backend> backend,
                   const MeasurementOptions& measurement);

  SimTime run(const Assignment& assignment, std::span<const OperationId> order) override;
  // The record is that of the run nearest the median, with the median as its makespan; of what
  // failed, that of the simulation.
  Execution run_recorded(const Assignment& assignment, std::span<const OperationId> order) override;
  bool feasible() const override { return last_.status == MeasurementStatus::kDone; }

  std::optional<MeasuredTime> measured() const override;

  // Of the last run: samples, interval, disturbance, why it failed.
  const Measurement& last_measurement() const { return last_; }

 private:
  SimTime cost(const Assignment& assignment, std::span<const OperationId> order);

  GraphRunner runner_;
  Measurer measurer_;
  PhysicalSimulator simulator_;
  Measurement last_;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_MEASURED_EXECUTOR_H_
