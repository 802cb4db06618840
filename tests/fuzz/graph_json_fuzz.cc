#include "common/graph_json.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/full_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler::fuzz {

std::vector<std::string> seeds() {
  return {format_graph_json(test::full_graph(CostUnit::kPhysical)),
          format_graph_json(test::fork_join_graph())};
}

}  // namespace doppler::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  doppler::fuzz::run_input(
      data, size, [](std::string_view content) { doppler::import_graph_json(content, "f"); });
  return 0;
}
