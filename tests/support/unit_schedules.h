// Schedules that can be computed by hand. Unless a case says otherwise, a device computes 1 FLOP a
// second, a link carries 1 byte a second without latency, and "3 s, 4 B" is an operation of 3
// seconds whose output has 4 bytes. d0 is device 0, o0 is operation 0; a transfer "2-5" starts at 2
// s and ends at 5 s.
#ifndef DOPPLER_TESTS_SUPPORT_UNIT_SCHEDULES_H_
#define DOPPLER_TESTS_SUPPORT_UNIT_SCHEDULES_H_

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/physical_simulator.h"
#include "tests/support/physical_graphs.h"
#include "tests/support/tiny_graphs.h"

namespace doppler::test {

inline PhysicalOptions mode(Contention contention, Dispatch dispatch = Dispatch::kFifo) {
  PhysicalOptions options;
  options.contention = contention;
  options.dispatch = dispatch;
  return options;
}
inline const PhysicalOptions kNone = mode(Contention::kNone);
inline const PhysicalOptions kSerial = mode(Contention::kSerial);
inline const PhysicalOptions kFair = mode(Contention::kFair);

inline Execution execute(const Graph& graph, const TopologyParts& parts,
                         const PhysicalOptions& options, const std::vector<int>& devices,
                         const std::vector<OperationId>& order = {}) {
  const Topology topology(parts);
  const CostTable costs = CostTable::physical(graph, topology);
  PhysicalSimulator simulator(costs, topology, options);
  Execution execution = simulator.run_recorded(make_assignment(devices), order);
  EXPECT_EQ(simulator.run(make_assignment(devices), order), execution.makespan);
  return execution;
}

inline double seconds(SimTime time) {
  return static_cast<double>(time.ticks()) / kSecond;
}
inline double makespan(const Execution& execution) {
  return seconds(execution.makespan);
}
inline double start(const Execution& execution, int operation) {
  return seconds(execution.start[OperationId(operation)]);
}
// Start and end of every transfer, in the order of their requests.
inline std::vector<std::pair<double, double>> transfers(const Execution& execution) {
  std::vector<std::pair<double, double>> times;
  for (const TransferRecord& transfer : execution.transfers) {
    times.emplace_back(seconds(transfer.start), seconds(transfer.end));
  }
  return times;
}
using Times = std::vector<std::pair<double, double>>;

// o0 (1 s, 4 B) and o1 (1 s, 4 B) on d0 feed o2 and o3 (1 s) on d1, over one link.
inline Graph two_over_one_link() {
  return make_unit_graph({{1, 4}, {1, 4}, {1}, {1}}, {{0, 2}, {1, 3}});
}
inline const std::vector<int> kTwoOverOneLink = {0, 0, 1, 1};

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_UNIT_SCHEDULES_H_
