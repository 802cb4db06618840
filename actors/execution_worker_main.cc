// doppler-execution-worker: a worker process of a run with a real stage; it simulates in the
// others. Started by a supervisor, not by hand.
#include "actors/worker_program.h"
#include "common/cli.h"
#include "gpuexec/backend_factory.h"
#include "gpuexec/measured_executor.h"
#include "gpuexec/poisoned_exit.h"

namespace doppler {
namespace {

std::unique_ptr<Executor> make_measured(const ExecutionConfig& config, const CostTable& costs,
                                        const Topology& topology, const PhysicalOptions& physical) {
  MeasurementOptions options;
  options.warmup = static_cast<int>(config.warmup);
  options.repeats = static_cast<int>(config.repeats);
  options.paired = config.paired;
  options.timeout_seconds = config.timeout_seconds;
  return std::make_unique<MeasuredExecutor>(
      costs, topology, physical, make_backend(config.backend, costs, topology, physical.contention),
      options);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, [](int count, char** values) {
    return doppler::with_poisoned_exit_code(
        [&] { return doppler::run_worker_program(count, values, doppler::make_measured); });
  });
}
