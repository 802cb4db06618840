#include "common/graph_format.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "common/error.h"
#include "common/graph_json.h"
#include "common/import_dnn_partitioning.h"
#include "common/import_dot.h"
#include "common/import_onnx.h"
#include "common/import_pipedream.h"
#include "common/import_report.h"
#include "common/import_stg.h"
#include "common/import_wfcommons.h"
#include "common/nearest_name.h"
#include "common/protobuf_wire.h"
#include "common/text_check.h"
#include "common/text_file.h"
#include "common/text_lines.h"

namespace doppler {
namespace {

bool contains(std::string_view content, std::string_view part) {
  return content.find(part) != std::string_view::npos;
}

// Behind blank lines and comments as DOT has them.
std::string_view skip_comments(std::string_view content) {
  while (true) {
    const std::size_t start = content.find_first_not_of(" \t\r\n\f");
    if (start == std::string_view::npos) return {};
    content.remove_prefix(start);
    std::size_t end = 0;
    if (content.starts_with("//") || content.starts_with('#')) {
      end = content.find('\n');
    } else if (content.starts_with("/*")) {
      end = content.find("*/", 2);
      if (end != std::string_view::npos) end += 2;
    } else {
      return content;
    }
    if (end == std::string_view::npos) return {};
    content.remove_prefix(end);
  }
}

bool begins_digraph(std::string_view content) {
  static constexpr std::array<std::string_view, 3> kWords = {"strict", "digraph", "graph"};
  const std::string_view text = skip_comments(content);
  std::string word;
  for (char c : text.substr(0, 8)) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter) break;
    word += static_cast<char>(c | 0x20);
  }
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// Both begin with a line that is a number; only the paper's files have commas.
std::optional<GraphFormat> detect_numbers(std::string_view content) {
  bool first = true;
  for (std::string_view line : split_lines(content)) {
    line = trim(line);
    if (line.starts_with('#')) continue;
    if (first) {
      if (line.empty()) continue;
      const auto count = parse_integer(line);
      if (!count) return std::nullopt;
      first = false;
      continue;
    }
    if (contains(line, ",")) return GraphFormat::kText;
  }
  if (first) return std::nullopt;
  return GraphFormat::kStg;
}

// Whether fields that ONNX's ModelProto has make up the whole content.
bool is_onnx_model(std::string_view content) {
  const ImportReport report("");
  ProtobufReader reader(content, 0, report);
  try {
    while (reader.next()) {
      const std::uint32_t field = reader.field();
      if (field == 1 || field == 5) {  // ir_version, model_version
        reader.integer();
      } else if (field <= 8 || field == 14 || field == 20 || field == 25) {
        reader.bytes();
      } else {
        return false;
      }
    }
  } catch (const FormatError&) {
    return false;
  }
  return true;
}

[[noreturn]] void fail_with_formats(const ImportReport& report, Place place,
                                    const std::string& why) {
  std::string names;
  for (const std::string& name : graph_format_names()) names += (names.empty() ? "" : ", ") + name;
  report.fail(place, "format",
              "the content looks like no graph format" + why + "; known are " + names +
                  ", chosen with --format");
}

}  // namespace

std::span<const std::string> graph_format_names() {
  static const std::vector<std::string> names = {
      "text", "onnx", "dnn-partitioning", "pipedream", "dot", "wfcommons", "stg", "native"};
  return names;
}

const std::string& graph_format_name(GraphFormat format) {
  return graph_format_names()[static_cast<std::size_t>(format)];
}

GraphFormat parse_graph_format(const std::string& name) {
  const auto names = graph_format_names();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) {
    throw ConfigError("format '" + name + "' is not known" + suggest_name(name, names));
  }
  return static_cast<GraphFormat>(at - names.begin());
}

GraphFormat detect_format(std::string_view content, const std::string& file) {
  const ImportReport report(file);
  // No text begins with this byte; ONNX files do, with the field ir_version.
  if (content.starts_with('\x08')) return GraphFormat::kOnnx;
  if (const auto bad = has_byte_order_mark(content) ? std::nullopt : find_bad_text(content)) {
    if (is_onnx_model(content)) return GraphFormat::kOnnx;
    fail_with_formats(report, place_at(content, *bad),
                      ": byte " + quote(content.substr(*bad, 1)) + " is no text (UTF-8)");
  }
  report.check_text(content);
  const std::string_view text = content.substr(content.find_first_not_of(" \t\r\n"));
  if (text.starts_with('{')) {
    if (is_graph_json(text)) return GraphFormat::kNative;
    if (contains(text, "\"maxFPGAs\"")) return GraphFormat::kDnnPartitioning;
    if (contains(text, "\"schemaVersion\"") && contains(text, "\"workflow\"")) {
      return GraphFormat::kWfcommons;
    }
    if (contains(text, "\"fpgas\"") && contains(text, "\"cpus\"")) {
      report.fail(
          {}, "",
          "is the split of a graph, not a graph; name the graph, and this file with --split");
    }
  }
  if (contains(text, "forward_compute_time=")) return GraphFormat::kPipedream;
  if (begins_digraph(text)) return GraphFormat::kDot;
  if (const auto format = detect_numbers(text)) return *format;
  fail_with_formats(report, place_at(content, content.size() - text.size()), "");
}

Imported parse_any_graph(std::string_view content, const std::string& file,
                         std::optional<GraphFormat> format, const ImportOptions& options) {
  switch (format ? *format : detect_format(content, file)) {
    case GraphFormat::kText: {
      GraphText text = parse_graph_text(content, file);
      return {.graph = std::move(text.graph),
              .warnings = std::move(text.warnings),
              .devices = {},
              .operation_ids = {}};
    }
    case GraphFormat::kOnnx:
      return import_onnx(content, file, options);
    case GraphFormat::kDnnPartitioning:
      return import_dnn_partitioning(content, file, options);
    case GraphFormat::kPipedream:
      return import_pipedream(content, file, options);
    case GraphFormat::kDot:
      return import_dot(content, file, options);
    case GraphFormat::kWfcommons:
      return import_wfcommons(content, file, options);
    case GraphFormat::kStg:
      return import_stg(content, file, options);
    case GraphFormat::kNative:
      return import_graph_json(content, file);
  }
  throw ConfigError("no such format");
}

Imported load_any_graph(const std::string& path, std::optional<GraphFormat> format,
                        const ImportOptions& options) {
  return parse_any_graph(read_text_file(path), input_name(path), format, options);
}

}  // namespace doppler
