#include "gpuexec/reference_results.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpuexec/cpu_kernels.h"
#include "gpuexec/operation_work.h"

namespace doppler {
namespace {

using Tensor = std::vector<float>;

double evaluate(Function function, double x) {
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  switch (function) {
    case Function::kNone:
      return x;
    case Function::kRelu:
      return std::max(x, 0.0);
    case Function::kGelu:
      return x * sigmoid(1.702 * x);
    case Function::kSilu:
      return x * sigmoid(x);
    case Function::kSigmoid:
      return sigmoid(x);
    case Function::kTanh:
      return std::tanh(x);
    case Function::kExp:
      return std::exp(std::min(x, 1.0));
    case Function::kSquare:
      return x * x;
    case Function::kRsqrt:
      return 1 / std::sqrt(std::abs(x) + static_cast<double>(kSmall));
  }
  return 0;
}

double combine(Combination combination, double a, double b) {
  switch (combination) {
    case Combination::kSum:
      return a + b;
    case Combination::kDifference:
      return a - b;
    case Combination::kProduct:
      return a * b;
    case Combination::kQuotient:
      return a / (std::abs(b) + static_cast<double>(kSmall));
    case Combination::kMaximum:
      return std::max(a, b);
  }
  return 0;
}

// Reads side by side.
Tensor concatenate(const std::vector<Tensor>& reads, std::size_t first, std::size_t last) {
  Tensor all;
  for (std::size_t r = first; r < last; ++r)
    all.insert(all.end(), reads[r].begin(), reads[r].end());
  return all;
}

Tensor product(const OperationWork& work, const std::vector<Tensor>& reads) {
  const auto expand = [&](const Tensor& tensor) {
    Tensor expanded;
    for (int e = 0; e < work.expansion; ++e) {
      expanded.insert(expanded.end(), tensor.begin(), tensor.end());
    }
    return expanded;
  };
  const Tensor left = expand(concatenate(reads, 0, work.left_reads));
  const Tensor right = expand(concatenate(reads, work.left_reads, reads.size()));
  Tensor output;
  for (std::int64_t b = 0; b < work.batch; ++b) {
    for (std::int64_t i = 0; i < work.rows; ++i) {
      for (std::int64_t j = 0; j < work.columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < work.inner; ++k) {
          sum += static_cast<double>(
                     left[static_cast<std::size_t>((b * work.rows + i) * work.inner + k)]) *
                 static_cast<double>(
                     right[static_cast<std::size_t>((b * work.inner + k) * work.columns + j)]);
        }
        output.push_back(static_cast<float>(sum / std::sqrt(static_cast<double>(work.inner))));
      }
    }
  }
  Tensor folded(static_cast<std::size_t>(work.output_elements), 0.0F);
  for (std::size_t i = 0; i < output.size(); ++i) {
    folded[i % folded.size()] += output[i] / static_cast<float>(work.expansion);
  }
  return folded;
}

Tensor combination(const OperationWork& work, const std::vector<Tensor>& reads) {
  std::vector<double> values(static_cast<std::size_t>(work.output_elements), 0);
  for (const OperandPiece& piece : work.pieces) {
    for (std::int64_t i = 0; i < piece.length; ++i) {
      const std::int64_t from = piece.source + (piece.period > 0 ? i % piece.period : i);
      const auto operand = static_cast<double>(reads[piece.read][static_cast<std::size_t>(from)]);
      double& value = values[static_cast<std::size_t>(piece.target + i)];
      value = piece.first ? operand : combine(work.combination, value, operand);
    }
  }
  Tensor output;
  for (double value : values) output.push_back(static_cast<float>(evaluate(work.function, value)));
  return output;
}

Tensor by_rows(const OperationWork& work, const Tensor& input) {
  Tensor output;
  const auto axis = static_cast<std::size_t>(work.axis);
  for (std::size_t row = 0; row < input.size(); row += axis) {
    double total = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = row; i < row + axis; ++i) {
      largest = std::max(largest, static_cast<double>(input[i]));
    }
    for (std::size_t i = row; i < row + axis; ++i) {
      const auto x = static_cast<double>(input[i]);
      total += work.kind == WorkKind::kSoftmax ? std::exp(x - largest) : x * x;
    }
    for (std::size_t i = row; i < row + axis; ++i) {
      const auto x = static_cast<double>(input[i]);
      const double y = work.kind == WorkKind::kSoftmax
                           ? std::exp(x - largest) / total
                           : x / std::sqrt(total / static_cast<double>(work.axis) + 1e-6);
      output.push_back(static_cast<float>(y));
    }
  }
  return output;
}

