#include "learner/archive_format.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "learner/file_operations.h"

namespace doppler {
namespace {

constexpr std::string_view kPrefix = "segment-";
constexpr std::string_view kSuffix = ".h5";
constexpr std::size_t kDigits = 6;

}  // namespace

std::string archive_folder(const std::string& run_dir) {
  return (std::filesystem::path(run_dir) / "trajectories").string();
}

std::string segment_name(std::uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof name, "segment-%06llu.h5", static_cast<unsigned long long>(number));
  return name;
}

std::optional<std::uint64_t> segment_number(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size()) return std::nullopt;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  const char* digits = name.data() + kPrefix.size();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits, digits + kDigits, number);
  if (error != std::errc() || end != digits + kDigits) return std::nullopt;
  return number;
}

std::vector<std::uint64_t> segment_numbers(const std::string& folder) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : file_names(folder)) {
    if (const auto number = segment_number(name)) numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace doppler
