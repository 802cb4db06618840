#include "common/host_setup.h"

#include "common/byte_stream.h"

namespace doppler {

std::vector<std::byte> encode(const HostSetup& setup) {
  ByteWriter writer;
  writer.put_text(setup.learner_machine);
  writer.put_text(setup.local_endpoint);
  writer.put_text(setup.network_endpoint);
  writer.put_text(setup.keys);
  writer.put(setup.run_token);
  writer.put(setup.workers);
  writer.put(setup.slot_count);
  writer.put(setup.slot_capacity_bytes);
  writer.put(setup.broadcast_bytes);
  writer.put(static_cast<std::uint8_t>(setup.executes ? 1 : 0));
  return writer.take();
}

std::optional<HostSetup> decode_host_setup(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  HostSetup setup;
  setup.learner_machine = reader.get_text();
  setup.local_endpoint = reader.get_text();
  setup.network_endpoint = reader.get_text();
  setup.keys = reader.get_text();
  setup.run_token = reader.get<std::uint64_t>();
  setup.workers = reader.get<std::uint32_t>();
  setup.slot_count = reader.get<std::uint64_t>();
  setup.slot_capacity_bytes = reader.get<std::uint64_t>();
  setup.broadcast_bytes = reader.get<std::uint64_t>();
  setup.executes = reader.get<std::uint8_t>() != 0;
  if (!reader.complete()) return std::nullopt;
  return setup;
}

std::vector<std::byte> encode_host_weights(std::uint64_t version,
                                           std::span<const std::byte> snapshot) {
  ByteWriter writer;
  writer.put(version);
  writer.put_array(snapshot);
  return writer.take();
}

std::optional<HostWeights> decode_host_weights(std::span<const std::byte> bytes) {
  constexpr std::size_t kPrefix = 2 * sizeof(std::uint64_t);  // version, size
  ByteReader reader(bytes);
  HostWeights weights;
  weights.version = reader.get<std::uint64_t>();
  const auto size = reader.get<std::uint64_t>();
  if (!reader.ok() || size != reader.rest()) return std::nullopt;
  weights.snapshot = bytes.subspan(kPrefix);
  return weights;
}

}  // namespace doppler
