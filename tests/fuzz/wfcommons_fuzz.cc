#include "common/import_wfcommons.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/format_samples.h"

namespace doppler::fuzz {

std::vector<std::string> seeds() {
  return {test::wfcommons_sample()};
}

}  // namespace doppler::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  doppler::fuzz::run_input(
      data, size, [](std::string_view content) { doppler::import_wfcommons(content, "f", {}); });
  return 0;
}
