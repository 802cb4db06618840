// Small graph files of our own, one a format, with the peculiarities of real ones. The tests say
// what must come out; the fuzzers begin with them.
#ifndef DOPPLER_TESTS_SUPPORT_FORMAT_SAMPLES_H_
#define DOPPLER_TESTS_SUPPORT_FORMAT_SAMPLES_H_

#include <string>

namespace doppler::test {

// Four layers behind one input; ids from 1, in no order, one list-valued size, layer node5 free.
//   node1 (input) -> node2 -> node3 -> node4, node2 -> node5 -> node4
std::string pipedream_sample();

// Nodes 10 (weight, free) and 11 -> 12 -> 14, 11 -> 13 -> 14; 13 runs on no accelerator; 12 and 14
// share a colour; two accelerators of 1000 bytes, one CPU.
std::string dnn_partitioning_sample();
std::string dnn_split_sample();

// Four tasks between the dummies 0 and 5, ids in no order, a comment at the end.
//   1 -> 2, 1 -> 3, 2 -> 4, 3 -> 4
std::string stg_sample();

// Five nodes: chains, a subgraph as the end of an edge, defaults, comments, a negative and a
// missing size, a duplicate edge.
std::string dot_sample();

// Three tasks: a -> b, a -> c, b -> c; c reads two files; one file comes from outside.
std::string wfcommons_sample();

// Conv -> Relu -> MaxPool -> Flatten -> Gemm over one image of 1 x 8 x 8, weights by
// ConstantOfShape.
std::string onnx_sample();

// One attention head over [batch, 16, 8] with a shape that is computed on the way.
std::string onnx_attention_sample();

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_FORMAT_SAMPLES_H_
