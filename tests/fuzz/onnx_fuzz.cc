#include "common/import_onnx.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/format_samples.h"

namespace doppler::fuzz {

std::vector<std::string> seeds() {
  return {test::onnx_attention_sample()};
}

}  // namespace doppler::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  doppler::fuzz::run_input(data, size, [](std::string_view content) {
    doppler::import_onnx(content, "f", {.dimensions = {{"batch", 2}}});
  });
  return 0;
}
