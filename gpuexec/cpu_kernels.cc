#include "gpuexec/cpu_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "common/check.h"
#include "common/random.h"
#include "gpuexec/cpu_gemm.h"

namespace doppler {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements that stay in the first-level cache
constexpr std::int64_t kUnroll = 64;   // elements of the synthetic kernel that depend on nothing
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kPattern = 65536;  // elements of the pattern of inputs

// A sum of f(value) in lanes, so that it vectorises.
template <typename F>
float sum_over(const float* values, std::int64_t count, const F& f) {
  std::array<float, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l)
      lanes[static_cast<std::size_t>(l)] += f(values[i + l]);
  }
  float sum = 0;
  for (; i < count; ++i) sum += f(values[i]);
  for (float lane : lanes) sum += lane;
  return sum;
}

// The operands side by side, repeated `expansion` times, in `scratch` where they are not so
// already.
const float* gather_operand(std::span<const float* const> reads,
                            std::span<const std::int64_t> counts, int expansion, float*& scratch) {
  if (reads.size() == 1 && expansion == 1) return reads[0];
  const float* operand = scratch;
  for (int e = 0; e < expansion; ++e) {
    for (std::size_t r = 0; r < reads.size(); ++r) {
      std::memcpy(scratch, reads[r], static_cast<std::size_t>(counts[r]) * sizeof(float));
      scratch += counts[r];
    }
  }
  return operand;
}

void run_product(const OperationWork& work, std::span<const float* const> reads, float* output,
                 float* scratch) {
  const std::span<const std::int64_t> counts(work.read_elements);
  const float* left = gather_operand(reads.first(work.left_reads), counts.first(work.left_reads),
                                     work.expansion, scratch);
  const float* right = gather_operand(reads.subspan(work.left_reads),
                                      counts.subspan(work.left_reads), work.expansion, scratch);
  float* target = work.expansion == 1 ? output : scratch;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(work.inner)));
  for (std::int64_t b = 0; b < work.batch; ++b) {
    multiply_matrices(work.rows, work.columns, work.inner, scale, left + b * work.rows * work.inner,
                      right + b * work.inner * work.columns, target + b * work.rows * work.columns);
  }
  if (work.expansion == 1) return;
  const float share = 1.0F / static_cast<float>(work.expansion);
  for (std::int64_t i = 0; i < work.output_elements; ++i) {
    float sum = 0;
    for (int e = 0; e < work.expansion; ++e) sum += target[i + e * work.output_elements];
    output[i] = share * sum;
  }
}

void combine(Combination combination, bool first, const float* source, float* target,
             std::int64_t count) {
  if (first) {
    std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  switch (combination) {
    case Combination::kSum:
      for (std::int64_t i = 0; i < count; ++i) target[i] += source[i];
      break;
    case Combination::kDifference:
      for (std::int64_t i = 0; i < count; ++i) target[i] -= source[i];
      break;
    case Combination::kProduct:
      for (std::int64_t i = 0; i < count; ++i) target[i] *= source[i];
      break;
    case Combination::kQuotient:
      for (std::int64_t i = 0; i < count; ++i) target[i] /= std::abs(source[i]) + kSmall;
      break;
    case Combination::kMaximum:
      for (std::int64_t i = 0; i < count; ++i) target[i] = std::max(target[i], source[i]);
      break;
  }
}

// exp(x) for |x| up to 80, to about 5e-6, without a call, so that it vectorises: 2^whole times the
// Taylor polynomial of 2^f, f from -1/2 to 1/2.
inline float fast_exp(float x) {
  x = std::min(std::max(x, -80.0F), 80.0F) * 1.44269504F;
  const float whole = std::floor(x + 0.5F);
  const float f = x - whole;
  const float p =
      1.0F +
      f * (0.693147180F +
           f * (0.240226507F + f * (0.0555041087F + f * (0.00961812911F + f * 0.00133335581F))));
  return p * std::bit_cast<float>((static_cast<std::int32_t>(whole) + 127) << 23);
}

inline float sigmoid(float x) {
  return 1.0F / (1.0F + fast_exp(-x));
}

template <typename F>
void map_elements(float* values, std::int64_t count, const F& function) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = function(values[i]);
}

void apply(Function function, float* values, std::int64_t count) {
  switch (function) {
    case Function::kNone:
      return;
    case Function::kRelu:
      return map_elements(values, count, [](float x) { return std::max(x, 0.0F); });
    case Function::kGelu:
      return map_elements(values, count, [](float x) { return x * sigmoid(1.702F * x); });
    case Function::kSilu:
      return map_elements(values, count, [](float x) { return x * sigmoid(x); });
    case Function::kSigmoid:
      return map_elements(values, count, [](float x) { return sigmoid(x); });
    case Function::kTanh:
      return map_elements(values, count, [](float x) { return 2.0F * sigmoid(2.0F * x) - 1.0F; });
    case Function::kExp:
      return map_elements(values, count, [](float x) { return fast_exp(std::min(x, 1.0F)); });
    case Function::kSquare:
      return map_elements(values, count, [](float x) { return x * x; });
    case Function::kRsqrt:
      return map_elements(values, count,
                          [](float x) { return 1.0F / std::sqrt(std::abs(x) + kSmall); });
  }
}

