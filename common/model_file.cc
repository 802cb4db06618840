#include "common/model_file.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "common/error.h"
#include "common/nearest_name.h"
#include "common/text_file.h"
#include "common/yaml_reader.h"

namespace doppler {
namespace {

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;
constexpr std::int64_t kLargestElementBytes = 1024;

// The complaint of a statement's parser, at the place of the statement.
template <typename Parse>
auto parse_at(const YamlItem& item, Parse parse) {
  try {
    return parse(item.text());
  } catch (const FormatError& error) {
    item.fail(error.what());
  }
}

ModelOperation read_operation(const YamlItem& item) {
  if (!item.is_map()) return parse_at(item, parse_statement);
  item.expect_keys({"do", "flops_per_point", "partition"});
  ModelOperation operation = parse_at(item.get("do"), parse_statement);
  if (const auto flops = item.find("flops_per_point")) {
    operation.flops_per_point = flops->positive();
  }
  if (const auto partition = item.find("partition")) {
    for (const auto& [index, blocks] : partition->entries()) {
      operation.partition[index] =
          static_cast<std::int32_t>(blocks.integer(1, std::numeric_limits<std::int32_t>::max()));
    }
  }
  return operation;
}

}  // namespace

Model parse_model(std::string_view text, const std::string& file) {
  const YamlItem root = YamlItem::parse(text, file);
  root.expect_keys({"name", "element_bytes", "indices", "inputs", "operations"});
  Model model;
  model.name = root.get("name").text();
  if (const auto bytes = root.find("element_bytes")) {
    model.element_bytes = bytes->integer(1, kLargestElementBytes);
  }
  for (const auto& [index, extent] : root.get("indices").entries()) {
    model.extents[index] = extent.integer(1, kLargestExtent);
  }
  for (const YamlItem& item : root.get("inputs").list()) {
    model.inputs.push_back(parse_at(item, parse_tensor_use));
  }
  for (const YamlItem& item : root.get("operations").list()) {
    model.operations.push_back(read_operation(item));
  }
  try {
    check_model(model);
  } catch (const FormatError& error) {
    throw FormatError(file + ": " + error.what());
  }
  return model;
}

Model load_model(const std::string& path) {
  return parse_model(read_text_file(path), path);
}

void set_partition(Model& model, const std::string& text) {
  const auto refuse = [&](const std::string& what) {
    throw ConfigError("--partition " + text + ": " + what + "; write it as y:b=4,h=2");
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) refuse("expected the name of a tensor and ':'");
  const std::string tensor = text.substr(0, colon);
  std::vector<std::string> names;
  for (const ModelOperation& operation : model.operations) {
    names.push_back(operation.output.tensor);
  }
  const auto operation =
      std::find_if(model.operations.begin(), model.operations.end(),
                   [&](const ModelOperation& item) { return item.output.tensor == tensor; });
  if (operation == model.operations.end()) {
    refuse("no operation makes a tensor '" + tensor + "'" + suggest_name(tensor, names));
  }
  std::map<std::string, std::int32_t> partition;
  for (std::size_t at = colon + 1; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::size_t equals = text.find('=', at);
    std::int32_t blocks = 0;
    if (equals == std::string::npos || equals >= end) refuse("expected index=blocks");
    const auto result = std::from_chars(text.data() + equals + 1, text.data() + end, blocks);
    if (result.ec != std::errc() || result.ptr != text.data() + end || blocks < 1) {
      refuse("'" + text.substr(equals + 1, end - equals - 1) + "' is no number of blocks");
    }
    partition[text.substr(at, equals - at)] = blocks;
    at = end + 1;
  }
  operation->partition = std::move(partition);
  try {
    check_model(model);
  } catch (const FormatError& error) {
    refuse(error.what());
  }
}

}  // namespace doppler
