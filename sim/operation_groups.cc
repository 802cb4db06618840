#include "sim/operation_groups.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "common/levels.h"
#include "common/symmetry.h"

namespace doppler {
namespace {

std::vector<std::vector<OperationId>> make_groups(const Graph& graph, bool stated) {
  const SymmetryClasses classes = symmetry_classes(graph);
  const IdVector<OperationId, std::int32_t> depths = operation_depths(graph);
  // Depth, stated group (or -1), role or symmetry class.
  std::map<std::array<std::int32_t, 3>, std::vector<OperationId>> groups;
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    const Operation& operation = graph.operation(id);
    if (stated && operation.group.value() >= 0) {
      groups[{depths[id], operation.group.value(), static_cast<std::int32_t>(operation.role)}]
          .push_back(id);
    } else {
      groups[{depths[id], -1, classes.class_of[id]}].push_back(id);
    }
  }
  std::vector<std::vector<OperationId>> result;
  result.reserve(groups.size());
  for (auto& [key, members] : groups) result.push_back(std::move(members));
  std::sort(result.begin(), result.end(), [&](const auto& a, const auto& b) {
    return std::tuple(depths[a.front()], a.front()) < std::tuple(depths[b.front()], b.front());
  });
  return result;
}

}  // namespace

std::vector<std::vector<OperationId>> symmetry_groups(const Graph& graph) {
  return make_groups(graph, false);
}

std::vector<std::vector<OperationId>> stated_groups(const Graph& graph) {
  return make_groups(graph, true);
}

}  // namespace doppler
