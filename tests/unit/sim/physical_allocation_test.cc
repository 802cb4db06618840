// An evaluation allocates nothing, whatever the mode. Counts every call of operator new in this
// program.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "sim/physical_simulator.h"
#include "tests/support/physical_graphs.h"
#include "tests/support/random_graph.h"

namespace {
std::atomic<long> allocation_count{0};
}  // namespace

// Not inlined: GCC would see free() called on memory of an operator new that it still calls.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocation_count;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace doppler {
namespace {

TEST(PhysicalSimulator, AnEvaluationAllocatesNothing) {
  RandomStream random(1);
  const Topology topology(test::h100_node());
  const Graph graph = test::physical_version(test::random_graph(
      {.operation_count = 300, .least_cost = 1'000'000, .largest_cost = 100'000'000}, random));
  const CostTable costs = CostTable::physical(graph, topology);
  const Assignment first = test::random_assignment(graph.operation_count(), 8, random);
  const Assignment second = test::random_assignment(graph.operation_count(), 8, random);
  const std::vector<OperationId>& order = graph.topological_order();
  for (Contention contention : {Contention::kNone, Contention::kSerial, Contention::kFair}) {
    for (Dispatch dispatch : {Dispatch::kFifo, Dispatch::kPriority, Dispatch::kRandom}) {
      for (bool detailed : {false, true}) {
        PhysicalOptions options;
        options.contention = contention;
        options.dispatch = dispatch;
        if (detailed) {
          options.memory = MemoryRule::kEnforce;
          options.noise.operation_cv = options.noise.transfer_cv = 0.1;
        }
        PhysicalSimulator simulator(costs, topology, options);
        const long before = allocation_count;
        simulator.run(first, order);
        simulator.run(second, {});
        EXPECT_EQ(allocation_count, before);
      }
    }
  }
}

}  // namespace
}  // namespace doppler
