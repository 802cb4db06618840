// Which format a graph file is in, told by its content, and reading any of them.
#ifndef DOPPLER_COMMON_GRAPH_FORMAT_H_
#define DOPPLER_COMMON_GRAPH_FORMAT_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/import.h"

namespace doppler {

enum class GraphFormat {
  kText,             // the paper's text files: graph_text.h
  kOnnx,             // import_onnx.h
  kDnnPartitioning,  // import_dnn_partitioning.h
  kPipedream,        // import_pipedream.h
  kDot,              // import_dot.h
  kWfcommons,        // import_wfcommons.h
  kStg,              // import_stg.h
  kNative,           // graph_json.h
};

// "text", "onnx", "dnn-partitioning", "pipedream", "dot", "wfcommons", "stg",
// "native".
std::span<const std::string> graph_format_names();
const std::string& graph_format_name(GraphFormat format);
// Throws ConfigError for a name that is not among them.
GraphFormat parse_graph_format(const std::string& name);

// By content alone; file names say nothing. Throws FormatError where it looks like none.
GraphFormat detect_format(std::string_view content, const std::string& file);

// Reads `content`. Without `format` it is detected.
Imported parse_any_graph(std::string_view content, const std::string& file,
                         std::optional<GraphFormat> format, const ImportOptions& options);

// The same for a file; "-" is standard input. Also throws what read_text_file() throws.
Imported load_any_graph(const std::string& path, std::optional<GraphFormat> format,
                        const ImportOptions& options);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_FORMAT_H_
