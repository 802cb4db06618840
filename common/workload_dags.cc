#include "common/workload_dags.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/random.h"

namespace doppler {
namespace {

constexpr std::int64_t kComplexBytes = 16;
constexpr std::int64_t kDoubleBytes = 8;

std::string name_of(const std::string& kind, std::initializer_list<std::int64_t> at) {
  std::string text = kind + "[";
  for (std::int64_t coordinate : at) {
    if (text.back() != '[') text += ",";
    text += std::to_string(coordinate);
  }
  return text + "]";
}

OperationId add(GraphBuilder& builder, const std::string& kind,
                std::initializer_list<std::int64_t> at, double flops, std::int64_t bytes,
                std::int32_t group) {
  Operation operation;
  operation.name = name_of(kind, at);
  operation.kind = kind;
  operation.flops = flops;
  operation.output_bytes = bytes;
  operation.group = GroupId(group);
  for (std::int64_t coordinate : at) {
    operation.block_coordinates.push_back(static_cast<std::int32_t>(coordinate));
  }
  return builder.add_operation(std::move(operation));
}

void connect(GraphBuilder& builder, OperationId source, OperationId destination) {
  builder.add_edge({.source = source, .destination = destination, .bytes = {}});
}

void require(const char* name, std::int64_t value, std::int64_t least, std::int64_t largest) {
  if (value >= least && value <= largest) return;
  throw ConfigError(std::string(name) + ": " + std::to_string(value) + " is not in " +
                    std::to_string(least) + ".." + std::to_string(largest));
}

}  // namespace

Graph fft_graph(std::int64_t log2_blocks, std::int64_t block) {
  require("log2_blocks", log2_blocks, 1, 16);
  require("block", block, 2, std::int64_t{1} << 30);
  GraphBuilder builder("fft", CostUnit::kPhysical);
  const std::int64_t blocks = std::int64_t{1} << log2_blocks;
  double log2_block = 0;
  while ((std::int64_t{1} << static_cast<std::int64_t>(log2_block)) < block) ++log2_block;
  const auto points = static_cast<double>(block);
  std::vector<OperationId> stage;
  for (std::int64_t b = 0; b < blocks; ++b) {
    stage.push_back(add(builder, "fft", {0, b}, 5 * points * log2_block, block * kComplexBytes, 0));
  }
  for (std::int64_t s = 0; s < log2_blocks; ++s) {
    std::vector<OperationId> next;
    for (std::int64_t b = 0; b < blocks; ++b) {
      // A complex multiplication and an addition a point: half of each butterfly.
      next.push_back(add(builder, "butterfly", {s + 1, b}, 8 * points, block * kComplexBytes,
                         static_cast<std::int32_t>(s + 1)));
      connect(builder, stage[static_cast<std::size_t>(b)], next.back());
      connect(builder, stage[static_cast<std::size_t>(b ^ (std::int64_t{1} << s))], next.back());
    }
    stage = std::move(next);
  }
  return builder.build();
}

Graph cholesky_graph(std::int64_t tiles, std::int64_t size) {
  require("tiles", tiles, 1, 256);
  require("tile_size", size, 1, 1 << 20);
  GraphBuilder builder("cholesky", CostUnit::kPhysical);
  const double cube =
      static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  const std::int64_t bytes = size * size * kDoubleBytes;
  const auto n = static_cast<std::size_t>(tiles);
  // The task that wrote each tile last.
  std::vector<OperationId> writer(n * n);
  const auto tile = [&](std::int64_t row, std::int64_t column) -> OperationId& {
    return writer[static_cast<std::size_t>(row) * n + static_cast<std::size_t>(column)];
  };
  const auto after = [&](OperationId from, OperationId to) {
    if (from.value() >= 0) connect(builder, from, to);
  };
  std::int32_t group = 0;
  for (std::int64_t k = 0; k < tiles; ++k) {
    const OperationId factor = add(builder, "potrf", {k}, cube / 3, bytes, group++);
    after(tile(k, k), factor);
    tile(k, k) = factor;
    for (std::int64_t row = k + 1; row < tiles; ++row) {
      const OperationId solve = add(builder, "trsm", {k, row}, cube, bytes, group);
      connect(builder, factor, solve);
      after(tile(row, k), solve);
      tile(row, k) = solve;
    }
    ++group;
    for (std::int64_t row = k + 1; row < tiles; ++row) {
      for (std::int64_t column = k + 1; column <= row; ++column) {
        const bool diagonal = row == column;
        const OperationId update = add(builder, diagonal ? "syrk" : "gemm", {k, row, column},
                                       diagonal ? cube : 2 * cube, bytes, group);
        connect(builder, tile(row, k), update);
        if (!diagonal) connect(builder, tile(column, k), update);
        after(tile(row, column), update);
        tile(row, column) = update;
      }
    }
    ++group;
  }
  return builder.build();
}

Graph gaussian_elimination_graph(std::int64_t columns, std::int64_t size) {
  require("columns", columns, 2, 1024);
  require("column_width", size, 1, 1 << 20);
  GraphBuilder builder("gaussian-elimination", CostUnit::kPhysical);
  const double square = static_cast<double>(size) * static_cast<double>(size);
  std::vector<OperationId> column(static_cast<std::size_t>(columns));
  for (std::int64_t k = 0; k + 1 < columns; ++k) {
    const std::int64_t rows = (columns - k) * size;
    const std::int64_t bytes = rows * size * kDoubleBytes;
    const auto group = static_cast<std::int32_t>(2 * k);
    const OperationId pivot =
        add(builder, "pivot", {k}, square * static_cast<double>(rows), bytes, group);
    if (column[static_cast<std::size_t>(k)].value() >= 0) {
      connect(builder, column[static_cast<std::size_t>(k)], pivot);
    }
    for (std::int64_t j = k + 1; j < columns; ++j) {
      const OperationId update =
          add(builder, "update", {k, j}, 2 * square * static_cast<double>(rows), bytes, group + 1);
      connect(builder, pivot, update);
      OperationId& last = column[static_cast<std::size_t>(j)];
      if (last.value() >= 0) connect(builder, last, update);
      last = update;
    }
  }
  return builder.build();
}

Graph random_layered_graph(const RandomLayeredSize& size, std::uint64_t seed) {
  require("operations", size.operations, 1, 10000000);
  require("layers", size.layers, 1, size.operations);
  require("edges_per_operation", size.edges_per_operation, 0, 1000);
  require("ccr_percent", size.ccr_percent, 0, 1000000);
  constexpr double kRate = 1e13;       // FLOP/s
  constexpr double kBandwidth = 1e10;  // bytes/s
  constexpr double kMeanSeconds = 1e-4;
  GraphBuilder builder("random-layered", CostUnit::kPhysical);
  RandomStream random(derive_seed({seed, 0x6c61796572ULL}));
  // Layer of operation o: o * layers / operations, so that all layers are filled evenly.
  const auto layer_begin = [&](std::int64_t layer) {
    return (layer * size.operations + size.layers - 1) / size.layers;
  };
  const double ccr = static_cast<double>(size.ccr_percent) / 100;
  for (std::int64_t o = 0; o < size.operations; ++o) {
    const std::int64_t layer = o * size.layers / size.operations;
    // Uniform in (0, 2) times the mean.
    const double flops = kMeanSeconds * kRate * 2 * random.next_unit();
    const double bytes = kMeanSeconds * ccr * kBandwidth * 2 * random.next_unit();
    const OperationId id = add(builder, "task", {layer, o - layer_begin(layer)}, flops,
                               static_cast<std::int64_t>(bytes), static_cast<std::int32_t>(layer));
    if (layer == 0) continue;
    const auto edges =
        random.next_below(static_cast<std::uint64_t>(2 * size.edges_per_operation + 1));
    for (std::uint64_t e = 0; e < edges; ++e) {
      // Three of four from the layer before, the others from any earlier one.
      const std::int64_t from_layer =
          random.next_below(4) > 0
              ? layer - 1
              : static_cast<std::int64_t>(random.next_below(static_cast<std::uint64_t>(layer)));
      const std::int64_t begin = layer_begin(from_layer);
      const std::int64_t end = layer_begin(from_layer + 1);
      const auto source = begin + static_cast<std::int64_t>(
                                      random.next_below(static_cast<std::uint64_t>(end - begin)));
      connect(builder, OperationId(static_cast<std::int32_t>(source)), id);
    }
  }
  return builder.build();
}

}  // namespace doppler
