#include "common/symmetry.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>

namespace doppler {
namespace {

// What is known of an operation in one round. Compared as a whole, so that no hash collision can
// merge two classes.
using Signature = std::vector<std::int64_t>;

std::int64_t intern(std::map<std::string, std::int64_t>& numbers, const std::string& text) {
  return numbers.emplace(text, static_cast<std::int64_t>(numbers.size())).first->second;
}

std::vector<Signature> first_signatures(const Graph& graph) {
  std::map<std::string, std::int64_t> text_numbers;
  std::vector<Signature> signatures;
  for (const Operation& operation : graph.operations()) {
    Signature signature{intern(text_numbers, operation.kind),
                        static_cast<std::int64_t>(operation.role),
                        std::bit_cast<std::int64_t>(operation.flops),
                        operation.output_bytes,
                        operation.compute_time.ticks(),
                        operation.transfer_time.ticks(),
                        operation.pinned_device ? operation.pinned_device->value() : -1};
    std::vector<std::pair<std::int64_t, std::int64_t>> durations;
    for (const MeasuredDuration& measured : operation.measured_durations) {
      durations.emplace_back(intern(text_numbers, measured.device_kind),
                             std::bit_cast<std::int64_t>(measured.seconds));
    }
    std::sort(durations.begin(), durations.end());
    signature.push_back(static_cast<std::int64_t>(durations.size()));
    for (const auto& [kind, seconds] : durations) {
      signature.push_back(kind);
      signature.push_back(seconds);
    }
    std::vector<DeviceId> forbidden = operation.forbidden_devices;
    std::sort(forbidden.begin(), forbidden.end());
    signature.push_back(static_cast<std::int64_t>(forbidden.size()));
    for (DeviceId device : forbidden) signature.push_back(device.value());
    signatures.push_back(std::move(signature));
  }

  std::vector<std::vector<std::int64_t>> input_bytes(graph.operation_count());
  for (const InputTensor& input : graph.inputs()) {
    for (OperationId consumer : input.consumers) {
      input_bytes[consumer.index()].push_back(input.bytes);
    }
  }
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    std::sort(input_bytes[i].begin(), input_bytes[i].end());
    signatures[i].insert(signatures[i].end(), input_bytes[i].begin(), input_bytes[i].end());
  }
  return signatures;
}

// Numbers equal signatures alike: `class_of` [operations] and the number of classes.
std::int32_t number_classes(const std::vector<Signature>& signatures,
                            std::vector<std::int32_t>& class_of) {
  std::map<Signature, std::int32_t> numbers;
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    class_of[i] =
        numbers.emplace(signatures[i], static_cast<std::int32_t>(numbers.size())).first->second;
  }
  return static_cast<std::int32_t>(numbers.size());
}

// Appends the multiset of (class, edge bytes) on one side of an operation, with its size in front.
void append_neighbours(std::vector<std::pair<std::int64_t, std::int64_t>>& neighbours,
                       Signature& signature) {
  std::sort(neighbours.begin(), neighbours.end());
  signature.push_back(static_cast<std::int64_t>(neighbours.size()));
  for (const auto& [neighbour_class, bytes] : neighbours) {
    signature.push_back(neighbour_class);
    signature.push_back(bytes);
  }
}

}  // namespace

SymmetryClasses symmetry_classes(const Graph& graph) {
  const std::size_t n = graph.operation_count();
  std::vector<std::int32_t> class_of(n);
  std::vector<Signature> signatures = first_signatures(graph);
  std::int32_t class_count = number_classes(signatures, class_of);

  while (true) {
    for (std::size_t i = 0; i < n; ++i) {
      const OperationId id(static_cast<std::int32_t>(i));
      Signature& signature = signatures[i];
      signature.assign(1, class_of[i]);
      std::vector<std::pair<std::int64_t, std::int64_t>> neighbours;
      for (EdgeId edge : graph.in_edges(id)) {
        neighbours.emplace_back(class_of[graph.edge(edge).source.index()], graph.edge_bytes(edge));
      }
      append_neighbours(neighbours, signature);
      neighbours.clear();
      for (std::size_t k = 0; k < graph.out_degree(id); ++k) {
        const EdgeId edge(graph.first_out_edge(id).value() + static_cast<std::int32_t>(k));
        neighbours.emplace_back(class_of[graph.edge(edge).destination.index()],
                                graph.edge_bytes(edge));
      }
      append_neighbours(neighbours, signature);
    }
    const std::int32_t refined_count = number_classes(signatures, class_of);
    if (refined_count == class_count) break;
    class_count = refined_count;
  }

  SymmetryClasses classes;
  classes.class_of = IdVector<OperationId, std::int32_t>(class_of);
  classes.class_size.assign(static_cast<std::size_t>(class_count), 0);
  classes.rank_in_class.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    classes.rank_in_class[id] = classes.class_size[static_cast<std::size_t>(class_of[i])]++;
  }
  return classes;
}

}  // namespace doppler
