// Fair sharing against SimGrid's solver of the same flows. Built with -DDP_WITH_SIMGRID=ON (Debian:
// libsimgrid-dev).
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simgrid/s4u.hpp>

#include "sim/physical_simulator.h"
#include "tests/support/random_physical.h"
#include "tests/support/schedule_check.h"

namespace doppler {
namespace {

namespace sg4 = simgrid::s4u;

constexpr int kCases = 300;
// SimGrid's tolerances are absolute, made for megabytes.
constexpr double kScale = 1e9;

struct Comparison {
  std::string name;
  double expected_seconds;
  double simgrid_seconds = -1;
};

// One SimGrid run for all: links of different cases have nothing to do with each other.
class FlowsInSimGrid {
 public:
  FlowsInSimGrid() : zone_(sg4::create_full_zone("all")) {}

  void add_case(const Topology& topology, const Execution& execution) {
    const std::string prefix = "c" + std::to_string(case_count_++);
    std::vector<sg4::Link*> links;
    for (long double capacity : test::fair_capacities(topology)) {
      const std::string name = prefix + "l" + std::to_string(links.size());
      links.push_back(
          zone_->create_link(name, static_cast<double>(capacity) * kScale)->set_latency(0)->seal());
    }
    const std::vector<test::Flow> flows = test::fair_flows(topology, execution);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (flows[f].bytes == 0) continue;
      const std::string name = prefix + "f" + std::to_string(f);
      sg4::Host* from = zone_->create_host(name + "from", 1e9)->seal();
      sg4::Host* to = zone_->create_host(name + "to", 1e9)->seal();
      std::vector<sg4::LinkInRoute> route;
      for (std::size_t resource : flows[f].resources) route.emplace_back(links[resource]);
      zone_->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
      senders_.push_back({from, to, static_cast<double>(flows[f].begin),
                          static_cast<double>(flows[f].bytes) * kScale});
      comparisons_.push_back({name, execution.transfers[f].end.seconds()});
    }
  }

  const std::vector<Comparison>& run() {
    zone_->seal();
    for (std::size_t i = 0; i < senders_.size(); ++i) {
      sg4::Actor::create("sender", senders_[i].from, [this, i] {
        sg4::this_actor::sleep_until(senders_[i].begin);
        sg4::Comm::sendto(senders_[i].from, senders_[i].to,
                          static_cast<std::uint64_t>(senders_[i].bytes));
        comparisons_[i].simgrid_seconds = sg4::Engine::get_clock();
      });
    }
    sg4::Engine::get_instance()->run();
    return comparisons_;
  }

 private:
  struct Sender {
    sg4::Host* from;
    sg4::Host* to;
    double begin;
    double bytes;
  };
  sg4::NetZone* zone_;
  std::vector<Sender> senders_;
  std::vector<Comparison> comparisons_;
  int case_count_ = 0;
};

TEST(FairSharing, AgreesWithSimGrid) {
  int argc = 1;
  char name[] = "fair_simgrid_test";
  char* argv[] = {name, nullptr};
  sg4::Engine engine(&argc, argv);
  // Plain max-min: no factors for protocols, no window, no traffic of acknowledgements.
  for (const char* setting :
       {"network/model:CM02", "network/crosstraffic:0", "network/bandwidth-factor:1",
        "network/latency-factor:1", "network/weight-S:0", "network/TCP-gamma:0",
        "network/loopback-lat:0", "surf/precision:1e-13", "maxmin/precision:1e-13"}) {
    sg4::Engine::set_config(setting);
  }
  FlowsInSimGrid flows;
  RandomStream random(29);
  for (int i = 0; i < kCases; ++i) {
    const Topology topology(test::random_topology({.exact = i % 2 == 0}, random));
    const Graph graph = test::random_physical_graph(random, topology.device_count(), false);
    const CostTable costs = CostTable::physical(graph, topology);
    PhysicalOptions options;
    options.contention = Contention::kFair;
    PhysicalSimulator simulator(costs, topology, options);
    flows.add_case(topology, simulator.run_recorded(test::allowed_assignment(costs, random), {}));
  }
  std::size_t compared = 0;
  for (const Comparison& c : flows.run()) {
    EXPECT_NEAR(c.simgrid_seconds, c.expected_seconds, 1e-9 * c.expected_seconds + 2e-11) << c.name;
    ++compared;
  }
  EXPECT_GT(compared, 500U);
}

}  // namespace
}  // namespace doppler
