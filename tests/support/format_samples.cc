#include "tests/support/format_samples.h"

#include "tests/support/onnx_writer.h"

namespace doppler::test {

std::string pipedream_sample() {
  return "node3 -- ReLU(inplace) -- forward_compute_time=0.500, backward_compute_time=0.250, "
         "activation_size=400.000, parameter_size=0.000\n"
         "node1 -- Input0 -- forward_compute_time=0.000, backward_compute_time=0.000, "
         "activation_size=100.0, parameter_size=0.000\n"
         "node2 -- Conv2d(3, 64, kernel_size=(3, 3), stride=(1, 1)) -- forward_compute_time=2.000, "
         "backward_compute_time=4.000, activation_size=[300.0; 60.0; 40.5], "
         "parameter_size=1200.000\n"
         "node4 -- Linear(in_features=9, out_features=4, bias=True) -- "
         "forward_compute_time=1.250, backward_compute_time=2.500, activation_size=16.000, "
         "parameter_size=160.000\n"
         "node5 -- View(9216) -- forward_compute_time=0.000, backward_compute_time=0.000, "
         "activation_size=400.000, parameter_size=0.000\n"
         "\tnode1 -- node2\n"
         "\tnode2 -- node3\n"
         "\tnode3 -- node4\n"
         "\tnode2 -- node5\n"
         "\tnode5 -- node4\n";
}

std::string dnn_partitioning_sample() {
  return R"({"maxSizePerFPGA": 1000.0, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
  {"name": "weight", "id": 10, "supportedOnFpga": true, "cpuLatency": 0, "fpgaLatency": 0,
   "isBackwardNode": false, "colorClass": 3, "size": 64.0},
  {"name": "first", "id": 11, "supportedOnFpga": 1, "cpuLatency": 20.0, "fpgaLatency": 2.0,
   "isBackwardNode": false, "colorClass": 1, "layerId": 1, "size": 300.0},
  {"name": "left", "id": 12, "supportedOnFpga": 1, "cpuLatency": 10.0, "fpgaLatency": 1.0,
   "isBackwardNode": false, "colorClass": 2, "size": 50.0},
  {"name": "right", "id": 13, "supportedOnFpga": 0, "cpuLatency": 5.0, "fpgaLatency": 0.0,
   "isBackwardNode": false, "size": 50.0},
  {"name": "last", "id": 14, "supportedOnFpga": 1, "cpuLatency": 1.0, "fpgaLatency": 0.1,
   "isBackwardNode": true, "colorClass": 2, "size": 8.0}],
 "edges": [
  {"sourceId": 10, "destId": 11, "cost": 0.064, "size": 64.0},
  {"sourceId": 11, "destId": 12, "cost": 0.1, "size": 100.0},
  {"sourceId": 11, "destId": 13, "cost": 0.1, "size": 100.0},
  {"sourceId": 12, "destId": 14, "cost": 0.05, "size": 50.0},
  {"sourceId": 13, "destId": 14, "cost": 0.05, "size": 50.0}]}
)";
}

std::string dnn_split_sample() {
  return R"({"cpus": [{"load": 0.0, "nodes": [13]}],
 "fpgas": [{"load": -1, "nodes": [10, 11]}, {"load": -1, "nodes": [14, 12]}], "maxLoad": -1}
)";
}

std::string stg_sample() {
  return "          4\n"
         "          0          0          0\n"
         "          2          7          1          1\n"
         "          1          3          1          0\n"
         "          3          5          1          1\n"
         "          4          2          2          2          3\n"
         "          5          0          1          4\n"
         "# Task Graph Generator  : none\n"
         "#\n";
}

std::string dot_sample() {
  return R"(/* a fork and a join */
strict digraph "fork join" {
  rankdir=LR; node [shape=box, size=10]; // a default
  a [size="100.5" category="source"];
  b [size=200]
  subgraph cluster_0 { c; d [size="3" + "0"]; }
# a line of a preprocessor
  a -> b [size="1e3"];
  a -> {c d} [size=50];
  b -> e:port:n [size=-1];
  c -> e [size=20.5]; d -> e;
  c -> e [size=25];
}
)";
}

