// MeasuredGraph: the graph and the machine that a measuring program was given.
#ifndef DOPPLER_GPUEXEC_MEASURED_GRAPH_H_
#define DOPPLER_GPUEXEC_MEASURED_GRAPH_H_

#include <memory>
#include <string>

#include "common/cost_table.h"
#include "common/graph.h"
#include "common/physical_options.h"
#include "common/topology.h"
#include "gpuexec/backend.h"
#include "gpuexec/measuring_flags.h"

namespace doppler {

class MeasuredGraph {
 public:
  // Reads both files; warnings go to stderr. Memory is enforced, the rest of the options are those
  // of the flags. Throws what reading throws, and ConfigError for a graph that states durations.
  explicit MeasuredGraph(const MeasuringFlags& flags);
  MeasuredGraph(const MeasuredGraph&) = delete;
  MeasuredGraph& operator=(const MeasuredGraph&) = delete;
  MeasuredGraph(MeasuredGraph&&) = delete;
  MeasuredGraph& operator=(MeasuredGraph&&) = delete;

  const Graph& graph() const { return graph_; }
  const Topology& topology() const { return topology_; }
  const CostTable& costs() const { return costs_; }
  const PhysicalOptions& options() const { return options_; }

  // A backend of the kind that the flags name. Throws ConfigError where this build lacks it.
  std::unique_ptr<Backend> make_backend() const;

 private:
  const Graph graph_;
  const Topology topology_;
  const CostTable costs_;
  PhysicalOptions options_;
  const std::string backend_;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_MEASURED_GRAPH_H_
