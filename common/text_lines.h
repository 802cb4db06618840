// The lines of a text, without their ends (LF or CR LF), and the words of a line.
#ifndef DOPPLER_COMMON_TEXT_LINES_H_
#define DOPPLER_COMMON_TEXT_LINES_H_

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace doppler {

// Views into `text`.
inline std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

inline std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// What stands between blanks. Views into `text`.
inline std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t position = 0;
  while ((position = text.find_first_not_of(' ', position)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find(' ', position), text.size());
    words.push_back(text.substr(position, end - position));
    position = end;
  }
  return words;
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_TEXT_LINES_H_