Tensor synthetic(const OperationWork& work, const std::vector<Tensor>& reads) {
  const auto turns = static_cast<std::int64_t>(work.flops_per_element / 2 + 0.5);
  // x = a x + b, turns times, in closed form.
  const double power = std::pow(0.999, static_cast<double>(turns));
  Tensor output;
  double surplus = 0;
  for (const Tensor& read : reads) {
    for (auto i = static_cast<std::size_t>(work.output_elements); i < read.size(); ++i) {
      surplus += static_cast<double>(read[i]);
    }
  }
  for (std::int64_t i = 0; i < work.output_elements; ++i) {
    double mean = 0;
    for (const Tensor& read : reads) {
      mean += static_cast<double>(read[static_cast<std::size_t>(i) % read.size()]) /
              static_cast<double>(reads.size());
    }
    const double y = power * mean + 0.001 * (1 - power) / (1 - 0.999);
    output.push_back(static_cast<float>(i == 0 ? y + 1e-6 * surplus : y));
  }
  return output;
}

Tensor evaluate(const OperationWork& work, const std::vector<Tensor>& reads) {
  switch (work.kind) {
    case WorkKind::kProduct:
      return product(work, reads);
    case WorkKind::kCopy:
    case WorkKind::kCombine:
      return combination(work, reads);
    case WorkKind::kSoftmax:
    case WorkKind::kNormalise:
      return by_rows(work, reads[0]);
    case WorkKind::kSynthetic:
      break;
  }
  return synthetic(work, reads);
}

}  // namespace

std::vector<std::vector<float>> reference_results(const Graph& graph) {
  const std::vector<OperationWork> works = operation_works(graph);
  std::vector<std::vector<std::size_t>> inputs(graph.operation_count());
  std::vector<Tensor> input_tensors;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const InputTensor& input = graph.inputs()[i];
    for (OperationId consumer : input.consumers) inputs[consumer.index()].push_back(i);
    Tensor tensor(static_cast<std::size_t>(float_count(input.bytes)));
    fill_tensor(input_tensor(static_cast<std::int32_t>(i)), tensor.data(),
                float_count(input.bytes));
    input_tensors.push_back(std::move(tensor));
  }
  std::vector<Tensor> outputs(graph.operation_count());
  for (OperationId id : graph.topological_order()) {
    Tensor& output = outputs[id.index()];
    const OperationWork& work = works[id.index()];
    std::int64_t elements = work.output_elements;  // of the whole buffer
    for (std::size_t i = 0; i < graph.out_degree(id); ++i) {
      const EdgeId edge(graph.first_out_edge(id).value() + static_cast<std::int32_t>(i));
      elements = std::max(elements, float_count(graph.edge_bytes(edge)));
    }
    if (graph.in_degree(id) == 0 && graph.operation(id).kind == "input") {
      output.resize(static_cast<std::size_t>(elements));
      fill_tensor(given_tensor(id.value()), output.data(), elements);
      continue;
    }
    std::vector<Tensor> reads;
    const auto predecessors = graph.predecessors(id);
    for (std::size_t i = 0; i < predecessors.size(); ++i) {
      const Tensor& source = outputs[predecessors[i].index()];
      const std::int64_t count = float_count(graph.edge_bytes(graph.in_edges(id)[i]));
      reads.emplace_back(source.begin(), source.begin() + count);
    }
    for (std::size_t input : inputs[id.index()]) reads.push_back(input_tensors[input]);
    output = evaluate(work, reads);
    output.resize(static_cast<std::size_t>(elements), 0.0F);
  }
  std::vector<Tensor> results;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (graph.out_degree(OperationId(static_cast<std::int32_t>(o))) == 0) {
      results.push_back(std::move(outputs[o]));
    }
  }
  return results;
}

double relative_error(const std::vector<float>& expected, const std::vector<float>& actual) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (expected.size() != actual.size()) return kInfinite;
  double largest = 0;
  double error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto e = static_cast<double>(expected[i]);
    const auto a = static_cast<double>(actual[i]);
    if (!std::isfinite(a) || !std::isfinite(e)) return kInfinite;
    largest = std::max(largest, std::abs(e));
    error = std::max(error, std::abs(e - a));
  }
  return error == 0 ? 0 : error / (largest > 0 ? largest : 1);
}

}  // namespace doppler
