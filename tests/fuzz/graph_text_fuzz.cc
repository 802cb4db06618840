#include "common/graph_text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/tiny_graphs.h"

namespace doppler::fuzz {

std::vector<std::string> seeds() {
  return {format_graph_text(test::chain_graph()), format_graph_text(test::fork_join_graph())};
}

}  // namespace doppler::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  doppler::fuzz::run_input(
      data, size, [](std::string_view content) { doppler::parse_graph_text(content, "f"); });
  return 0;
}
