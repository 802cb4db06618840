#include <cstdlib>

#include "common/export_dot.h"
#include "common/import_dot.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/format_samples.h"

namespace doppler::fuzz {

std::vector<std::string> seeds() {
  return {test::dot_sample(), format_dot(import_dot(test::dot_sample(), "f", {}).graph)};
}

}  // namespace doppler::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  doppler::fuzz::run_input(data, size, [](std::string_view content) {
    // What can be read survives the way through DOT.
    const doppler::Imported file = doppler::import_dot(content, "f", {});
    const doppler::Imported again = doppler::import_dot(doppler::format_dot(file.graph), "g", {});
    if (again.graph.content_hash() != file.graph.content_hash()) std::abort();
  });
  return 0;
}
