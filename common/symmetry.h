// Symmetry classes: operations that no amount of message passing can tell apart.
//
// Colour refinement (one-dimensional Weisfeiler-Leman) on the directed graph: the first colour of
// an operation is its kind, role, costs, inputs and device constraints; each round adds the
// multisets of colours (and of edge bytes) before and behind it, until no class splits any more.
// Names, groups and block coordinates are identities, not costs, and do not count. A
// message-passing network with sums over neighbours can separate two operations only if their
// classes differ, which is why the policy gets the rank within the class as a feature.
#ifndef DOPPLER_COMMON_SYMMETRY_H_
#define DOPPLER_COMMON_SYMMETRY_H_

#include <cstdint>
#include <vector>

#include "common/graph.h"
#include "common/ids.h"

namespace doppler {

struct SymmetryClasses {
  IdVector<OperationId, std::int32_t>
      class_of;  // [operations], numbered by their smallest operation id
  IdVector<OperationId, std::int32_t> rank_in_class;  // [operations], 0.. by operation id
  std::vector<std::int32_t> class_size;               // [classes]
};

// O(rounds x edges x log edges), with at most `operations` rounds (few in practice).
SymmetryClasses symmetry_classes(const Graph& graph);

}  // namespace doppler

#endif  // DOPPLER_COMMON_SYMMETRY_H_
