#include "learner/graph_encoding.h"

#include "learner/head_values.h"
#include "learner/named_tensors.h"
#include "learner/policy_network.h"

namespace doppler {

WeightSnapshot encode_graph(const ModelConfig& model, const std::vector<NamedTensor>& parameters,
                            const TrainingGraph& graph, std::int64_t table) {
  torch::NoGradGuard no_grad;
  std::vector<std::int64_t> operation_counts;
  for (const NamedTensor& tensor : parameters) {
    // Without a table of its own the graph has no use for those of others.
    if (table >= 0 && tensor.name.starts_with("table_select_")) {
      operation_counts.push_back(tensor.shape[0]);
    }
  }
  PolicyNetwork network(model, operation_counts, graph.costs->device_count(), 0);
  for (const auto& item : network->named_parameters()) {
    const NamedTensor* from = find(parameters, item.key());
    // On another number of devices nothing is known of single ones.
    const bool of_devices = item.key().starts_with("table_device_");
    if (of_devices && from != nullptr && from->shape != item.value().sizes().vec()) continue;
    check_fits(item.key(), item.value(), from);
    copy_into(item.value(), *from);
  }
  const GraphTensors tensors(
      compute_graph_features(*graph.costs, *graph.levels, model.identity_features));
  return to_snapshot(network, {network->forward(tensors, table)}, network->step_weights());
}

}  // namespace doppler
