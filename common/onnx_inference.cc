#include "common/onnx_inference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include "common/nearest_name.h"
#include "common/onnx_costs.h"
#include "common/onnx_shapes.h"
#include "common/onnx_values.h"
#include "common/text_check.h"

namespace doppler {
namespace {

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 48;
constexpr double kMostBytes = 4611686018427387904.0;  // 2^62

std::string symbol_of(const OnnxValue& value, std::size_t d) {
  const std::string& symbol = (*value.dimensions)[d].symbol;
  return symbol.empty() ? value.name + "[" + std::to_string(d) + "]" : symbol;
}

}  // namespace

OnnxInference::OnnxInference(OnnxModel model, const ImportOptions& options,
                             const ImportReport& report)
    : model_(std::move(model)), options_(options), report_(report), nodes_(model_.nodes.size()) {
  find_producers();
  read_initializers();
  read_inputs();
  read_stated_shapes();
  for (std::size_t i : topological_order()) infer(i);
}

std::string OnnxInference::label(std::size_t i) const {
  const OnnxNode& node = model_.nodes[i];
  return "node " + (node.name.empty() ? std::to_string(i) : node.name) + " (" + node.operator_type +
         ")";
}

std::optional<std::size_t> OnnxInference::producer(const std::string& tensor) const {
  const auto at = producer_.find(tensor);
  return at == producer_.end() ? std::nullopt : std::optional(at->second);
}

const OnnxTensorInfo* OnnxInference::tensor(const std::string& name) const {
  const auto at = name.empty() ? tensors_.end() : tensors_.find(name);
  return at == tensors_.end() ? nullptr : &at->second;
}

void OnnxInference::find_producers() {
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

void OnnxInference::check_size(const std::string& name, const OnnxTensorInfo& info,
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

std::int64_t OnnxInference::bytes_of(const std::string& name) const {
  const auto at = tensors_.find(name);
  if (at == tensors_.end() || !at->second.shape) return 0;
  int bits = onnx_element_bits(at->second.element_type);
  if (bits == 0) bits = 32;
  return static_cast<std::int64_t>(std::ceil(onnx_element_count(*at->second.shape) * bits / 8));
}

void OnnxInference::read_initializers() {
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

void OnnxInference::read_inputs() {
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

std::int64_t OnnxInference::size_of(const OnnxValue& input, std::size_t d) const {
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
void OnnxInference::read_stated_shapes() {
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
std::vector<std::size_t> OnnxInference::topological_order() const {
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

void OnnxInference::fail_with_cycle(const std::vector<std::size_t>& waiting) const {
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

// Shapes, constants and FLOPs of node i; its producers have been here.
void OnnxInference::infer(std::size_t i) {
  const OnnxNode& node = model_.nodes[i];
  for (const std::string& name : node.inputs) {
    if (name.empty() || tensors_.contains(name)) continue;
    report_.fail(
        {}, label(i),
        "its input " + quote(name) + " is neither an input of the model nor the output of a node");
  }
  std::vector<const OnnxTensorInfo*> inputs;
  for (const std::string& name : node.inputs) inputs.push_back(tensor(name));
  const OnnxNodeView shapes(node, label(i), std::move(inputs), report_);
  std::vector<OnnxTensorInfo> outputs = infer_onnx_shapes(shapes);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    complete(node, o, outputs[o]);
    check_size(node.outputs[o], outputs[o], label(i));
  }
  if (!outputs.empty()) outputs[0].values = fold_onnx_values(shapes, outputs[0]);

  Node& inferred = nodes_[i];
  inferred.flops = count_onnx_flops(shapes, outputs);
  inferred.known = node.domain.empty() && knows_onnx_operator(node.operator_type);
  inferred.folded = is_constant(node) || (outputs.size() == 1 && outputs[0].values);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    outputs[o].constant = inferred.folded;
    if (!node.outputs[o].empty()) tensors_[node.outputs[o]] = std::move(outputs[o]);
  }
}

// What inference left open and the file states.
void OnnxInference::complete(const OnnxNode& node, std::size_t o, OnnxTensorInfo& info) const {
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
bool OnnxInference::is_constant(const OnnxNode& node) const {
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

}  // namespace doppler
