// The same graphs as EmulatedOverhead of executor_benchmark in StarPU, for comparison: empty tasks
// with explicit dependencies on one CPU worker, from the submission of all tasks until the last has
// ended. Tasks are created beforehand. StarPU has no transfers here, and it submits tasks while it
// runs, which the executor does not.
#include <vector>

#include <benchmark/benchmark.h>
#include <starpu.h>

#include "common/workloads.h"
#include "gpuexec/backend.h"

namespace doppler {
namespace {

void do_nothing(void** /*buffers*/, void* /*argument*/) {}

void StarpuOverhead(benchmark::State& state) {
  WorkloadOptions options;
  options.sizes = {{"operations", state.range(0)}};
  const Graph graph = generate_workload("random-layered", options);
  starpu_codelet codelet = {};
  codelet.cpu_funcs[0] = do_nothing;
  codelet.nbuffers = 0;
  double seconds = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<starpu_task*> tasks;
    for (std::size_t o = 0; o < graph.operation_count(); ++o) {
      starpu_task* task = starpu_task_create();
      task->cl = &codelet;
      tasks.push_back(task);
    }
    for (std::size_t o = 0; o < graph.operation_count(); ++o) {
      std::vector<starpu_task*> before;
      for (OperationId p : graph.predecessors(OperationId(static_cast<std::int32_t>(o)))) {
        before.push_back(tasks[p.index()]);
      }
      if (before.empty()) continue;
      starpu_task_declare_deps_array(tasks[o], static_cast<unsigned>(before.size()), before.data());
    }
    state.ResumeTiming();
    const std::int64_t began = now_nanoseconds();
    for (starpu_task* task : tasks) {
      if (starpu_task_submit(task) != 0) state.SkipWithError("starpu_task_submit failed");
    }
    starpu_task_wait_for_all();
    seconds += static_cast<double>(now_nanoseconds() - began) * 1e-9;
  }
  state.counters["ns_per_operation"] =
      1e9 * seconds /
      (static_cast<double>(state.iterations()) * static_cast<double>(graph.operation_count()));
}
BENCHMARK(StarpuOverhead)->ArgName("operations")->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = 1;
  conf.ncuda = 0;
  conf.nopencl = 0;
  if (starpu_init(&conf) != 0) return 3;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  starpu_shutdown();
  return 0;
}
