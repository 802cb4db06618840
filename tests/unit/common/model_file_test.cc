#include "common/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"

namespace doppler {
namespace {

using ::testing::HasSubstr;

constexpr const char* kModel = R"(name: two-layers
element_bytes: 2
indices: {b: 8, i: 4, h: 16}
inputs:
  - x[b,i]
  - w[i,h]
operations:
  - y[b,h] = matmul x[b,i] w[i,h]
  - do: z[b,h] = relu y[b,h]
    flops_per_point: 3
    partition: {b: 4, h: 2}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string complaint(const std::string& text) {
  try {
    parse_model(text, "m.yaml");
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(ModelFile, ReadsStatementsAndAnnotations) {
  const Model model = parse_model(kModel, "m.yaml");
  EXPECT_EQ(model.name, "two-layers");
  EXPECT_EQ(model.element_bytes, 2);
  EXPECT_EQ(model.extents.at("h"), 16);
  ASSERT_EQ(model.operations.size(), 2U);
  EXPECT_EQ(model.operations[0].kind, "matmul");
  EXPECT_EQ(model.operations[1].flops_per_point, 3);
  EXPECT_EQ(model.operations[1].partition,
            (std::map<std::string, std::int32_t>{{"b", 4}, {"h", 2}}));
}

TEST(ModelFile, SaysWhereAndWhat) {
  EXPECT_THAT(complaint(replaced(kModel, "y[b,h] = matmul", "y[b,h] matmul")),
              AllOf(HasSubstr("m.yaml:8:"), HasSubstr("expected '='")));
  EXPECT_THAT(complaint(replaced(kModel, "flops_per_point", "flops_per_pont")),
              AllOf(HasSubstr("m.yaml:10:"), HasSubstr("flops_per_point")));
  EXPECT_THAT(complaint(replaced(kModel, "h: 16", "h: 0")), HasSubstr("m.yaml:3:"));
  EXPECT_THAT(complaint(replaced(kModel, "relu y[b,h]", "relu q[b,h]")),
              AllOf(HasSubstr("m.yaml"), HasSubstr("tensor q")));
  EXPECT_THAT(complaint(replaced(kModel, "{b: 4, h: 2}", "{b: 40, h: 2}")),
              HasSubstr("cannot be cut into 40"));
}

TEST(ModelFile, FlagsReplaceAPartition) {
  Model model = parse_model(kModel, "m.yaml");
  set_partition(model, "y:i=2");
  EXPECT_EQ(model.operations[0].partition, (std::map<std::string, std::int32_t>{{"i", 2}}));
  const auto flag = [&](const std::string& text) {
    return test::message_of<ConfigError>([&] { set_partition(model, text); });
  };
  EXPECT_THAT(flag("y"), HasSubstr("':'"));
  EXPECT_THAT(flag("yy:i=2"), HasSubstr("'y'"));
  EXPECT_THAT(flag("y:i=x"), HasSubstr("'x'"));
  EXPECT_THAT(flag("y:i"), HasSubstr("index=blocks"));
  EXPECT_THAT(flag("y:q=2"), HasSubstr("index q"));
}

}  // namespace
}  // namespace doppler
