// What the executor itself costs, and how well it keeps devices at work.
//
// EmulatedOverhead: operations and transfers that take no time, on emulated devices with one pacer,
// which is the calling thread: one core does everything. The counter is time per operation, its
// transfers included. The bar is 2 microseconds.
// WorkConservation: devices and links that take their time; idle time with ready work, 50th and
// 99th percentile over all operations of ten runs. The bar is 200 microseconds for the 99th.
// Lateness is how much longer operations took than they should have. Run it alone: on a busy
// machine it measures the others.
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/cost_table.h"
#include "common/random.h"
#include "common/workloads.h"
#include "gpuexec/emulated_backend.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/work_conservation.h"
#include "sim/physical_simulator.h"
#include "tests/support/execution_cases.h"
#include "tests/support/random_graph.h"

namespace doppler {
namespace {

constexpr double kTimeout = 60;

Graph layered(int operations) {
  WorkloadOptions options;
  options.sizes = {{"operations", operations}};
  return generate_workload("random-layered", options);
}

void EmulatedOverhead(benchmark::State& state) {
  const Graph graph = layered(static_cast<int>(state.range(0)));
  const auto devices = static_cast<int>(state.range(1));
  const Topology topology = test::small_machine(devices, 1);
  const CostTable costs = CostTable::physical(graph, topology);
  RandomStream random(1);
  GraphRunner runner(
      costs, topology, {},
      std::make_unique<EmulatedBackend>(costs, topology, Contention::kSerial,
                                        EmulatedOptions{.pacers = 1, .free_of_time = true}));
  runner.load(test::random_assignment(graph.operation_count(), devices, random));
  std::size_t transfers = 0;
  double seconds = 0;
  for (auto _ : state) {
    const auto makespan = runner.run({}, kTimeout);
    if (!makespan) state.SkipWithError("the run did not end");
    seconds += makespan->seconds();
    state.PauseTiming();
    transfers = runner.take_record().transfers.size();
    state.ResumeTiming();
  }
  const auto operations = static_cast<double>(graph.operation_count());
  state.counters["ns_per_operation"] =
      1e9 * seconds / (static_cast<double>(state.iterations()) * operations);
  state.counters["transfers_per_operation"] = static_cast<double>(transfers) / operations;
}
BENCHMARK(EmulatedOverhead)
    ->ArgNames({"operations", "devices"})
    ->Args({1000, 1})
    ->Args({1000, 4})
    ->Args({10000, 4})
    ->Args({10000, 8});

// Operations of about 50 microseconds.
void WorkConservation(benchmark::State& state) {
  const Graph graph = layered(1000);
  const auto devices = static_cast<int>(state.range(0));
  double flops = 0;
  for (const Operation& operation : graph.operations()) flops += operation.flops;
  const double mean = flops / static_cast<double>(graph.operation_count());
  const Topology topology = test::small_machine(devices, 50 * 1e6 / mean, true);
  const CostTable costs = CostTable::physical(graph, topology);
  RandomStream random(1);
  GraphRunner runner(
      costs, topology, {},
      std::make_unique<EmulatedBackend>(costs, topology, Contention::kSerial, EmulatedOptions()));
  const Assignment assignment = test::random_assignment(graph.operation_count(), devices, random);
  PhysicalSimulator simulator(costs, topology, {});
  const double simulated = simulator.run(assignment, {}).seconds();
  runner.load(assignment);
  std::vector<SimTime> idle;
  std::vector<SimTime> late;
  double seconds = 0;
  for (auto _ : state) {
    const auto makespan = runner.run({}, kTimeout);
    if (!makespan) state.SkipWithError("the run did not end");
    seconds += makespan->seconds();
    const Execution record = runner.take_record();
    for (SimTime time : idle_with_ready_work(graph, assignment, record)) idle.push_back(time);
    for (std::size_t o = 0; o < graph.operation_count(); ++o) {
      const OperationId id(static_cast<std::int32_t>(o));
      late.push_back(record.end[id] - record.start[id] - costs.compute(id, assignment[id]));
    }
  }
  state.counters["idle_p50_us"] = 1e6 * quantile(idle, 0.5).seconds();
  state.counters["idle_p99_us"] = 1e6 * quantile(idle, 0.99).seconds();
  state.counters["late_p50_us"] = 1e6 * quantile(late, 0.5).seconds();
  state.counters["late_p99_us"] = 1e6 * quantile(late, 0.99).seconds();
  state.counters["measured_over_simulated"] =
      seconds / static_cast<double>(state.iterations()) / simulated;
}
BENCHMARK(WorkConservation)->ArgName("devices")->Arg(2)->Arg(4)->Arg(8)->Iterations(10);

}  // namespace
}  // namespace doppler

BENCHMARK_MAIN();
