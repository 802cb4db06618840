#include "common/topology_file.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"

namespace doppler {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSmall = R"(name: small
devices:
  - name: gpu
    count: 2
    kind: h100
    memory_bytes: 80e9
    flops_per_second: 67e12
    flops_per_second_by_kind: {matmul: 989e12}
    copy_engines_out: 1
  - {name: host, kind: cpu, flops_per_second: 1e12, forwards: false}
switches:
  - {name: pcie}
shared_groups:
  - {name: bridge, capacity_bytes_per_second: 10e9}
links:
  - {between: [gpu, pcie], bandwidth_bytes_per_second: 12e9, latency_seconds: 1e-6}
  - {from: pcie, to: host, bandwidth_bytes_per_second: 12e9, shared_groups: [bridge]}
  - {from: host, to: pcie, bandwidth_bytes_per_second: 12e9}
)";

TEST(TopologyFile, ReadsEveryKey) {
  const Topology topology = parse_topology(kSmall, "small.yaml");
  EXPECT_EQ(topology.name(), "small");
  ASSERT_EQ(topology.device_count(), 3);
  const Device& gpu = topology.device(DeviceId(1));
  EXPECT_EQ(gpu.name, "gpu1");
  EXPECT_EQ(gpu.memory_bytes, 80'000'000'000);
  EXPECT_EQ(gpu.rate("matmul"), 989e12);
  EXPECT_EQ(gpu.rate("add"), 67e12);
  EXPECT_EQ(gpu.copy_engines_out, 1);
  EXPECT_EQ(gpu.copy_engines_in, std::nullopt);
  EXPECT_TRUE(gpu.forwards);
  EXPECT_FALSE(topology.device(DeviceId(2)).forwards);
  // gpu0->pcie, pcie->gpu0, gpu1->pcie, pcie->gpu1, pcie->host, host->pcie.
  ASSERT_EQ(topology.links().size(), 6U);
  EXPECT_EQ(topology.link_name(LinkId(2)), "gpu1->pcie");
  const Route& route = topology.route(DeviceId(0), DeviceId(2));
  EXPECT_EQ(route.bandwidth_bytes_per_second, 10e9);  // the bridge
  EXPECT_EQ(route.latency, SimTime(1'000'000));
}

TEST(TopologyFile, AnEntryWithACountStandsForAllPairs) {
  const std::string head =
      "name: t\ndevices:\n  - {name: g, count: 3, kind: k, flops_per_second: 1}\nlinks:\n";
  const Topology both =
      parse_topology(head + "  - {between: [g, g], bandwidth_bytes_per_second: 1}\n", "t");
  EXPECT_EQ(both.links().size(), 6U);
  EXPECT_EQ(both.link_name(LinkId(0)), "g0->g1");
  EXPECT_EQ(both.link_name(LinkId(1)), "g1->g0");
  const Topology one_way =
      parse_topology(head + "  - {from: g, to: g, bandwidth_bytes_per_second: 1}\n", "t");
  EXPECT_EQ(one_way.links().size(), 6U);
}

TEST(TopologyFile, WritesWhatItReadsBackExactly) {
  const Topology topology = parse_topology(kSmall, "small.yaml");
  const Topology again = parse_topology(format_topology(topology), "again.yaml");
  EXPECT_EQ(again.parts(), topology.parts());
  EXPECT_EQ(again.content_hash(), topology.content_hash());
  TopologyParts parts = topology.parts();
  parts.name = "a \"b\" \\ c\n# d: [";
  parts.devices[0].name = "- x";
  const Topology odd(parts);
  EXPECT_EQ(parse_topology(format_topology(odd), "odd.yaml").parts(), parts);
}

std::string message(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return test::message_of<ConfigError>([&] { parse_topology(text, "t.yaml"); });
}

TEST(TopologyFile, SaysWhereAndWhatIsWrong) {
  EXPECT_THAT(message("memory_bytes: 80e9", "memory_byte: 80e9"),
              AllOf(HasSubstr("t.yaml:6:18: devices[0].memory_byte: is no key"),
                    HasSubstr("did you mean 'memory_bytes'?")));
  EXPECT_THAT(message("    kind: h100", "    kind: h100\n    kind: a100"),
              HasSubstr("t.yaml:6:5: devices[0].kind: is given twice, first on line 5"));
  EXPECT_THAT(message("kind: h100", "kind:"), HasSubstr("devices[0].kind: has no value"));
  EXPECT_THAT(message("80e9", "80GB"),
              HasSubstr("t.yaml:6:19: devices[0].memory_bytes: must be a number without a unit"));
  EXPECT_THAT(message("80e9", "0.5"), HasSubstr("must be a whole number"));
  EXPECT_THAT(message("80e9", "-1"), HasSubstr("must be in 1.."));
  EXPECT_THAT(message("67e12", "nan"), HasSubstr("must be a number"));
  EXPECT_THAT(message("67e12", "0"), HasSubstr("must be positive"));
  EXPECT_THAT(message("67e12", "\"67e12\""), HasSubstr("must be a number"));
  EXPECT_THAT(message("count: 2", "count: 0"), HasSubstr("must be in 1..4096"));
  EXPECT_THAT(message("forwards: false", "forwards: no"), HasSubstr("must be true or false"));
  EXPECT_THAT(message("[bridge]", "[bridg]"),
              HasSubstr("'bridg' is no shared group; did you mean 'bridge'?"));
  EXPECT_THAT(message("to: host", "to: hst"),
              HasSubstr("links[1].to: 'hst' is no device or switch; did you mean 'host'?"));
  EXPECT_THAT(message("name: pcie", "name: gpu1"), HasSubstr("the name 'gpu1' is used twice"));
  EXPECT_THAT(message("between: [gpu, pcie]", "between: [gpu, pcie], from: gpu"),
              HasSubstr("links[0]: give either 'between: [A, B]'"));
  EXPECT_THAT(message("[gpu, pcie]", "[gpu]"), HasSubstr("must be a list of two names"));
  EXPECT_THAT(message("[gpu, pcie]", "[host, host]"), HasSubstr("from a node to itself"));
  EXPECT_THAT(message("    flops_per_second: 67e12\n", ""),
              HasSubstr("t.yaml:3:5: devices[0]: the key 'flops_per_second' is missing"));
  EXPECT_THAT(message("  - {from: host, to: pcie, bandwidth_bytes_per_second: 12e9}\n", ""),
              HasSubstr("t.yaml: topology small: no path leads from device host to device gpu0"));
  EXPECT_THAT(message("name: small", "name: [small"), HasSubstr("this is no YAML"));
}

TEST(TopologyFile, EveryShippedFileLoads) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(DP_SOURCE_DIR) + "/configs/topologies")) {
    const Topology topology = load_topology(entry.path().string());
    EXPECT_EQ(topology.name(), entry.path().stem().string());
    const Topology again = parse_topology(format_topology(topology), "again");
    EXPECT_EQ(again.content_hash(), topology.content_hash()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 6);
}

TEST(TopologyFile, TheHybridCubeMeshHasSixBricksAGpu) {
  const Topology topology =
      load_topology(std::string(DP_SOURCE_DIR) + "/configs/topologies/v100x8-dgx1.yaml");
  for (int gpu = 0; gpu < 8; ++gpu) {
    double bandwidth = 0;
    for (const Link& link : topology.links()) {
      if (link.from == NodeId(gpu) && link.to.value() < 8) {
        bandwidth += link.bandwidth_bytes_per_second;
      }
    }
    EXPECT_EQ(bandwidth, 6 * 25e9) << "gpu" << gpu;
  }
  // No brick joins gpu0 and gpu5: over both CPUs.
  EXPECT_EQ(topology.route(DeviceId(0), DeviceId(5)).links.size(), 5U);
  EXPECT_EQ(topology.route(DeviceId(0), DeviceId(5)).bandwidth_bytes_per_second, 6e9);
}

}  // namespace
}  // namespace doppler
