#include "common/import_stg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/text_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/format_samples.h"
#include "tests/support/public_data.h"

namespace doppler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Imported import(const std::string& text) {
  return import_stg(text, "s.stg", {});
}

TEST(ImportStg, LeavesOutTheDummies) {
  const Imported file = import(test::stg_sample());
  EXPECT_THAT(file.warnings, IsEmpty());
  EXPECT_THAT(file.operation_ids, ElementsAre("1", "2", "3", "4"));
  EXPECT_EQ(file.graph.cost_unit(), CostUnit::kDurations);
  EXPECT_EQ(file.graph.edge_count(), 4U);
  const Operation& second = file.graph.operation(OperationId(1));
  EXPECT_EQ(second.compute_time, SimTime(7));
  EXPECT_EQ(second.transfer_time, SimTime(0));
  EXPECT_THAT(file.graph.successors(OperationId(0)), ElementsAre(OperationId(1), OperationId(2)));
}

TEST(ImportStg, TakesFilesWithoutDummiesWithAWarning) {
  const Imported file = import("2\n1 5 0\n2 6 1 1\n");
  EXPECT_EQ(file.graph.operation_count(), 2U);
  ASSERT_THAT(file.warnings, SizeIs(2));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("no dummy entry and exit"));
  EXPECT_THAT(file.warnings[1].text, HasSubstr("ids begin at 1 instead of 0"));
}

TEST(ImportStg, TakesDummiesThatTheCountIncludesAsTasks) {
  const Imported file = import("3\n0 0 0\n1 5 1 0\n2 0 1 1\n");
  EXPECT_EQ(file.graph.operation_count(), 3U);
}

TEST(ImportStg, ATaskWithoutEdgesIsKeptWithAWarning) {
  const Imported file = import("2\n0 0 0\n1 5 1 0\n2 6 1 0\n3 0 2 1 2\n");
  EXPECT_EQ(file.graph.operation_count(), 2U);
  EXPECT_EQ(file.graph.edge_count(), 0U);
  ASSERT_THAT(file.warnings, SizeIs(1));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("operations without edges: 2 ('1', '2')"));
}

TEST(ImportStg, EveryDamageIsRefusedAtItsPlace) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {" \n", "s.stg:1:1: file: is empty"},
      {"# nothing\n", "s.stg:1:1: number of tasks: is missing"},
      {"x\n", "s.stg:1:1: task: expected integers"},
      {"4 3\n", "s.stg:1:3: number of tasks: expected nothing else"},
      {"0\n", "s.stg:1:1: number of tasks: is 0"},
      {"1\n0 0 0\n1 5\n2 0 1 1\n", "s.stg:3:1: task: expected id, cost and number"},
      {"1\n0 0 0\n1 -5 1 0\n2 0 1 1\n", "s.stg:3:3: task: expected integers that are not negative"},
      {"1\n0 0 0\n1 5 2 0\n2 0 1 1\n", "s.stg:3:5: task 1: says 2 predecessors, but 1 follow"},
      {"1\n0 0 0\n0 5 1 0\n2 0 1 1\n", "s.stg:3:1: task 0: stands twice, first in line 2"},
      {"1\n0 0 0\n1 5 1 7\n2 0 1 1\n", "s.stg:3:7: task 1: predecessor: 7 is no task"},
      {"1\n0 0 0\n1 5 1 1\n2 0 1 1\n", "must not precede itself"},
      {"1\n0 0 0\n1 5 1 2\n2 0 1 1\n", "the dummy exit must not precede a task"},
      {"1\n0 0 0\n1 5 1 0\n2 9 1 1\n", "s.stg:4:1: task 2: should be the dummy exit with cost 0"},
      {"9\n0 0 0\n1 5 1 0\n2 0 1 1\n", "but 3 follow; the file may be cut off"},
      {"2\n0 0 0\n1 5 1 0\n", "s.stg:1:1: number of tasks: line 1 says 2 tasks and so many follow"},
      {"2\n0 0 0\n1 5 1 0\n", "the first is a dummy entry and the last is no dummy exit"},
      {"2\n0 0 0\n1 5 1 2\n2 6 1 1\n3 0 1 2\n", "has a cycle: 1 -> 2 -> 1"},
      {"9223372036854775807\n0 0 0\n", "the file may be cut off"},
  };
  for (const Case& bad : cases) {
    EXPECT_THAT(test::message_of<FormatError>([&] { import(bad.text); }), HasSubstr(bad.message))
        << bad.text;
  }
}

TEST(PublicStg, HasTheCountsOfItsText) {
  DP_SKIP_WITHOUT_PUBLIC_DATA("stg/rand0000.stg");
  const Imported sample = import(read_text_file(test::public_data_path("stg/sample00.stg")));
  // spec_nodt.txt shows the file: 8 tasks, and 11 predecessors that are no dummy less 2 of the
  // exit.
  EXPECT_EQ(sample.graph.operation_count(), 8U);
  EXPECT_EQ(sample.graph.edge_count(), 9U);
  const Imported random = import(read_text_file(test::public_data_path("stg/rand0000.stg")));
  EXPECT_EQ(random.graph.operation_count(), 50U);
  EXPECT_EQ(random.graph.edge_count(), 96U);
}

}  // namespace
}  // namespace doppler
