// Groups of operations that do the same work side by side: the shards of one unsharded operation.
#ifndef DOPPLER_SIM_OPERATION_GROUPS_H_
#define DOPPLER_SIM_OPERATION_GROUPS_H_

#include <vector>

#include "common/graph.h"
#include "common/ids.h"

namespace doppler {

// Operations of one symmetry class and one depth (edges from the entries on the longest path), of
// all depths one after the other, within a depth by smallest id. No edge joins two of one group.
std::vector<std::vector<OperationId>> symmetry_groups(const Graph& graph);

// The same where an operation states no group; those that state one belong together if group, role
// and depth are the same (and so are different from all that state none).
std::vector<std::vector<OperationId>> stated_groups(const Graph& graph);

}  // namespace doppler

#endif  // DOPPLER_SIM_OPERATION_GROUPS_H_
