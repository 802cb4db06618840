#include "common/workload_chain_mm.h"

#include <string>
#include <utility>
#include <vector>

#include "common/error.h"

namespace doppler {
namespace {

// Cubed and times 4 this is below 2^62.
constexpr std::int64_t kMaxBlockSize = 1000000;
constexpr std::int32_t kMaxBlockCount = 1024;

std::string indexed(const std::string& name, const std::vector<std::int32_t>& coordinates) {
  std::string text = name + "[";
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    if (i > 0) text += ",";
    text += std::to_string(coordinates[i]);
  }
  return text + "]";
}

// A matrix cut into blocks: an input, or the sums that compute it.
struct BlockMatrix {
  std::string name;
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  std::vector<OperationId> operations;  // [rows, columns]; empty for an input

  std::size_t index(std::int32_t row, std::int32_t column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
           static_cast<std::size_t>(column);
  }
};

class ChainMmBuilder {
 public:
  explicit ChainMmBuilder(const ChainMmOptions& options)
      : options_(options), builder_("chain-mm", CostUnit::kDurations) {}

  Graph build() {
    const BlockMatrix d = input("D", options_.inner, options_.inner_de);
    const BlockMatrix e = input("E", options_.inner_de, options_.columns);
    const BlockMatrix c = input("C", options_.rows, options_.inner);
    const BlockMatrix a = input("A", options_.rows, options_.inner);
    const BlockMatrix b = input("B", options_.inner, options_.columns);
    const BlockMatrix de = product("DE", d, e);
    const BlockMatrix cde = product("CDE", c, de);
    const BlockMatrix ab = product("AB", a, b);
    sum("AB+CDE", cde, ab);
    for (InputTensor& tensor : inputs_) builder_.add_input(std::move(tensor));
    return builder_.build();
  }

 private:
  BlockMatrix input(const std::string& name, std::int32_t rows, std::int32_t columns) {
    BlockMatrix matrix{.name = name, .rows = rows, .columns = columns, .operations = {}};
    first_input_.emplace_back(name, inputs_.size());
    for (std::int32_t row = 0; row < rows; ++row) {
      for (std::int32_t column = 0; column < columns; ++column) {
        inputs_.push_back({.name = indexed(name, {row, column}),
                           .bytes = 4 * options_.block_size * options_.block_size,
                           .consumers = {}});
      }
    }
    return matrix;
  }

  OperationId add(const std::string& group_name, const std::string& kind, Role role,
                  std::int64_t multiply_adds, std::vector<std::int32_t> coordinates) {
    Operation operation;
    operation.name = indexed(group_name + "." + kind, coordinates);
    operation.kind = kind;
    operation.compute_time = SimTime(multiply_adds);
    operation.transfer_time = SimTime(4 * multiply_adds);
    operation.group = GroupId(group_);
    operation.role = role;
    operation.block_coordinates = std::move(coordinates);
    return builder_.add_operation(std::move(operation));
  }

  void connect(const BlockMatrix& matrix, std::int32_t row, std::int32_t column,
               OperationId consumer) {
    const std::size_t index = matrix.index(row, column);
    if (!matrix.operations.empty()) {
      builder_.add_edge({.source = matrix.operations[index], .destination = consumer, .bytes = {}});
      return;
    }
    for (const auto& [name, first] : first_input_) {
      if (name == matrix.name) inputs_[first + index].consumers.push_back(consumer);
    }
  }

  // One block product per (row, column, inner), then one sum over inner per (row, column).
  BlockMatrix product(const std::string& name, const BlockMatrix& left, const BlockMatrix& right) {
    BlockMatrix result{.name = name, .rows = left.rows, .columns = right.columns, .operations = {}};
    const std::int64_t size = options_.block_size;
    std::vector<OperationId> products;
    for (std::int32_t row = 0; row < result.rows; ++row) {
      for (std::int32_t column = 0; column < result.columns; ++column) {
        for (std::int32_t inner = 0; inner < left.columns; ++inner) {
          products.push_back(
              add(name, "matmul", Role::kShard, size * size * size, {row, column, inner}));
          connect(left, row, inner, products.back());
          connect(right, inner, column, products.back());
        }
      }
    }
    std::size_t next = 0;
    for (std::int32_t row = 0; row < result.rows; ++row) {
      for (std::int32_t column = 0; column < result.columns; ++column) {
        const OperationId reduce = add(name, "reduce", Role::kReduce, size * size, {row, column});
        result.operations.push_back(reduce);
        for (std::int32_t inner = 0; inner < left.columns; ++inner) {
          builder_.add_edge({.source = products[next++], .destination = reduce, .bytes = {}});
        }
      }
    }
    ++group_;
    return result;
  }

  void sum(const std::string& name, const BlockMatrix& left, const BlockMatrix& right) {
    for (std::int32_t row = 0; row < left.rows; ++row) {
      for (std::int32_t column = 0; column < left.columns; ++column) {
        const OperationId operation = add(name, "add", Role::kShard,
                                          options_.block_size * options_.block_size, {row, column});
        connect(left, row, column, operation);
        connect(right, row, column, operation);
      }
    }
    ++group_;
  }

  const ChainMmOptions options_;
  GraphBuilder builder_;
  std::vector<InputTensor> inputs_;
  std::vector<std::pair<std::string, std::size_t>> first_input_;  // of each input matrix
  std::int32_t group_ = 0;
};

void check(const char* name, std::int64_t value, std::int64_t largest) {
  if (value >= 1 && value <= largest) return;
  throw ConfigError(std::string("chain-mm: ") + name + ": " + std::to_string(value) +
                    " is not in 1.." + std::to_string(largest));
}

}  // namespace

Graph generate_chain_mm(const ChainMmOptions& options) {
  check("rows", options.rows, kMaxBlockCount);
  check("columns", options.columns, kMaxBlockCount);
  check("inner", options.inner, kMaxBlockCount);
  check("inner_de", options.inner_de, kMaxBlockCount);
  check("block_size", options.block_size, kMaxBlockSize);
  return ChainMmBuilder(options).build();
}

}  // namespace doppler
