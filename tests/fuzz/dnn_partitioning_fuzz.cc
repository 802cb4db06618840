#include "common/import_dnn_partitioning.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/format_samples.h"

namespace doppler::fuzz {

std::vector<std::string> seeds() {
  return {test::dnn_partitioning_sample()};
}

}  // namespace doppler::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  doppler::fuzz::run_input(data, size, [](std::string_view content) {
    const doppler::Imported graph =
        doppler::import_dnn_partitioning(content, "f", {.bytes_per_second = 1e6});
    if (graph.graph.operation_count() == 4) {
      doppler::import_dnn_split(doppler::test::dnn_split_sample(), "s", graph);
    }
  });
  return 0;
}
