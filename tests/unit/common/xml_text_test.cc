#include "common/xml_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"

namespace doppler {
namespace {

using testing::HasSubstr;

TEST(XmlText, ReadsElementsAndAttributes) {
  const XmlElement root = parse_xml(
      "<?xml version=\"1.0\"?>\n<!-- a > b -->\n<a x=\"1\" y = '2 &lt;&amp;&quot;'>\n"
      "  <b/>\n  <!-- no --> <c z=\"\"> </c>\n</a>\n",
      "t.xml");
  EXPECT_EQ(root.name, "a");
  EXPECT_EQ(*root.find("x"), "1");
  EXPECT_EQ(*root.find("y"), "2 <&\"");
  EXPECT_EQ(root.find("z"), nullptr);
  ASSERT_EQ(root.children.size(), 2U);
  EXPECT_EQ(root.children[0].name, "b");
  EXPECT_EQ(root.children[1].place, "t.xml:5:15");
  EXPECT_EQ(*root.children[1].find("z"), "");
}

std::string message(const std::string& text) {
  return test::message_of<FormatError>([&] { parse_xml(text, "t.xml"); });
}

TEST(XmlText, SaysWhereItIsBroken) {
  EXPECT_THAT(message(""), HasSubstr("t.xml:1:1: there is no element"));
  EXPECT_THAT(message("<a>\n</b>"), HasSubstr("t.xml:2:3: </b> ends <a> of t.xml:1:1"));
  EXPECT_THAT(message("<a>"), HasSubstr("<a> of t.xml:1:1 has no end"));
  EXPECT_THAT(message("<a/><b/>"), HasSubstr("something follows the root element"));
  EXPECT_THAT(message("<a x=1/>"), HasSubstr("t.xml:1:6: expected a value in quotes"));
  EXPECT_THAT(message("<a x=\"1\" x=\"2\"/>"), HasSubstr("'x' is given twice"));
  EXPECT_THAT(message("<a x=\"1\"y=\"2\"/>"), HasSubstr("expected a blank"));
  EXPECT_THAT(message("<a x=\"&foo;\"/>"), HasSubstr("begins none of"));
  EXPECT_THAT(message("<a x=\"1"), HasSubstr("has no end"));
  EXPECT_THAT(message("<a>text</a>"), HasSubstr("text is not expected"));
  EXPECT_THAT(message("<!-- x"), HasSubstr("a comment has no end"));
  EXPECT_THAT(message("<!DOCTYPE a><a/>"), HasSubstr("expected a name"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  EXPECT_THAT(message(deep), HasSubstr("more than 64 levels"));
}

}  // namespace
}  // namespace doppler
