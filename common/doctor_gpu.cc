#include <chrono>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "common/child_output.h"
#include "common/doctor.h"
#include "common/environment_variable.h"

namespace doppler {
namespace {

// The first question to a sleeping driver takes seconds.
constexpr auto kTimeout = std::chrono::seconds(30);

}  // namespace

Checks check_gpus() {
  std::error_code error;
  const bool has_device = std::filesystem::exists("/dev/nvidiactl", error);
  const ChildOutput output = child_output(
      {"nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"},
      kTimeout);
  if (output.exit_code == 127 && !has_device) {
    return {{"GPU", CheckOutcome::kOk, "none; training needs none", ""}};
  }
  if (output.exit_code != 0) {
    return {{"GPU", CheckOutcome::kWarning, "there is a driver, but nvidia-smi does not answer",
             "look at the driver (dmesg); training needs no GPU"}};
  }
  std::istringstream in(output.text);
  std::string line;
  std::string first;
  int count = 0;
  for (; std::getline(in, line); ++count) {
    if (count == 0) first = line;
  }
  Check check{.name = "GPU", .finding = fmt::format("{} x {}", count, first)};
  if (const auto visible = environment_variable("CUDA_VISIBLE_DEVICES")) {
    check.finding += ", CUDA_VISIBLE_DEVICES=" + *visible;
  }
  return {check};
}

}  // namespace doppler
