// The text format of the paper's published graph files, read strictly.
//
//   line 1        T: how many nodes there are, inputs included
//   line 2        the ids of the k input nodes; only their number counts, n = T - k operations
//   line 3, 4     the sources and the destinations of the edges; operations have ids 0..n-1
//   n more lines  compute,transfer[,type]: ticks, not negative; the type becomes the operation's
//                 kind
//
// Lists are separated by ", " and may end with it. A separator of another shape is reported: in the
// published chain_mm_112nodes.txt `16,6, 16` stands where `16, 16, 16` was meant, which moves an
// edge without breaking the format. The published reader takes it without a word. Lines may end
// with CR LF; the last may lack its end; blank lines may follow.
#ifndef DOPPLER_COMMON_GRAPH_TEXT_H_
#define DOPPLER_COMMON_GRAPH_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/graph.h"

namespace doppler {

// Something in a file that can be read but is probably not meant. Line and column count from 1, the
// column in bytes; line 0: the file as a whole, or a place that the text names itself (a JSON
// path).
struct Warning {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string text;
};

struct GraphText {
  Graph graph;                    // CostUnit::kDurations, named after the file
  std::vector<Warning> warnings;  // by line and column
};

// `file` names the text in messages. Throws FormatError "file:line:column: field: what is wrong;
// what to do".
GraphText parse_graph_text(std::string_view text, const std::string& file);

// Reads a file; "-" is standard input. Also throws what read_text_file() throws.
GraphText load_graph_text(const std::string& path);

// "file:line:column: warning: text", without line and column for the file as a whole.
std::string describe(const Warning& warning, const std::string& file);

// The graph in this format, byte for byte as the published files are laid out. Names, groups and
// coordinates have no place in it. Throws ConfigError for a graph that states no durations or a
// kind that the format cannot carry.
std::string format_graph_text(const Graph& graph);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_TEXT_H_
