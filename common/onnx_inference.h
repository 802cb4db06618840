// OnnxInference: what an ONNX model says about its tensors and nodes, and what follows from it:
// shapes, element types, constants, bytes and FLOPs.
#ifndef DOPPLER_COMMON_ONNX_INFERENCE_H_
#define DOPPLER_COMMON_ONNX_INFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/import.h"
#include "common/import_report.h"
#include "common/onnx_model.h"
#include "common/onnx_tensor_info.h"

namespace doppler {

class OnnxInference {
 public:
  struct Node {
    std::optional<double> flops;  // nothing: a shape that it depends on is unknown
    bool known = false;           // an operator that we know
    bool folded = false;          // makes the same in every run: no operation
  };

  // Infers all of it. Throws FormatError, through `report`, for a model that contradicts itself,
  // has a cycle, or leaves a dimension of an input open that `options` does not give. Both must
  // outlive it.
  OnnxInference(OnnxModel model, const ImportOptions& options, const ImportReport& report);

  const OnnxModel& model() const { return model_; }
  const Node& node(std::size_t i) const { return nodes_[i]; }
  // How messages call node i.
  std::string label(std::size_t i) const;
  // The node whose output is called so.
  std::optional<std::size_t> producer(const std::string& tensor) const;
  // Null for a name that nothing has.
  const OnnxTensorInfo* tensor(const std::string& name) const;
  // Of the tensor of that name; 0 where its shape is unknown.
  std::int64_t bytes_of(const std::string& name) const;
  // Without initializers, in the order of the file.
  const std::vector<std::string>& model_inputs() const { return model_inputs_; }

 private:
  void find_producers();
  void check_size(const std::string& name, const OnnxTensorInfo& info,
                  const std::string& field) const;
  void read_initializers();
  void read_inputs();
  std::int64_t size_of(const OnnxValue& input, std::size_t d) const;
  void read_stated_shapes();
  std::vector<std::size_t> topological_order() const;
  [[noreturn]] void fail_with_cycle(const std::vector<std::size_t>& waiting) const;
  void infer(std::size_t i);
  void complete(const OnnxNode& node, std::size_t o, OnnxTensorInfo& info) const;
  bool is_constant(const OnnxNode& node) const;

  OnnxModel model_;
  const ImportOptions& options_;
  const ImportReport& report_;
  std::unordered_map<std::string, std::size_t> producer_;  // node by output
  std::unordered_map<std::string, OnnxTensorInfo> tensors_;
  std::unordered_map<std::string, OnnxTensorInfo> stated_;
  std::vector<std::string> model_inputs_;
  std::vector<Node> nodes_;  // [nodes]
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_ONNX_INFERENCE_H_
