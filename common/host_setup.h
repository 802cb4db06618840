// HostSetup: what the learner tells an actor host at the start, before the first weights.
#ifndef DOPPLER_COMMON_HOST_SETUP_H_
#define DOPPLER_COMMON_HOST_SETUP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace doppler {

struct HostSetup {
  std::string learner_machine;   // where the local endpoint can be reached
  std::string local_endpoint;    // "ipc://..."; empty: none
  std::string network_endpoint;  // "tcp://..."; empty: none
  std::string keys;              // ClientKeys, as text
  std::uint64_t run_token = 0;
  std::uint32_t workers = 0;     // processes per host; 0: one per core
  std::uint64_t slot_count = 0;  // of SharedWeights
  std::uint64_t slot_capacity_bytes = 0;
  std::uint64_t broadcast_bytes = 0;  // > 0: versions come by broadcast, all of that many
  bool executes = false;              // workers measure: they are of the program that can
  bool operator==(const HostSetup&) const = default;
};

std::vector<std::byte> encode(const HostSetup& setup);
std::optional<HostSetup> decode_host_setup(std::span<const std::byte> bytes);

// A weight version on its way to a host: the version, then an encoded WeightSnapshot.
std::vector<std::byte> encode_host_weights(std::uint64_t version,
                                           std::span<const std::byte> snapshot);
struct HostWeights {
  std::uint64_t version = 0;
  std::span<const std::byte> snapshot;  // within the message
};
std::optional<HostWeights> decode_host_weights(std::span<const std::byte> bytes);

}  // namespace doppler

#endif  // DOPPLER_COMMON_HOST_SETUP_H_
