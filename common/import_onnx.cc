#include "common/import_onnx.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/import_draft.h"
#include "common/nearest_name.h"
#include "common/onnx_costs.h"
#include "common/onnx_model.h"
#include "common/onnx_shapes.h"
#include "common/onnx_values.h"
#include "common/text_check.h"

namespace doppler {
namespace {

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 48;
constexpr double kMostBytes = 4611686018427387904.0;  // 2^62
constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

class Reader {
 public:
  Reader(const std::string& file, const ImportOptions& options)
      : report_(file), options_(options) {}

  Imported read(std::string_view content) {
    if (content.empty()) report_.fail({}, "", "is empty; this is no ONNX model");
    model_ = parse_onnx(content, report_);
    if (model_.nodes.empty()) report_.fail({}, "graph", "has no nodes; nothing can be placed");
    find_producers();
    read_initializers();
    read_inputs();
    read_stated_shapes();
    const std::vector<std::size_t> order = topological_order();
    draft_number_.assign(model_.nodes.size(), kNoNode);
    operations_.resize(model_.nodes.size());
    for (std::size_t i : order) infer(i);
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) add_operation(i);
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) add_edges(i);
    add_inputs();
    warn_of_gaps();
    return std::move(draft_).finish(graph_name_of(report_.file()), options_, report_);
  }

 private:
  // How messages call a node.
  std::string label(std::size_t i) const {
    const OnnxNode& node = model_.nodes[i];
    return "node " + (node.name.empty() ? std::to_string(i) : node.name) + " (" +
           node.operator_type + ")";
  }