std::string wfcommons_sample() {
  return R"({"name": "sample", "schemaVersion": "1.5", "workflow": {"specification": {
 "tasks": [
  {"name": "a", "id": "a", "parents": [], "children": ["b", "c"],
   "inputFiles": ["raw"], "outputFiles": ["x", "y"]},
  {"name": "b", "id": "b", "parents": ["a"], "children": ["c"],
   "inputFiles": ["x"], "outputFiles": ["z"]},
  {"name": "c", "id": "c", "parents": ["a", "b"], "children": [],
   "inputFiles": ["y", "z"], "outputFiles": ["result"]}],
 "files": [{"id": "raw", "sizeInBytes": 1000}, {"id": "x", "sizeInBytes": 10},
  {"id": "y", "sizeInBytes": 20}, {"id": "z", "sizeInBytes": 5},
  {"id": "result", "sizeInBytes": 1}]},
 "execution": {"makespanInSeconds": 9, "tasks": [
  {"id": "a", "runtimeInSeconds": 1.5, "command": {"program": "split"}, "machines": ["m1"]},
  {"id": "b", "runtimeInSeconds": 2, "machines": ["m1"]},
  {"id": "c", "runtimeInSeconds": 0.25, "command": {"program": "join"}, "machines": ["m2"]}]}}}
)";
}

std::string onnx_sample() {
  const std::string zero = onnx_tensor_attribute("value", onnx_tensor("", {1}));
  return onnx_model(
      {.nodes = {onnx_node("ConstantOfShape", {"w_shape"}, {"w"}, {zero}),
                 onnx_node("ConstantOfShape", {"b_shape"}, {"b"}, {zero}),
                 onnx_node(
                     "Conv", {"image", "w", "b"}, {"c"},
                     {onnx_integers("kernel_shape", {3, 3}), onnx_integers("pads", {1, 1, 1, 1})},
                     "conv1"),
                 onnx_node("Relu", {"c"}, {"r"}),
                 onnx_node(
                     "MaxPool", {"r"}, {"p"},
                     {onnx_integers("kernel_shape", {2, 2}), onnx_integers("strides", {2, 2})}),
                 onnx_node("Flatten", {"p"}, {"f"}),
                 onnx_node("Gemm", {"f", "fc", "fc_bias"}, {"y"}, {onnx_integer("transB", 1)})},
       .initializers = {onnx_tensor("w_shape", {4}, kOnnxInt64, {4, 1, 3, 3}),
                        onnx_tensor("b_shape", {1}, kOnnxInt64, {4}), onnx_tensor("fc", {10, 64}),
                        onnx_tensor("fc_bias", {10})},
       .inputs = {onnx_value("image", {"1", "1", "8", "8"}),
                  onnx_value("w_shape", {"4"}, kOnnxInt64)},
       .outputs = {onnx_value("y", {"1", "10"})},
       .values = {}});
}

std::string onnx_attention_sample() {
  return onnx_model(
      {.nodes = {onnx_node("MatMul", {"x", "wq"}, {"q"}), onnx_node("MatMul", {"x", "wk"}, {"k"}),
                 onnx_node("MatMul", {"x", "wv"}, {"v"}),
                 onnx_node("Transpose", {"k"}, {"kt"}, {onnx_integers("perm", {0, 2, 1})}),
                 onnx_node("MatMul", {"q", "kt"}, {"s"}),
                 onnx_node("Softmax", {"s"}, {"a"}, {onnx_integer("axis", -1)}),
                 onnx_node("MatMul", {"a", "v"}, {"o"}), onnx_node("Shape", {"x"}, {"x_shape"}),
                 onnx_node("Gather", {"x_shape", "zero"}, {"batch"}),
                 onnx_node("Unsqueeze", {"batch", "axes"}, {"batch_list"}),
                 onnx_node("Concat", {"batch_list", "minus_one"}, {"flat"},
                           {onnx_integer("axis", 0)}),
                 onnx_node("Reshape", {"o", "flat"}, {"y"})},
       .initializers = {onnx_tensor("wq", {8, 8}), onnx_tensor("wk", {8, 8}),
                        onnx_tensor("wv", {8, 8}), onnx_tensor("zero", {}, kOnnxInt64, {0}),
                        onnx_tensor("axes", {1}, kOnnxInt64, {0}),
                        onnx_tensor("minus_one", {1}, kOnnxInt64, {-1})},
       .inputs = {onnx_value("x", {"batch", "16", "8"})},
       .outputs = {onnx_value("y", {"batch", "flat"})},
       .values = {}});
}

}  // namespace doppler::test
