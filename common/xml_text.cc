#include "common/xml_text.h"

#include <array>

#include "common/error.h"

namespace doppler {
namespace {

constexpr int kMostLevels = 64;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':';
}

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  XmlElement read() {
    skip_between();
    if (at_end()) fail("there is no element");
    XmlElement root = read_element(0);
    skip_between();
    if (!at_end()) fail("something follows the root element");
    return root;
  }

 private:
  bool at_end() const { return position_ == text_.size(); }
  bool starts(std::string_view what) const { return text_.substr(position_).starts_with(what); }

  std::string place() const {
    std::size_t line = 1;
    std::size_t line_start = 0;
    for (std::size_t i = 0; i < position_; ++i) {
      if (text_[i] == '\n') {
        ++line;
        line_start = i + 1;
      }
    }
    return file_ + ":" + std::to_string(line) + ":" + std::to_string(position_ - line_start + 1);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(place() + ": " + what);
  }

  void skip_blanks() {
    while (!at_end() && is_blank(text_[position_])) ++position_;
  }
  // Blanks, comments and the declaration.
  void skip_between() {
    while (true) {
      skip_blanks();
      if (starts("<!--")) {
        skip_to("-->", "a comment has no end");
      } else if (starts("<?xml")) {
        skip_to("?>", "the declaration has no end");
      } else {
        return;
      }
    }
  }
  void skip_to(std::string_view end, const std::string& problem) {
    const std::size_t at = text_.find(end, position_);
    if (at == std::string_view::npos) fail(problem);
    position_ = at + end.size();
  }
  void expect(std::string_view what) {
    if (!starts(what)) fail("expected '" + std::string(what) + "'");
    position_ += what.size();
  }

  std::string read_name() {
    const std::size_t start = position_;
    while (!at_end() && is_name_character(text_[position_])) ++position_;
    if (position_ == start) fail("expected a name");
    return std::string(text_.substr(start, position_ - start));
  }

  std::string read_value() {
    const char mark = at_end() ? '\0' : text_[position_];
    if (mark != '"' && mark != '\'') fail("expected a value in quotes");
    ++position_;
    std::string value;
    while (true) {
      if (at_end() || text_[position_] == '<') fail("a value in quotes has no end");
      if (text_[position_] == mark) break;
      value += text_[position_] == '&' ? read_entity() : text_[position_++];
    }
    ++position_;
    return value;
  }

  char read_entity() {
    struct Entity {
      std::string_view name;
      char value;
    };
    constexpr std::array<Entity, 5> kEntities = {
        {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
    for (const Entity& entity : kEntities) {
      if (starts(entity.name)) {
        position_ += entity.name.size();
        return entity.value;
      }
    }
    fail("'&' begins none of &amp; &lt; &gt; &quot; &apos;");
  }

  XmlElement read_element(int level) {
    if (level == kMostLevels) fail("more than " + std::to_string(kMostLevels) + " levels");
    XmlElement element;
    element.place = place();
    expect("<");
    element.name = read_name();
    while (true) {
      const std::size_t before = position_;
      skip_blanks();
      if (starts("/>")) {
        position_ += 2;
        return element;
      }
      if (starts(">")) break;
      if (position_ == before) fail("expected a blank, '>' or '/>'");
      read_attribute(element);
    }
    ++position_;
    read_children(element, level);
    return element;
  }

  void read_attribute(XmlElement& element) {
    const std::size_t start = position_;
    const std::string name = read_name();
    if (element.find(name) != nullptr) {
      position_ = start;
      fail("the attribute '" + name + "' is given twice");
    }
    skip_blanks();
    expect("=");
    skip_blanks();
    element.attributes.emplace_back(name, read_value());
  }

  void read_children(XmlElement& element, int level) {
    while (true) {
      skip_between();
      if (at_end()) fail("<" + element.name + "> of " + element.place + " has no end");
      if (starts("</")) break;
      if (!starts("<")) fail("text is not expected here");
      element.children.push_back(read_element(level + 1));
    }
    position_ += 2;
    const std::size_t start = position_;
    const std::string name = read_name();
    if (name != element.name) {
      position_ = start;
      fail("</" + name + "> ends <" + element.name + "> of " + element.place);
    }
    skip_blanks();
    expect(">");
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t position_ = 0;
};

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  for (const auto& [key, value] : attributes) {
    if (key == attribute) return &value;
  }
  return nullptr;
}

XmlElement parse_xml(std::string_view text, const std::string& file) {
  return XmlReader(text, file).read();
}

}  // namespace doppler
