// Detection and whatever reader it chooses.
#include "common/graph_format.h"
#include "common/graph_json.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/format_samples.h"
#include "tests/support/tiny_graphs.h"

namespace doppler::fuzz {

std::vector<std::string> seeds() {
  return {test::pipedream_sample(),
          test::dnn_partitioning_sample(),
          test::stg_sample(),
          test::dot_sample(),
          test::wfcommons_sample(),
          test::onnx_sample(),
          format_graph_json(test::chain_graph()),
          format_graph_text(test::chain_graph())};
}

}  // namespace doppler::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  doppler::fuzz::run_input(
      data, size, [](std::string_view content) { doppler::parse_any_graph(content, "f", {}, {}); });
  return 0;
}
