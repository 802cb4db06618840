#include "common/nccl_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/text_file.h"
#include "common/topology_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/public_data.h"

namespace doppler {
namespace {

using testing::HasSubstr;

// Two GPUs behind a bridge of one CPU, one at the other CPU; NVLinks join the first two, a NIC.
constexpr const char* kSmall = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="8.0 GT/s PCIe" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" link_speed="8 GT/s" link_width="16">
        <gpu dev="0" sm="70"><nvlink target="0000:03:00.0" count="2" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:03:00.0" class="0x030200" link_speed="8 GT/s" link_width="16">
        <gpu dev="1" sm="70"><nvlink target="0000:02:00.0" count="2" tclass="0x030200"/></gpu>
      </pci>
    </pci>
    <pci busid="0000:04:00.0" class="0x020700" link_speed="8 GT/s" link_width="16"/>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:81:00.0" class="0x030200" link_speed="8 GT/s" link_width="8">
      <gpu dev="2" sm="70"/>
    </pci>
  </cpu>
</system>
)";

const Route& route(const Topology& topology, int from, int to) {
  return topology.route(DeviceId(from), DeviceId(to));
}

TEST(NcclTopology, ReadsTreeAndNvlinks) {
  const NcclTopology imported = import_nccl_topology(kSmall, "small.xml", "small", "");
  const Topology& topology = imported.topology;
  ASSERT_EQ(topology.device_count(), 3);
  EXPECT_EQ(topology.device(DeviceId(0)).kind, "v100");
  // Two NVLinks of 20e9.
  EXPECT_EQ(route(topology, 0, 1).bandwidth_bytes_per_second, 40e9);
  EXPECT_EQ(route(topology, 0, 1).links.size(), 1U);
  // gpu0, bridge, cpu0, cpu1, gpu2: PCI 12e9, between Skylakes 10e9, PCI x8 6e9.
  EXPECT_EQ(route(topology, 0, 2).links.size(), 4U);
  EXPECT_EQ(route(topology, 0, 2).bandwidth_bytes_per_second, 6e9);
  EXPECT_THAT(imported.notes, testing::Contains(HasSubstr("1 PCI devices")));
}

TEST(NcclTopology, NvswitchesBecomeOneSwitch) {
  std::string text = kSmall;
  for (const char* bus : {"0000:03:00.0\" count=\"2\" tclass=\"0x030200",
                          "0000:02:00.0\" count=\"2\" tclass=\"0x030200"}) {
    text.replace(text.find(bus), std::string(bus).size(),
                 "0000:c4:00.0\" count=\"12\" tclass=\"0x068000");
  }
  const NcclTopology imported = import_nccl_topology(text, "small.xml", "small", "");
  // gpu0 -> nvswitch -> gpu1, 12 NVLinks of 20e9 each.
  EXPECT_EQ(route(imported.topology, 0, 1).links.size(), 2U);
  EXPECT_EQ(route(imported.topology, 0, 1).bandwidth_bytes_per_second, 240e9);
}

std::string message(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  text.replace(text.find(from), from.size(), to);
  return test::message_of<FormatError>(
      [&] { import_nccl_topology(text, "small.xml", "small", ""); });
}

TEST(NcclTopology, SaysWhereAndWhatIsWrong) {
  EXPECT_THAT(message("<gpu dev=\"2\" sm=\"70\"/>", ""),
              HasSubstr("small.xml:14:5: <pci>: the file does not tell what GPU this is"));
  EXPECT_THAT(message("sm=\"70\"/>", "sm=\"86\"/>"), HasSubstr("name it with --kind"));
  EXPECT_THAT(message("link_width=\"8\"", "link_width=\"0\""), HasSubstr("no speed of PCI"));
  EXPECT_THAT(message("link_width=\"8\"", ""), HasSubstr("'link_width' is missing"));
  EXPECT_THAT(message("8.0 GT/s PCIe", "fast"), HasSubstr("link_speed 'fast'"));
  EXPECT_THAT(message("numaid=\"1\"", "numaid=\"0\""), HasSubstr("the same as at"));
  EXPECT_THAT(message("target=\"0000:03:00.0\"", "target=\"0000:99:00.0\""),
              HasSubstr("target 0000:99:00.0 is no GPU of this file"));
  EXPECT_THAT(
      test::message_of<FormatError>([] { import_nccl_topology("<system/>", "t.xml", "t", ""); }),
      HasSubstr("there is no GPU in it"));
  EXPECT_THAT(
      test::message_of<ConfigError>([] { import_nccl_topology(kSmall, "t.xml", "t", "v10"); }),
      HasSubstr("did you mean 'v100'?"));
}

TEST(NcclTopology, ReadsThePublishedFile) {
  DP_SKIP_WITHOUT_PUBLIC_DATA("topology/ndv2-topo.xml");
  const std::string path = test::public_data_path("topology/ndv2-topo.xml");
  const NcclTopology imported = import_nccl_topology(read_text_file(path), path, "ndv2", "v100");
  ASSERT_EQ(imported.topology.device_count(), 8);
  // Four GPUs a CPU; PCI Express 4.0 x16 by its numbers, 24e9; 10e9 between the CPUs.
  EXPECT_EQ(route(imported.topology, 0, 3).bandwidth_bytes_per_second, 24e9);
  EXPECT_EQ(route(imported.topology, 3, 4).bandwidth_bytes_per_second, 10e9);
  const Topology again = parse_topology(format_topology(imported.topology), "again");
  EXPECT_EQ(again.content_hash(), imported.topology.content_hash());
}

}  // namespace
}  // namespace doppler
