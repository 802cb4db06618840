// A small, strict reader of XML: elements and attributes. What the files of tools need and no more:
// a declaration and comments are passed over; text between elements must be blank; document types,
// processing instructions and CDATA are refused.
#ifndef DOPPLER_COMMON_XML_TEXT_H_
#define DOPPLER_COMMON_XML_TEXT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppler {

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // in the order of the file
  std::vector<XmlElement> children;
  std::string place;  // "file:line:column" of its "<", both from 1

  // The value of an attribute, or null.
  const std::string* find(std::string_view attribute) const;
};

// The root element of `text`; `file` names it in messages. Throws FormatError "file:line:column:
// what is wrong", for broken XML, an attribute given twice, and more than 64 levels.
XmlElement parse_xml(std::string_view text, const std::string& file);

}  // namespace doppler

#endif  // DOPPLER_COMMON_XML_TEXT_H_
