#include "common/import_wfcommons.h"

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
using testing::SizeIs;

Imported import(const std::string& text, const ImportOptions& options = {}) {
  return import_wfcommons(text, "w.json", options);
}

std::string damaged(const std::string& from, const std::string& to) {
  std::string text = test::wfcommons_sample();
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(ImportWfcommons, TasksBecomeMeasuredOperations) {
  const Imported file = import(test::wfcommons_sample(), {.device_kind = "cpu"});
  EXPECT_THAT(file.operation_ids, ElementsAre("a", "b", "c"));
  const Operation& a = file.graph.operation(OperationId(0));
  EXPECT_EQ(a.kind, "split");
  EXPECT_EQ(a.output_bytes, 30);
  EXPECT_THAT(a.measured_durations,
              ElementsAre(MeasuredDuration{.device_kind = "cpu", .seconds = 1.5}));
  EXPECT_EQ(file.graph.operation(OperationId(1)).kind, "task");
  ASSERT_THAT(file.warnings, SizeIs(1));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("ran on 2 machines"));
}

TEST(ImportWfcommons, EdgesCarryTheFilesBetweenTheirEnds) {
  const Imported file = import(test::wfcommons_sample());
  ASSERT_EQ(file.graph.edge_count(), 3U);
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(0)), 10);  // a -> b: x
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(1)), 20);  // a -> c: y
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(2)), 5);   // b -> c: z
  ASSERT_THAT(file.graph.inputs(), SizeIs(1));
  EXPECT_EQ(file.graph.inputs()[0].name, "raw");
  EXPECT_EQ(file.graph.inputs()[0].bytes, 1000);
}

TEST(ImportWfcommons, SeveralFilesBetweenTwoTasksAddUp) {
  const Imported file =
      import(damaged("\"inputFiles\": [\"y\", \"z\"]", "\"inputFiles\": [\"y\", \"x\", \"z\"]"));
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(1)), 30);  // a -> c: x and y
}

TEST(ImportWfcommons, WarnsOfGaps) {
  // c reads x, but b does not pass it on; c was not executed; nothing passes from a to b.
  const Imported file = import(damaged("\"inputFiles\": [\"x\"]", "\"inputFiles\": []"));
  EXPECT_THAT(file.warnings.back().text, HasSubstr("1 edges carry no file"));
  const Imported unrelated = import(damaged("\"parents\": [\"a\", \"b\"], \"children\": []",
                                            "\"parents\": [\"a\"], \"children\": []"));
  EXPECT_EQ(unrelated.graph.edge_count(), 3U);  // still said by the children of b
  const Imported late =
      import(damaged(R"(  {"id": "b", "runtimeInSeconds": 2, "machines": ["m1"]},)", ""));
  EXPECT_THAT(late.warnings.back().text, HasSubstr("1 tasks were not executed"));
}

TEST(ImportWfcommons, EveryDamageNamesItsPath) {
  struct Case {
    std::string text;
    const char* message;
  };
  const Case cases[] = {
      {damaged("\"1.5\"", "\"1.4\""), "w.json: /schemaVersion: WfFormat '1.4' is not read"},
      {damaged("\"files\": [{\"id\": \"raw\"", "\"files\": [{\"id\": \"x\""),
       "/workflow/specification/files/1/id: 'x' is the id of another file"},
      {damaged("[\"raw\"]", "[\"row\"]"),
       "/workflow/specification/tasks/0/inputFiles/0: file 'row' is not listed"},
      {damaged("\"children\": [\"c\"]", "\"children\": [\"d\"]"),
       "/workflow/specification/tasks/1/children/0: no task has the id 'd'"},
      {damaged("\"children\": [\"c\"]", "\"children\": [\"b\"]"), "must not precede itself"},
      {damaged("\"id\": \"b\"", "\"id\": \"a\""), "tasks/1/id: 'a' is the id of another task"},
      {damaged("\"runtimeInSeconds\": 2,", "\"runtimeInSeconds\": -2,"),
       "/workflow/execution/tasks/1/runtimeInSeconds: must not be negative"},
      {damaged("{\"id\": \"b\", \"runtime", "{\"id\": \"q\", \"runtime"), "task 'q' is not listed"},
      {damaged("\"sizeInBytes\": 1000", "\"sizeInBytes\": \"big\""),
       "files/0/sizeInBytes: expected a number, found '\"big\"'"},
      {damaged("\"parents\": [], ", "\"parents\": [\"c\"], "), "has a cycle: a -> c -> a"},
  };
  for (const Case& bad : cases) {
    EXPECT_THAT(test::message_of<FormatError>([&] { import(bad.text); }), HasSubstr(bad.message));
  }
}

TEST(PublicWfcommons, HasTheCountsOfItsText) {
  DP_SKIP_WITHOUT_PUBLIC_DATA("wfcommons/helloworld-chain-5-chameleon.json");
  const Imported chain =
      import(read_text_file(test::public_data_path("wfcommons/helloworld-chain-5-chameleon.json")));
  EXPECT_EQ(chain.graph.operation_count(), 5U);
  EXPECT_EQ(chain.graph.edge_count(), 4U);
  EXPECT_EQ(chain.graph.input_count(), 1U);
  EXPECT_EQ(chain.graph.edge_bytes(EdgeId(0)), 16666667);
  const Imported fork = import(
      read_text_file(test::public_data_path("wfcommons/helloworld-forkjoin-10-chameleon.json")));
  EXPECT_EQ(fork.graph.operation_count(), 10U);
  EXPECT_EQ(fork.graph.edge_count(), 16U);
}

}  // namespace
}  // namespace doppler
