#include "gpuexec/measured_graph.h"

#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/graph_format.h"
#include "common/text_file.h"
#include "common/topology_file.h"
#include "gpuexec/backend_factory.h"

namespace doppler {
namespace {

Graph load_graph(const std::string& path) {
  Imported file = load_any_graph(path, std::nullopt, {});
  for (const Warning& warning : file.warnings) {
    std::cerr << describe(warning, input_name(path)) << "\n";
  }
  if (file.graph.cost_unit() != CostUnit::kPhysical) {
    throw ConfigError(input_name(path) +
                      ": states durations, which can only be simulated (doppler simulate "
                      "--reference); give a graph that states FLOPs and bytes");
  }
  return std::move(file.graph);
}

}  // namespace

MeasuredGraph::MeasuredGraph(const MeasuringFlags& flags)
    : graph_(load_graph(flags.graph)),
      topology_(load_topology(flags.topology)),
      costs_(name_file_in_errors(input_name(flags.graph),
                                 [&] { return CostTable::physical(graph_, topology_); })),
      backend_(flags.backend) {
  options_.contention = flags.rules.contention;
  options_.dispatch = flags.rules.dispatch;
  options_.memory = MemoryRule::kEnforce;
}

std::unique_ptr<Backend> MeasuredGraph::make_backend() const {
  return doppler::make_backend(backend_, costs_, topology_, options_.contention);
}

}  // namespace doppler
