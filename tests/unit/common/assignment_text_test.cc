#include "common/assignment_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_assignment;

// Three operations on two devices.
std::vector<Assignment> parse(const std::string& text) {
  return parse_assignments(text, "a.csv", 3, 2);
}

TEST(AssignmentText, ReadsOneALine) {
  const auto assignments = parse("# best so far\n0,1,0\r\n\n 1, 1 ,\t1\n \n0,0,0");
  ASSERT_EQ(assignments.size(), 3U);
  EXPECT_EQ(assignments[0], make_assignment({0, 1, 0}));
  EXPECT_EQ(assignments[1], make_assignment({1, 1, 1}));
  EXPECT_EQ(assignments[2], make_assignment({0, 0, 0}));
}

TEST(AssignmentText, ReadsWhatItWrites) {
  const Assignment assignment = make_assignment({1, 0, 1});
  EXPECT_EQ(format_assignment(assignment), "1,0,1");
  EXPECT_EQ(parse(format_assignment(assignment)).front(), assignment);
}

TEST(AssignmentText, EveryMistakeIsReportedAtItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "a.csv:1:1: holds no assignment"},
      {"# nothing\n\n", "a.csv:1:1: holds no assignment"},
      {"0,1\n", "a.csv:1:1: there are 2 device ids, but the graph has 3 operations"},
      {"0,1,0\n0,1,0,1\n", "a.csv:2:1: there are 4 device ids"},
      {"0,2,0\n", "a.csv:1:3: operation 1: device 2 does not exist; there are 2"},
      {"0,-1,0\n", "a.csv:1:3: operation 1: device -1 does not exist"},
      {"0,99999999999,0\n", "a.csv:1:3: operation 1: device 99999999999 does not exist"},
      {"0,x,0\n", "a.csv:1:3: operation 1: expected a device id, found 'x'"},
      {"0,1.0,0\n", "a.csv:1:3: operation 1: expected a device id, found '1.0'"},
      {"0,01,0\n", "a.csv:1:3: operation 1: expected a device id, found '01'"},
      {"0,-0,0\n", "a.csv:1:3: operation 1: expected a device id, found '-0'"},
      {"0,+1,0\n", "a.csv:1:3: operation 1: expected a device id, found '+1'"},
      {"0,,0\n", "a.csv:1:3: operation 1: expected a device id, found ',0'"},
      {"0,1,\n", "a.csv:1:5: operation 2: expected a device id, found the end of the line"},
      {"\xef\xbb\xbf"
       "0,1,0\n",
       "a.csv:1:1: begins with a byte order mark; save it without"},
      {"0 1 0\n", "a.csv:1:3: expected ',' between device ids, found '1 0'"},
      {"0,1;0\n", "a.csv:1:3: operation 1: expected a device id, found '1;0'"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(test::message_of<FormatError>([&, &wrong = text] { parse(wrong); }),
                testing::StartsWith(message))
        << text;
  }
}

TEST(AssignmentText, ReadsWhatTheProgramsWrite) {
  const auto parsed = parse(
      "{\n \"devices\": 2,\n \"assignment\": [\n  1,\n  0,\n  1\n ],\n \"order\": [2, 1, 0]\n}\n");
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_EQ(format_assignment(parsed[0]), "1,0,1");
}

TEST(AssignmentText, SaysWhatIsWrongWithAnObject) {
  for (const char* text :
       {"{}", "{\"assignment\": 3}", "{\"assignment\": [1, 0", "{\"assignment\""}) {
    EXPECT_THAT(test::message_of<FormatError>([&] { parse(text); }),
                ::testing::HasSubstr("without an array \"assignment\""))
        << text;
  }
  // The array begins in line 2.
  EXPECT_THAT(test::message_of<FormatError>([&] { parse("{\n\"assignment\": [1, 7, 0]}"); }),
              ::testing::HasSubstr("a.csv:2:4: operation 1: device 7 does not exist"));
}

}  // namespace
}  // namespace doppler
