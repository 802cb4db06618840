#include "common/import_draft.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/error.h"
#include "common/text_check.h"

namespace doppler {
namespace {

bool costs_nothing(const Operation& operation) {
  return operation.flops == 0 && operation.compute_time == SimTime(0) &&
         std::all_of(operation.measured_durations.begin(), operation.measured_durations.end(),
                     [](const MeasuredDuration& measured) { return measured.seconds == 0; });
}

// "operations that take no time: 12 ('a', 'b', 'c', ...)": up to three of the names.
std::string count_and_name(const std::string& what, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text = what + ": " + std::to_string(names.size()) + " (";
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + quote(names[i]);
  }
  return text + (names.size() > kShown ? ", ...)" : ")");
}

}  // namespace

std::string graph_name_of(const std::string& file) {
  // Only the last part: names such as "a.graph.txt" and "b.json" lose all of their endings.
  const std::string name = std::filesystem::path(file).filename().string();
  const std::size_t dot = name.find('.', 1);
  return name.substr(0, dot);
}

std::optional<std::size_t> ImportDraft::add_node(Node node) {
  if (!number_of_.emplace(node.id, nodes_.size()).second) return std::nullopt;
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

std::optional<std::size_t> ImportDraft::find(const std::string& id) const {
  const auto at = number_of_.find(id);
  if (at == number_of_.end()) return std::nullopt;
  return at->second;
}

void ImportDraft::add_input(std::string name, std::int64_t bytes,
                            std::vector<std::size_t> consumers) {
  inputs_.push_back({.name = std::move(name), .bytes = bytes, .consumers = std::move(consumers)});
}

void ImportDraft::drop_duplicate_edges(ImportReport& report) {
  std::vector<Edge> kept;
  std::unordered_map<std::uint64_t, std::size_t> position;  // of (source, destination) in `kept`
  for (const Edge& edge : edges_) {
    const std::uint64_t key = (static_cast<std::uint64_t>(edge.source) << 32) | edge.destination;
    const auto [at, is_new] = position.emplace(key, kept.size());
    if (is_new) {
      kept.push_back(edge);
      continue;
    }
    Edge& first = kept[at->second];
    report.warn(edge.place, "edge " + nodes_[edge.source].id + " -> " +
                                nodes_[edge.destination].id +
                                " stands more than once; it is kept once, with the larger size");
    if (edge.bytes) first.bytes = std::max(first.bytes.value_or(0), *edge.bytes);
  }
  edges_ = std::move(kept);
}

std::vector<bool> ImportDraft::choose_inputs(const ImportOptions& options) const {
  std::vector<bool> is_input(nodes_.size(), false);
  if (options.keep_inputs) return is_input;
  for (std::size_t i = 0; i < nodes_.size(); ++i) is_input[i] = nodes_[i].may_be_input;
  for (const Edge& edge : edges_) is_input[edge.destination] = false;
  return is_input;
}

void ImportDraft::warn_of_oddities(const std::vector<bool>& is_input, ImportReport& report) const {
  std::vector<bool> has_edge(nodes_.size(), false);
  for (const Edge& edge : edges_) has_edge[edge.source] = has_edge[edge.destination] = true;
  std::vector<std::string> unused;
  std::vector<std::string> lonely;
  std::vector<std::string> free;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (is_input[i]) {
      if (!has_edge[i]) unused.push_back(node.id);
      continue;
    }
    if (!has_edge[i] && nodes_.size() > 1) lonely.push_back(node.id);
    if (node.counts_as_free && costs_nothing(node.operation)) free.push_back(node.id);
  }
  for (const Input& input : inputs_) {
    if (input.consumers.empty()) unused.push_back(input.name);
  }
  if (!unused.empty()) {
    report.warn({}, count_and_name("inputs that nothing consumes", unused));
  }
  if (!lonely.empty()) report.warn({}, count_and_name("operations without edges", lonely));
  if (!free.empty()) report.warn({}, count_and_name("operations that take no time", free));
}

Imported ImportDraft::finish(const std::string& graph_name, const ImportOptions& options,
                             ImportReport& report) && {
  if (nodes_.empty()) {
    report.fail({}, "", "holds no nodes; nothing can be placed");
  }
  drop_duplicate_edges(report);
  const std::vector<bool> is_input = choose_inputs(options);
  warn_of_oddities(is_input, report);

  GraphBuilder builder(graph_name, cost_unit_);
  std::vector<std::string> ids;
  std::vector<OperationId> operation_of(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (is_input[i]) continue;
    operation_of[i] = builder.add_operation(std::move(nodes_[i].operation));
    ids.push_back(nodes_[i].id);
    for (InputTensor& input : nodes_[i].own_inputs) {
      input.consumers = {operation_of[i]};
      builder.add_input(std::move(input));
    }
  }
  if (ids.empty()) {
    report.fail({}, "",
                "all " + std::to_string(nodes_.size()) +
                    " nodes are inputs that take no time; nothing can be placed (--keep-inputs "
                    "makes operations of them)");
  }
  std::vector<std::int64_t> input_bytes(nodes_.size(), 0);
  std::vector<std::vector<OperationId>> consumers(nodes_.size());
  for (const Edge& edge : edges_) {
    if (!is_input[edge.source]) {
      builder.add_edge({.source = operation_of[edge.source],
                        .destination = operation_of[edge.destination],
                        .bytes = edge.bytes});
      continue;
    }
    consumers[edge.source].push_back(operation_of[edge.destination]);
    input_bytes[edge.source] = std::max(input_bytes[edge.source], edge.bytes.value_or(0));
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!is_input[i]) continue;
    builder.add_input({.name = nodes_[i].id,
                       .bytes = std::max(input_bytes[i], nodes_[i].operation.output_bytes),
                       .consumers = std::move(consumers[i])});
  }
  for (const Input& input : inputs_) {
    std::vector<OperationId> readers;
    for (std::size_t number : input.consumers) {
      if (!is_input[number]) readers.push_back(operation_of[number]);
    }
    builder.add_input({.name = input.name, .bytes = input.bytes, .consumers = std::move(readers)});
  }
  try {
    return {.graph = builder.build(),
            .warnings = report.take_warnings(),
            .devices = {},
            .operation_ids = std::move(ids)};
  } catch (const FormatError& error) {
    report.fail({}, "", error.what());
  }
}

}  // namespace doppler
