#include "learner/graph_features.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/operation_lists.h"
#include "common/symmetry.h"

namespace doppler {
namespace {

constexpr int kTimeCount = 5;       // compute, input and output communication, top and bottom level
constexpr int kStructureCount = 6;  // in- and out-degree, shard, reduce, depth, class size
constexpr int kRankDigitCount = 10;  // rank within the symmetry class, in binary
constexpr int kAxisCount = 3;        // cut axes whose coordinates are told apart
constexpr int kAxisDigitCount = 4;
constexpr int kWidth =
    2 * kTimeCount + kStructureCount + kRankDigitCount + kAxisCount * kAxisDigitCount;

// Digit `bit` of value as -1 or +1; 0 beyond the digits that `count` values need.
float digit(std::uint32_t value, std::uint32_t count, int bit) {
  if (count < 2 || bit >= static_cast<int>(std::bit_width(count - 1))) return 0;
  return ((value >> bit) & 1U) != 0 ? 1.0F : -1.0F;
}

class RowWriter {
 public:
  explicit RowWriter(float* at) : at_(at) {}
  void add(float x) { *at_++ = x; }
  void add(double x) { add(static_cast<float>(x)); }
  // largest: of this quantity in the graph, in ticks.
  void add_time(double ticks, double largest) {
    const double share = largest > 0 ? ticks / largest : 0;
    add(1.0 + std::log10(share + 1e-6) / 6.0);
    add(share);
  }

 private:
  float* at_;
};

void add_paths(const IdVector<OperationId, OperationId>& next, std::vector<std::int64_t>& owner,
               std::vector<std::int64_t>& member, std::vector<float>& scale) {
  const OperationLists paths = critical_paths(next);
  for (std::size_t o = 0; o < next.size(); ++o) {
    const auto path = paths.of(o);
    owner.insert(owner.end(), path.size(), static_cast<std::int64_t>(o));
    member.insert(member.end(), path.begin(), path.end());
    scale.push_back(path.empty() ? 0.0F : 1.0F / static_cast<float>(path.size()));
  }
}

}  // namespace

std::int64_t node_feature_width() {
  return kWidth;
}

GraphFeatures compute_graph_features(const CostTable& costs, const Levels& levels, bool identity) {
  const Graph& graph = costs.graph();
  const SymmetryClasses symmetry = symmetry_classes(graph);
  const std::size_t n = graph.operation_count();
  GraphFeatures features;
  features.operation_count = static_cast<std::int64_t>(n);
  features.node_width = kWidth;
  features.node.assign(n * kWidth, 0.0F);

  std::vector<double> input_time(n, 0.0);
  std::vector<double> output_time(n, 0.0);
  for (std::size_t e = 0; e < graph.edge_count(); ++e) {
    const EdgeId id(static_cast<std::int32_t>(e));
    const Edge& edge = graph.edge(id);
    const auto time = static_cast<double>(costs.mean_transfer(id).ticks());
    input_time[edge.destination.index()] += time;
    output_time[edge.source.index()] += time;
    features.source.push_back(edge.source.value());
    features.destination.push_back(edge.destination.value());
  }
  double largest_compute = 0;
  for (std::size_t o = 0; o < n; ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    largest_compute =
        std::max(largest_compute, static_cast<double>(costs.mean_compute(id).ticks()));
  }
  const double largest_input = *std::max_element(input_time.begin(), input_time.end());
  const double largest_output = *std::max_element(output_time.begin(), output_time.end());
  const auto critical_path = static_cast<double>(levels.critical_path.ticks());
  const auto depths = operation_depths(graph);
  const double deepest =
      std::max(1.0, static_cast<double>(*std::max_element(depths.begin(), depths.end())));

  for (std::size_t o = 0; o < n; ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    const Operation& operation = graph.operation(id);
    const auto in_degree = static_cast<double>(graph.in_degree(id));
    const auto out_degree = static_cast<double>(graph.out_degree(id));
    const bool grouped = operation.group.value() >= 0;
    const auto class_size = static_cast<std::uint32_t>(
        symmetry.class_size[static_cast<std::size_t>(symmetry.class_of[id])]);
    const auto rank = static_cast<std::uint32_t>(symmetry.rank_in_class[id]);

    RowWriter row(features.node.data() + o * kWidth);
    row.add_time(static_cast<double>(costs.mean_compute(id).ticks()), largest_compute);
    row.add_time(input_time[o], largest_input);
    row.add_time(output_time[o], largest_output);
    row.add_time(static_cast<double>(levels.top_level[id].ticks()), critical_path);
    row.add_time(static_cast<double>(levels.bottom_level[id].ticks()), critical_path);
    row.add(std::log1p(in_degree) / 2.0);
    row.add(std::log1p(out_degree) / 2.0);
    row.add(grouped && operation.role == Role::kShard ? 1.0 : 0.0);
    row.add(grouped && operation.role == Role::kReduce ? 1.0 : 0.0);
    row.add(static_cast<double>(depths[id]) / deepest);
    row.add(std::log2(static_cast<double>(class_size)) / 6.0);
    for (int bit = 0; bit < kRankDigitCount; ++bit) {
      row.add(identity ? digit(rank, class_size, bit) : 0.0F);
    }
    for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
      const bool known = identity && axis < operation.block_coordinates.size();
      for (int bit = 0; bit < kAxisDigitCount; ++bit) {
        row.add(known ? digit(static_cast<std::uint32_t>(operation.block_coordinates[axis]),
                              1U << kAxisDigitCount, bit)
                      : 0.0F);
      }
    }
    features.in_scale.push_back(in_degree > 0 ? static_cast<float>(1.0 / in_degree) : 0.0F);
    features.out_scale.push_back(out_degree > 0 ? static_cast<float>(1.0 / out_degree) : 0.0F);
  }

  add_paths(levels.critical_successor, features.exit_path_owner, features.exit_path_member,
            features.exit_path_scale);
  add_paths(levels.critical_predecessor, features.entry_path_owner, features.entry_path_member,
            features.entry_path_scale);
  return features;
}

}  // namespace doppler
