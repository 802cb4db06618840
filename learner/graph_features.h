// GraphFeatures: what the encoder sees of a graph. Flat arrays, no LibTorch; computed once per
// graph.
#ifndef DOPPLER_LEARNER_GRAPH_FEATURES_H_
#define DOPPLER_LEARNER_GRAPH_FEATURES_H_

#include <cstdint>
#include <vector>

#include "common/cost_table.h"
#include "common/levels.h"

namespace doppler {

// Columns of the static features Z[v] (paper, appendix: compute, communication and level features),
// followed by the identity columns. Times enter twice: as a logarithm, which tells tiny from small,
// and squashed against the graph's largest, which tells large from larger.
struct GraphFeatures {
  std::int64_t operation_count = 0;
  std::int64_t node_width = 0;
  std::vector<float> node;  // [operations, node_width] row-major

  // Message passing: edge e carries from source[e] to destination[e].
  std::vector<std::int64_t> source;       // [edges]
  std::vector<std::int64_t> destination;  // [edges]
  std::vector<float> in_scale;            // [operations], 1 / in-degree (0 without inputs)
  std::vector<float> out_scale;           // [operations], 1 / out-degree

  // The critical path of each operation to the exit and to the entry, itself left out, at most
  // kPathLength operations; pair p says that path_member[p] lies on the path of path_owner[p].
  std::vector<std::int64_t> exit_path_owner;
  std::vector<std::int64_t> exit_path_member;
  std::vector<float> exit_path_scale;  // [operations], 1 / length (0 for an empty path)
  std::vector<std::int64_t> entry_path_owner;
  std::vector<std::int64_t> entry_path_member;
  std::vector<float> entry_path_scale;  // [operations]
};

// Width of a row for any graph, so that one network serves all.
std::int64_t node_feature_width();

// Without identity, operations that are symmetric in the graph have equal rows (semantics:
// "Policies"); with it they carry their block coordinates and the binary digits of their rank
// within the symmetry class.
GraphFeatures compute_graph_features(const CostTable& costs, const Levels& levels, bool identity);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_GRAPH_FEATURES_H_