// Block by block, so that a block is combined and mapped while it is in the cache.
void run_combine(const OperationWork& work, std::span<const float* const> reads, float* output) {
  const std::int64_t block = work.kind == WorkKind::kCopy ? work.output_elements : kBlock;
  for (std::int64_t begin = 0; begin < work.output_elements; begin += block) {
    const std::int64_t end = std::min(work.output_elements, begin + block);
    for (const OperandPiece& piece : work.pieces) {
      std::int64_t at = std::max(begin, piece.target);
      const std::int64_t stop = std::min(end, piece.target + piece.length);
      const float* source = reads[piece.read] + piece.source;
      while (at < stop) {
        std::int64_t offset = at - piece.target;
        std::int64_t count = stop - at;
        if (piece.period > 0) {
          offset %= piece.period;
          count = std::min(count, piece.period - offset);
        }
        combine(work.combination, piece.first, source + offset, output + at, count);
        at += count;
      }
    }
    apply(work.function, output + begin, end - begin);
  }
}

void run_softmax(const OperationWork& work, const float* input, float* output) {
  for (std::int64_t row = 0; row < work.output_elements; row += work.axis) {
    const float largest = *std::max_element(input + row, input + row + work.axis);
    for (std::int64_t i = row; i < row + work.axis; ++i) output[i] = fast_exp(input[i] - largest);
    const float factor = 1.0F / sum_over(output + row, work.axis, [](float x) { return x; });
    for (std::int64_t i = row; i < row + work.axis; ++i) output[i] *= factor;
  }
}

void run_normalise(const OperationWork& work, const float* input, float* output) {
  for (std::int64_t row = 0; row < work.output_elements; row += work.axis) {
    const float sum = sum_over(input + row, work.axis, [](float x) { return x * x; });
    const float factor = 1.0F / std::sqrt(sum / static_cast<float>(work.axis) + 1e-6F);
    for (std::int64_t i = row; i < row + work.axis; ++i) output[i] = input[i] * factor;
  }
}

// Each element: a mean of one element of every read, then x = a x + b so often that the FLOPs are
// done. Reads that are longer than the output are read to their end.
void run_synthetic(const OperationWork& work, std::span<const float* const> reads, float* output) {
  const auto turns = static_cast<std::int64_t>(work.flops_per_element / 2 + 0.5);
  const float share = 1.0F / static_cast<float>(std::max<std::size_t>(1, reads.size()));
  float surplus = 0;
  for (std::size_t r = 0; r < reads.size(); ++r) {
    const std::int64_t more = work.read_elements[r] - work.output_elements;
    if (more <= 0) continue;
    surplus += sum_over(reads[r] + work.output_elements, more, [](float v) { return v; });
  }
  for (std::int64_t begin = 0; begin < work.output_elements; begin += kUnroll) {
    const std::int64_t count = std::min(kUnroll, work.output_elements - begin);
    std::array<float, kUnroll> x{};
    for (std::size_t r = 0; r < reads.size(); ++r) {
      const std::int64_t length = work.read_elements[r];
      std::int64_t at = begin % length;
      if (at + kUnroll <= length) {  // the usual case, which vectorises
        for (std::size_t i = 0; i < kUnroll; ++i) {
          x[i] += share * reads[r][at + static_cast<std::int64_t>(i)];
        }
        continue;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        x[static_cast<std::size_t>(i)] += share * reads[r][at];
        if (++at == length) at = 0;
      }
    }
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      for (float& value : x) value = value * 0.999F + 0.001F;
    }
    for (std::int64_t i = 0; i < count; ++i) output[begin + i] = x[static_cast<std::size_t>(i)];
  }
  // So that results depend on the surplus, too.
  if (work.output_elements > 0) output[0] += 1e-6F * surplus;
}

std::vector<float> make_pattern() {
  std::vector<float> pattern(static_cast<std::size_t>(kPattern));
  RandomStream random(0x70617474);
  for (float& value : pattern) value = static_cast<float>(2 * random.next_unit() - 1);
  return pattern;
}

}  // namespace

void run_work(const OperationWork& work, std::span<const float* const> reads, float* output,
              std::int64_t capacity, float* scratch) {
  DP_CHECK_EQ(reads.size(), work.read_elements.size());
  switch (work.kind) {
    case WorkKind::kProduct:
      run_product(work, reads, output, scratch);
      break;
    case WorkKind::kCopy:
    case WorkKind::kCombine:
      run_combine(work, reads, output);
      break;
    case WorkKind::kSoftmax:
      run_softmax(work, reads[0], output);
      break;
    case WorkKind::kNormalise:
      run_normalise(work, reads[0], output);
      break;
    case WorkKind::kSynthetic:
      run_synthetic(work, reads, output);
      break;
  }
  std::fill(output + work.output_elements, output + std::max(work.output_elements, capacity), 0.0F);
}

void fill_tensor(std::uint64_t tensor, float* output, std::int64_t count) {
  static const std::vector<float> pattern = make_pattern();
  auto start = static_cast<std::int64_t>(derive_seed({tensor}) % kPattern);
  for (std::int64_t at = 0; at < count;) {
    const std::int64_t length = std::min(count - at, kPattern - start);
    std::memcpy(output + at, pattern.data() + start,
                static_cast<std::size_t>(length) * sizeof(float));
    at += length;
    start = 0;
  }
}

}  // namespace doppler
