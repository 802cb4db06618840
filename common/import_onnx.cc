#include "common/import_onnx.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/import_draft.h"
#include "common/onnx_costs.h"
#include "common/onnx_inference.h"
#include "common/onnx_model.h"
#include "common/text_check.h"

namespace doppler {
namespace {

constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

OnnxModel read_model(std::string_view content, ImportReport& report) {
  if (content.empty()) report.fail({}, "", "is empty; this is no ONNX model");
  OnnxModel model = parse_onnx(content, report);
  if (model.nodes.empty()) report.fail({}, "graph", "has no nodes; nothing can be placed");
  return model;
}

// Makes the draft of a graph of what inference found out.
class Drafter {
 public:
  Drafter(std::string_view content, const std::string& file, const ImportOptions& options)
      : report_(file),
        options_(options),
        inference_(read_model(content, report_), options, report_),
        draft_number_(inference_.model().nodes.size(), kNoNode) {}

  Imported draft() {
    const std::size_t count = inference_.model().nodes.size();
    for (std::size_t i = 0; i < count; ++i) add_operation(i);
    for (std::size_t i = 0; i < count; ++i) add_edges(i);
    add_inputs();
    warn_of_gaps();
    return std::move(draft_).finish(graph_name_of(report_.file()), options_, report_);
  }

 private:
  void add_operation(std::size_t i) {
    const OnnxNode& node = inference_.model().nodes[i];
    if (inference_.node(i).folded) return;
    Operation operation;
    operation.name = node.name;
    if (operation.name.empty()) {
      operation.name = node.operator_type + "_" + std::to_string(i);
    }
    operation.kind =
        node.domain.empty() ? onnx_operation_kind(node.operator_type) : node.operator_type;
    double elements = 0;
    bool unknown_shape = false;
    double bytes = 0;
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;
      const OnnxTensorInfo& info = *inference_.tensor(output);
      bytes += static_cast<double>(inference_.bytes_of(output));
      if (info.shape) elements += onnx_element_count(*info.shape);
      unknown_shape = unknown_shape || !info.shape;
    }
    const auto rounded = to_bytes(bytes);
    if (!rounded) report_.fail({}, inference_.label(i), "has more than 2^62 bytes of outputs");
    operation.output_bytes = *rounded;
    if (!node.outputs.empty()) {
      const OnnxTensorInfo* first = inference_.tensor(node.outputs.front());
      if (first != nullptr) operation.output_shape = first->shape.value_or(OnnxShape());
    }
    if (inference_.node(i).flops) {
      operation.flops = *inference_.node(i).flops;
    } else {
      operation.flops = elements + input_elements(node);
    }
    if (!inference_.node(i).known) {
      ++unknown_operators_[node.operator_type];
    } else if (unknown_shape || !inference_.node(i).flops) {
      unknown_shapes_.push_back(inference_.label(i));
    }
    if (!std::isfinite(operation.flops))
      report_.fail({}, inference_.label(i), "its FLOPs are out of range");
    // Names need not be unique in ONNX; ids must be.
    std::string id = operation.name;
    for (int copy = 2; draft_.find(id); ++copy) {
      id = operation.name + "#" + std::to_string(i) + (copy == 2 ? "" : "." + std::to_string(copy));
    }
    operation.name = id;
    draft_number_[i] = *draft_.add_node({.id = id,
                                         .operation = std::move(operation),
                                         .place = {},
                                         .may_be_input = false,
                                         .counts_as_free = false,
                                         .own_inputs = {}});
  }

  double input_elements(const OnnxNode& node) const {
    double elements = 0;
    for (const std::string& input : node.inputs) {
      const OnnxTensorInfo* info = inference_.tensor(input);
      if (info != nullptr && info->shape) elements += onnx_element_count(*info->shape);
    }
    return elements;
  }

  void add_edges(std::size_t i) {
    if (inference_.node(i).folded) return;
    const OnnxNode& node = inference_.model().nodes[i];
    std::vector<std::size_t> sources;           // by first use
    std::map<std::size_t, std::int64_t> bytes;  // by source
    std::set<std::string> seen;
    const std::optional<std::size_t> first_parameter =
        node.domain.empty() ? first_onnx_parameter(node.operator_type) : std::nullopt;
    for (std::size_t n = 0; n < node.inputs.size(); ++n) {
      const std::string& name = node.inputs[n];
      if (name.empty() || !seen.insert(name).second) continue;
      const std::optional<std::size_t> producer = inference_.producer(name);
      const bool moves = producer && !inference_.node(*producer).folded;
      if (!moves) {
        const bool is_parameter = first_parameter && n >= *first_parameter;
        if (!(is_parameter && inference_.tensor(name)->constant)) add_reader(name, i);
        continue;
      }
      const auto [at, is_new] = bytes.emplace(*producer, 0);
      if (is_new) sources.push_back(*producer);
      at->second += inference_.bytes_of(name);
    }
    for (std::size_t source : sources) {
      const std::int64_t output_bytes = draft_.node(draft_number_[source]).operation.output_bytes;
      std::optional<std::int64_t> stated;
      if (bytes[source] != output_bytes) stated = bytes[source];
      draft_.add_edge({.source = draft_number_[source],
                       .destination = draft_number_[i],
                       .bytes = stated,
                       .place = {}});
    }
  }

  void add_reader(const std::string& tensor, std::size_t i) {
    const auto [at, is_new] = readers_.emplace(tensor, std::vector<std::size_t>());
    if (is_new && inference_.tensor(tensor)->constant) constants_.push_back(tensor);
    at->second.push_back(draft_number_[i]);
  }

  void add_inputs() {
    for (const auto* names : {&inference_.model_inputs(), &std::as_const(constants_)}) {
      for (const std::string& name : *names) {
        draft_.add_input(name, inference_.bytes_of(name), readers_[name]);
      }
    }
  }

  void warn_of_gaps() {
    std::size_t unknown = 0;
    std::string list;
    for (const auto& [type, count] : unknown_operators_) {
      unknown += count;
      list += (list.empty() ? "" : ", ") + std::to_string(count) + " " + type;
    }
    if (unknown > 0) {
      report_.warn({}, std::to_string(unknown) + " operators are not known (" + list +
                           "); each is costed as one FLOP an element that it reads or writes");
    }
    if (!unknown_shapes_.empty()) {
      report_.warn({},
                   std::to_string(unknown_shapes_.size()) +
                       " nodes have outputs of unknown shape (first: " + unknown_shapes_.front() +
                       "); their costs and bytes are too small. Shapes that the file states "
                       "(value_info) help");
    }
  }

  ImportReport report_;
  const ImportOptions& options_;
  OnnxInference inference_;
  ImportDraft draft_{CostUnit::kPhysical};
  std::vector<std::size_t> draft_number_;  // [nodes]
  std::vector<std::string> constants_;     // that operations read, by first use
  std::unordered_map<std::string, std::vector<std::size_t>> readers_;  // draft numbers, by tensor
  std::map<std::string, std::size_t> unknown_operators_;
  std::vector<std::string> unknown_shapes_;
};

}  // namespace

Imported import_onnx(std::string_view content, const std::string& file,
                     const ImportOptions& options) {
  return Drafter(content, file, options).draft();
}

}  // namespace doppler
