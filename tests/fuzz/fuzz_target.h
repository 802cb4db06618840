// What every fuzzer of this folder gives its engine.
//
// LLVMFuzzerTestOneInput() is libFuzzer's entry: it may return or, for a bug, crash. The driver of
// this folder (fuzz_driver.cc) needs no clang; it also asks for seeds and for what became of an
// input, by which it keeps inputs that reach something new.
#ifndef DOPPLER_TESTS_FUZZ_FUZZ_TARGET_H_
#define DOPPLER_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace doppler::fuzz {

std::vector<std::string> seeds();

// What became of the last input: a few words without numbers, equal for inputs that end alike.
std::string& last_outcome();

// The last part of a message, letters only: what is wrong, without the place and the names.
inline std::string shorten(std::string_view message) {
  constexpr std::size_t kLongest = 40;
  const std::size_t colon = message.rfind(": ");
  if (colon != std::string_view::npos) message.remove_prefix(colon + 2);
  std::string text;
  bool quoted = false;
  for (char c : message) {
    if (c == '\'') quoted = !quoted;
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ';
    if (is_letter && !quoted && text.size() < kLongest) text += c;
  }
  return text;
}

// Runs `action` on the input. An Error is a fine end; anything else that is thrown is a bug and
// leaves.
template <typename Action>
void run_input(const std::uint8_t* data, std::size_t size, const Action& action) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  try {
    action(content);
    last_outcome() = "read";
  } catch (const Error& error) {
    last_outcome() = shorten(error.what());
  }
}

}  // namespace doppler::fuzz

#endif  // DOPPLER_TESTS_FUZZ_FUZZ_TARGET_H_