  void find_producers() {
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      for (const std::string& output : model_.nodes[i].outputs) {
        if (output.empty()) continue;
        if (!producer_.emplace(output, i).second) {
          report_.fail({}, label(i),
                       "its output " + quote(output) +
                           " has another producer: " + label(producer_.at(output)));
        }
      }
    }
  }

  void check_size(const std::string& name, const OnnxTensorInfo& info,
                  const std::string& field) const {
    if (!info.shape) return;
    for (std::int64_t extent : *info.shape) {
      if (extent < 0 || extent > kLargestExtent) {
        report_.fail({}, field,
                     "tensor " + quote(name) + " has the dimension " + std::to_string(extent) +
                         ", which is out of range");
      }
    }
    if (!(onnx_element_count(*info.shape) * 16 <= kMostBytes)) {
      report_.fail({}, field, "tensor " + quote(name) + " has more than 2^62 bytes");
    }
  }

  std::int64_t bytes_of(const std::string& name) const {
    const auto at = tensors_.find(name);
    if (at == tensors_.end() || !at->second.shape) return 0;
    int bits = onnx_element_bits(at->second.element_type);
    if (bits == 0) bits = 32;
    return static_cast<std::int64_t>(std::ceil(onnx_element_count(*at->second.shape) * bits / 8));
  }

  void read_initializers() {
    for (OnnxTensor& tensor : model_.initializers) {
      OnnxTensorInfo info{.shape = std::move(tensor.dimensions),
                          .element_type = tensor.element_type,
                          .values = std::move(tensor.values),
                          .constant = true};
      check_size(tensor.name, info, "initializer");
      if (producer_.contains(tensor.name) || tensors_.contains(tensor.name)) {
        report_.fail({}, "initializer", quote(tensor.name) + " is defined twice");
      }
      tensors_.emplace(tensor.name, std::move(info));
    }
  }

  void read_inputs() {
    std::set<std::string> symbols;
    for (const OnnxValue& input : model_.inputs) {
      for (std::size_t d = 0; input.dimensions && d < input.dimensions->size(); ++d) {
        if (!(*input.dimensions)[d].size) symbols.insert(symbol_of(input, d));
      }
      if (tensors_.contains(input.name)) continue;  // an initializer; old files list them here
      if (producer_.contains(input.name)) {
        report_.fail({}, "input", quote(input.name) + " is the output of a node as well");
      }
      if (!input.dimensions) {
        report_.fail({}, "input " + input.name,
                     "states no shape, or is no tensor; write the shape into the model");
      }
      OnnxTensorInfo info;
      info.element_type = input.element_type;
      info.shape.emplace();
      for (std::size_t d = 0; d < input.dimensions->size(); ++d) {
        info.shape->push_back(size_of(input, d));
      }
      check_size(input.name, info, "input");
      tensors_.emplace(input.name, std::move(info));
      model_inputs_.push_back(input.name);
    }
    const std::vector<std::string> known(symbols.begin(), symbols.end());
    for (const auto& [name, size] : options_.dimensions) {
      if (symbols.contains(name)) continue;
      report_.fail({}, "--dimension",
                   "no input has a dimension " + quote(name) +
                       (known.empty() ? "; all have a size" : suggest_name(name, known)));
    }
  }

  static std::string symbol_of(const OnnxValue& value, std::size_t d) {
    const std::string& symbol = (*value.dimensions)[d].symbol;
    return symbol.empty() ? value.name + "[" + std::to_string(d) + "]" : symbol;
  }

  std::int64_t size_of(const OnnxValue& input, std::size_t d) const {
    const OnnxDimension& dimension = (*input.dimensions)[d];
    if (dimension.size) return *dimension.size;
    const std::string symbol = symbol_of(input, d);
    const auto at = options_.dimensions.find(symbol);
    if (at == options_.dimensions.end()) {
      report_.fail({}, "input " + input.name,
                   "dimension " + std::to_string(d) +
                       " is symbolic; give it a size with "
                       "--dimension " +
                       quote(symbol + "=1"));
    }
    return at->second;
  }

  // What value_info and the outputs of the model say, where every dimension has a size.
  void read_stated_shapes() {
    for (const auto* values : {&model_.values, &model_.outputs}) {
      for (const OnnxValue& value : *values) {
        OnnxTensorInfo info;
        info.element_type = value.element_type;
        if (value.dimensions) {
          OnnxShape shape;
          for (std::size_t d = 0; d < value.dimensions->size(); ++d) {
            const OnnxDimension& dimension = (*value.dimensions)[d];
            const auto bound = options_.dimensions.find(symbol_of(value, d));
            if (dimension.size) {
              shape.push_back(*dimension.size);
            } else if (bound != options_.dimensions.end()) {
              shape.push_back(bound->second);
            }
          }
          if (shape.size() == value.dimensions->size()) info.shape = std::move(shape);
        }
        check_size(value.name, info, "value_info");
        stated_.emplace(value.name, std::move(info));
      }
    }
  }

  // Files should be in this order, but need not be. Of those possible, first come first.
  std::vector<std::size_t> topological_order() const {
    const std::size_t count = model_.nodes.size();
    std::vector<std::vector<std::size_t>> readers(count);
    std::vector<std::size_t> waiting(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::string& input : model_.nodes[i].inputs) {
        const auto at = producer_.find(input);
        if (input.empty() || at == producer_.end()) continue;
        readers[at->second].push_back(i);
        ++waiting[i];
      }
    }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < count; ++i) {
      if (waiting[i] == 0) ready.push(i);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const std::size_t i = ready.top();
      ready.pop();
      order.push_back(i);
      for (std::size_t reader : readers[i]) {
        if (--waiting[reader] == 0) ready.push(reader);
      }
    }
    if (order.size() < count) fail_with_cycle(waiting);
    return order;
  }

  [[noreturn]] void fail_with_cycle(const std::vector<std::size_t>& waiting) const {
    // Every node that still waits has a producer that waits: walk back until one repeats.
    std::size_t current = 0;
    while (waiting[current] == 0) ++current;
    std::vector<std::size_t> path;
    std::set<std::size_t> seen;
    while (seen.insert(current).second) {
      path.push_back(current);
      for (const std::string& input : model_.nodes[current].inputs) {
        const auto at = producer_.find(input);
        if (input.empty() || at == producer_.end() || waiting[at->second] == 0) continue;
        current = at->second;
        break;
      }
    }
    std::string text = label(current);
    for (std::size_t i = path.size(); i-- > 0;) {
      text += " -> " + label(path[i]);
      if (path[i] == current) break;
    }
    report_.fail({}, "graph", "has a cycle: " + text + "; a dataflow graph must not feed itself");
  }

  OnnxNodeView view(std::size_t i) const {
    std::vector<const OnnxTensorInfo*> inputs;
    for (const std::string& name : model_.nodes[i].inputs) {
      const auto at = tensors_.find(name);
      inputs.push_back(name.empty() || at == tensors_.end() ? nullptr : &at->second);
    }
    return {model_.nodes[i], label(i), std::move(inputs), report_};
  }

  // Shapes, constants and FLOPs of node i; its producers have been here.
  void infer(std::size_t i) {
    const OnnxNode& node = model_.nodes[i];
    for (const std::string& name : node.inputs) {
      if (name.empty() || tensors_.contains(name)) continue;
      report_.fail({}, label(i),
                   "its input " + quote(name) +
                       " is neither an input of the model nor the output of a node");
    }
    const OnnxNodeView shapes = view(i);
    std::vector<OnnxTensorInfo> outputs = infer_onnx_shapes(shapes);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      complete(node, o, outputs[o]);
      check_size(node.outputs[o], outputs[o], label(i));
    }
    if (!outputs.empty()) outputs[0].values = fold_onnx_values(shapes, outputs[0]);

    Inferred& operation = operations_[i];
    operation.flops = count_onnx_flops(shapes, outputs);
    operation.known = node.domain.empty() && knows_onnx_operator(node.operator_type);
    operation.folded = is_constant(node) || (outputs.size() == 1 && outputs[0].values);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      outputs[o].constant = operation.folded;
      if (!node.outputs[o].empty()) tensors_[node.outputs[o]] = std::move(outputs[o]);
    }
  }

  // What inference left open and the file states.
  void complete(const OnnxNode& node, std::size_t o, OnnxTensorInfo& info) const {
    const auto at = stated_.find(node.outputs[o]);
    if (at != stated_.end()) {
      if (!info.shape) info.shape = at->second.shape;
      if (info.element_type == 0) info.element_type = at->second.element_type;
    }
    if (info.element_type == 0 && !node.inputs.empty()) {
      const auto first = tensors_.find(node.inputs.front());
      if (first != tensors_.end()) info.element_type = first->second.element_type;
    }
  }

  // Whether the node makes the same in every run.
  bool is_constant(const OnnxNode& node) const {
    if (node.operator_type == "Constant") return true;
    if (node.operator_type.starts_with("Random") || node.operator_type == "Multinomial") {
      return false;
    }
    bool any = false;
    for (const std::string& name : node.inputs) {
      if (name.empty()) continue;
      any = true;
      if (!tensors_.at(name).constant) return false;
    }
    const bool has_graph =
        std::any_of(node.attributes.begin(), node.attributes.end(),
                    [](const auto& attribute) { return attribute.second.has_graph; });
    return any && !has_graph;
  }

  void add_operation(std::size_t i) {
    const OnnxNode& node = model_.nodes[i];
    if (operations_[i].folded) return;
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
      const OnnxTensorInfo& info = tensors_.at(output);
      bytes += static_cast<double>(bytes_of(output));
      if (info.shape) elements += onnx_element_count(*info.shape);
      unknown_shape = unknown_shape || !info.shape;
    }
    const auto rounded = to_bytes(bytes);
    if (!rounded) report_.fail({}, label(i), "has more than 2^62 bytes of outputs");
    operation.output_bytes = *rounded;
    if (!node.outputs.empty() && tensors_.contains(node.outputs.front())) {
      operation.output_shape = tensors_.at(node.outputs.front()).shape.value_or(OnnxShape());
    }
    if (operations_[i].flops) {
      operation.flops = *operations_[i].flops;
    } else {
      operation.flops = elements + input_elements(node);
    }
    if (!operations_[i].known) {
      ++unknown_operators_[node.operator_type];
    } else if (unknown_shape || !operations_[i].flops) {
      unknown_shapes_.push_back(label(i));
    }
    if (!std::isfinite(operation.flops)) report_.fail({}, label(i), "its FLOPs are out of range");
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
      const auto at = tensors_.find(input);
      if (at == tensors_.end() || !at->second.shape) continue;
      elements += onnx_element_count(*at->second.shape);
    }
    return elements;
  }

  void add_edges(std::size_t i) {
    if (operations_[i].folded) return;
    const OnnxNode& node = model_.nodes[i];
    std::vector<std::size_t> sources;           // by first use
    std::map<std::size_t, std::int64_t> bytes;  // by source
    std::set<std::string> seen;
    const std::optional<std::size_t> first_parameter =
        node.domain.empty() ? first_onnx_parameter(node.operator_type) : std::nullopt;
    for (std::size_t n = 0; n < node.inputs.size(); ++n) {
      const std::string& name = node.inputs[n];
      if (name.empty() || !seen.insert(name).second) continue;
      const auto producer = producer_.find(name);
      const bool moves = producer != producer_.end() && !operations_[producer->second].folded;
      if (!moves) {
        const bool is_parameter = first_parameter && n >= *first_parameter;
        if (!(is_parameter && tensors_.at(name).constant)) add_reader(name, i);
        continue;
      }
      const auto [at, is_new] = bytes.emplace(producer->second, 0);
      if (is_new) sources.push_back(producer->second);
      at->second += bytes_of(name);
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
    if (is_new && tensors_.at(tensor).constant) constants_.push_back(tensor);
    at->second.push_back(draft_number_[i]);
  }

  void add_inputs() {
    for (const auto* names : {&model_inputs_, &constants_}) {
      for (const std::string& name : *names) {
        draft_.add_input(name, bytes_of(name), readers_[name]);
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

  struct Inferred {
    std::optional<double> flops;
    bool known = false;
    bool folded = false;
  };

  ImportReport report_;
  const ImportOptions& options_;
  ImportDraft draft_{CostUnit::kPhysical};
  OnnxModel model_;
  std::unordered_map<std::string, std::size_t> producer_;  // node by output
  std::unordered_map<std::string, OnnxTensorInfo> tensors_;
  std::unordered_map<std::string, OnnxTensorInfo> stated_;
  std::vector<std::string> model_inputs_;  // without initializers
  std::vector<std::string> constants_;     // that operations read, by first use
  std::unordered_map<std::string, std::vector<std::size_t>> readers_;  // draft numbers, by tensor
  std::vector<Inferred> operations_;                                   // [nodes]
  std::vector<std::size_t> draft_number_;                              // [nodes]
  std::map<std::string, std::size_t> unknown_operators_;
  std::vector<std::string> unknown_shapes_;
};

}  // namespace

Imported import_onnx(std::string_view content, const std::string& file,
                     const ImportOptions& options) {
  return Reader(file, options).read(content);
}

}  // namespace doppler
