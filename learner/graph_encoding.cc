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
    if (tensor.name.rfind("table_select_", 0) == 0) operation_counts.push_back(tensor.shape[0]);
  }
  PolicyNetwork network(model, operation_counts, graph.costs->device_count(), 0);
  for (const auto& item : network->named_parameters()) {
    const NamedTensor* from = find(parameters, item.key());
    check_fits(item.key(), item.value(), from);
    copy_into(item.value(), *from);
  }
  const GraphTensors tensors(
      compute_graph_features(*graph.costs, *graph.levels, model.identity_features));
  return to_snapshot(network, {network->forward(tensors, table)}, network->step_weights());
}

}  // namespace doppler
