#include "gpuexec/operation_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

namespace doppler {
namespace {

// An elementwise operation that states more has another meaning than ours.
constexpr double kMostFlopsPerElement = 100;
constexpr std::int64_t kFloatBytes = 4;

struct KindMeaning {
  WorkKind kind;
  Combination combination = Combination::kSum;
  Function function = Function::kNone;
};

// Kinds with the same traffic share a kernel: what counts is the time, and that the result depends
// on all operands.
const std::map<std::string, KindMeaning>& meanings() {
  constexpr auto kCombine = WorkKind::kCombine;
  constexpr auto kSum = Combination::kSum;
  static const std::map<std::string, KindMeaning> known = {
      {"matmul", {WorkKind::kProduct}},
      {"gemm", {WorkKind::kProduct}},
      {"mm", {WorkKind::kProduct}},
      {"bmm", {WorkKind::kProduct}},
      {"einsum", {WorkKind::kProduct}},
      {"linear", {WorkKind::kProduct}},
      {"add", {kCombine}},
      {"sum", {kCombine}},
      {"reduce", {kCombine}},
      {"formation", {kCombine}},
      {"mean", {kCombine}},
      {"max", {kCombine, Combination::kMaximum}},
      {"elementwise", {kCombine}},
      {"combine", {kCombine}},
      {"subtract", {kCombine, Combination::kDifference}},
      {"step", {kCombine, Combination::kDifference}},
      {"multiply", {kCombine, Combination::kProduct}},
      {"divide", {kCombine, Combination::kQuotient}},
      {"relu-gradient", {kCombine, Combination::kProduct}},
      {"rotary", {kCombine, Combination::kProduct}},
      {"relu", {kCombine, kSum, Function::kRelu}},
      {"gelu", {kCombine, kSum, Function::kGelu}},
      {"silu", {kCombine, kSum, Function::kSilu}},
      {"sigmoid", {kCombine, kSum, Function::kSigmoid}},
      {"tanh", {kCombine, kSum, Function::kTanh}},
      {"exp", {kCombine, kSum, Function::kExp}},
      {"square", {kCombine, kSum, Function::kSquare}},
      {"rsqrt", {kCombine, kSum, Function::kRsqrt}},
      {"softmax", {WorkKind::kSoftmax}},
      {"layernorm", {WorkKind::kNormalise}},
      {"rmsnorm", {WorkKind::kNormalise}},
      {"copy", {WorkKind::kCopy}},
      {"input", {WorkKind::kCopy}},
      {"gather", {WorkKind::kCopy}},
      {"select", {WorkKind::kCopy}},
      {"concat", {WorkKind::kCopy}},
      {"reshape", {WorkKind::kCopy}},
      {"transpose", {WorkKind::kCopy}},
      {"cast", {WorkKind::kCopy}},
      {"slice", {WorkKind::kCopy}},
      {"embedding", {WorkKind::kCopy}},
  };
  return known;
}

// The whole number that `value` is, if it is one and positive.
std::optional<std::int64_t> whole(double value) {
  if (!(value >= 1) || value > 0x1p53 || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// Operands of left = [batch, rows, inner] and right = [batch, inner, columns] elements whose
// product has as many elements and FLOPs as `work` and `flops` say.
bool fit_product(OperationWork& work, double flops, double left, double right) {
  const auto output = static_cast<double>(work.output_elements * work.expansion);
  left *= work.expansion;
  right *= work.expansion;
  const auto inner = whole(flops / (2 * output));
  if (!inner) return false;
  const auto k = static_cast<double>(*inner);
  const auto batch = whole(left * right / (k * k * output));
  if (!batch) return false;
  const auto g = static_cast<double>(*batch);
  const auto rows = whole(left / (g * k));
  const auto columns = whole(right / (g * k));
  if (!rows || !columns || *batch * *rows * *columns != work.output_elements * work.expansion)
    return false;
  work.batch = *batch;
  work.rows = *rows;
  work.columns = *columns;
  work.inner = *inner;
  return true;
}

bool set_product(OperationWork& work, double flops) {
  const std::vector<std::int64_t>& sizes = work.read_elements;
  const auto total =
      static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
  std::optional<OperationWork> found;
  double left = 0;
  for (std::size_t split = 1; split < sizes.size(); ++split) {
    left += static_cast<double>(sizes[split - 1]);
    OperationWork candidate = work;
    if (!fit_product(candidate, flops, left, total - left)) continue;
    candidate.left_reads = split;
    const bool expanded = work.expansion > 1;
    const auto add_scratch = [&](double elements) {
      candidate.scratch_elements += work.expansion * static_cast<std::int64_t>(elements);
    };
    if (split > 1 || expanded) add_scratch(left);
    if (sizes.size() - split > 1 || expanded) add_scratch(total - left);
    if (expanded) add_scratch(static_cast<double>(work.output_elements));
    if (!found || (found->batch > 1 && candidate.batch == 1)) found = std::move(candidate);
  }
  if (!found) return false;
  work = std::move(*found);
  work.kind = WorkKind::kProduct;
  return true;
}

// Cuts the reads into operands of the length of the output.
bool set_pieces(OperationWork& work) {
  const std::vector<std::int64_t>& sizes = work.read_elements;
  const std::int64_t length = work.output_elements;
  bool first = true;
  for (std::size_t r = 0; r < sizes.size();) {
    if (sizes[r] >= length) {
      if (sizes[r] % length != 0) return false;
      for (std::int64_t at = 0; at < sizes[r]; at += length) {
        work.pieces.push_back(
            {.read = r, .source = at, .target = 0, .length = length, .period = 0, .first = first});
        first = false;
      }
      ++r;
      continue;
    }
    // Shorter ones that fill the output together lie side by side; else each is repeated.
    std::size_t end = r;
    std::int64_t filled = 0;
    while (end < sizes.size() && filled < length) filled += sizes[end++];
    if (filled == length && end - r > 1) {
      for (std::int64_t at = 0; r < end; at += sizes[r++]) {
        work.pieces.push_back({.read = r,
                               .source = 0,
                               .target = at,
                               .length = sizes[r],
                               .period = 0,
                               .first = first});
      }
    } else {
      if (length % sizes[r] != 0) return false;
      work.pieces.push_back({.read = r,
                             .source = 0,
                             .target = 0,
                             .length = length,
                             .period = sizes[r],
                             .first = first});
      ++r;
    }
    first = false;
  }
  return !work.pieces.empty();
}

// One after the other, cut off; what is left is filled from the first, repeated.
void set_copied_pieces(OperationWork& work) {
  const std::vector<std::int64_t>& sizes = work.read_elements;
  std::int64_t at = 0;
  for (std::size_t r = 0; r < sizes.size() && at < work.output_elements; ++r) {
    const std::int64_t length = std::min(sizes[r], work.output_elements - at);
    work.pieces.push_back(
        {.read = r, .source = 0, .target = at, .length = length, .period = 0, .first = true});
    at += length;
  }
  if (at == work.output_elements) return;
  work.pieces.push_back({.read = 0,
                         .source = 0,
                         .target = at,
                         .length = work.output_elements - at,
                         .period = sizes[0],
                         .first = true});
}

bool set_rows(OperationWork& work, const Operation& operation, WorkKind kind) {
  if (operation.output_shape.empty() || work.read_elements.empty()) return false;
  const std::int64_t axis = operation.output_shape.back();
  if (axis < 1 || work.output_elements % axis != 0) return false;
  if (work.read_elements.front() != work.output_elements) return false;
  work.axis = axis;
  work.kind = kind;
  return true;
}

OperationWork make_work(const Operation& operation, std::vector<std::int64_t> read_elements) {
  OperationWork work;
  work.output_elements = float_count(operation.output_bytes);
  work.read_elements = std::move(read_elements);
  const OperationWork blank = work;
  const auto at = meanings().find(operation.kind);
  if (at != meanings().end()) {
    const KindMeaning& meaning = at->second;
    const bool cheap =
        operation.flops <=
        kMostFlopsPerElement *
            static_cast<double>(std::max(
                work.output_elements, std::accumulate(work.read_elements.begin(),
                                                      work.read_elements.end(), std::int64_t{0})));
    switch (meaning.kind) {
      case WorkKind::kProduct:
        for (int expansion : {1, 2, 4}) {
          work.expansion = expansion;
          if (set_product(work, operation.flops)) return work;
        }
        break;
      case WorkKind::kCombine:
        if (cheap && set_pieces(work)) {
          work.kind = WorkKind::kCombine;
          work.combination = meaning.combination;
          work.function = meaning.function;
          return work;
        }
        break;
      case WorkKind::kSoftmax:
      case WorkKind::kNormalise:
        if (cheap && set_rows(work, operation, meaning.kind)) return work;
        break;
      case WorkKind::kCopy:
        if (cheap && !work.read_elements.empty()) {
          set_copied_pieces(work);
          work.kind = WorkKind::kCopy;
          return work;
        }
        break;
      case WorkKind::kSynthetic:
        break;
    }
  }
  work = blank;
  work.flops_per_element = operation.flops / static_cast<double>(work.output_elements);
  return work;
}

}  // namespace

std::vector<OperationWork> operation_works(const Graph& graph) {
  std::vector<std::vector<std::int64_t>> reads(graph.operation_count());
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    for (EdgeId edge : graph.in_edges(OperationId(static_cast<std::int32_t>(o)))) {
      reads[o].push_back(float_count(std::max(kFloatBytes, graph.edge_bytes(edge))));
    }
  }
  for (const InputTensor& input : graph.inputs()) {
    for (OperationId consumer : input.consumers) {
      reads[consumer.index()].push_back(float_count(std::max(kFloatBytes, input.bytes)));
    }
  }
  std::vector<OperationWork> works;
  works.reserve(graph.operation_count());
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    works.push_back(make_work(graph.operations()[o], std::move(reads[o])));
  }
  return works;
}

}  // namespace doppler
