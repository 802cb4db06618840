// The backends by name.
#ifndef DOPPLER_GPUEXEC_BACKEND_FACTORY_H_
#define DOPPLER_GPUEXEC_BACKEND_FACTORY_H_

#include <memory>
#include <string>
#include <vector>

#include "common/cost_table.h"
#include "common/physical_options.h"
#include "common/topology.h"
#include "gpuexec/backend.h"

namespace doppler {

// Those that this build has: "emulated", "cpu", and "cuda" where it was built with it.
std::vector<std::string> backend_names();

// Throws ConfigError for a name that is not among them, SystemError where the machine lacks what
// the backend needs (a GPU). Cost table and topology must outlive it.
std::unique_ptr<Backend> make_backend(const std::string& name, const CostTable& costs,
                                      const Topology& topology, Contention contention);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_BACKEND_FACTORY_H_
