#include "common/message.h"

#include <limits>

#include "common/byte_stream.h"
#include "common/graph_codec.h"
#include "common/random.h"
#include "common/trajectory_codec.h"

namespace doppler {
namespace {

ByteWriter begin(MessageKind kind) {
  ByteWriter writer;
  writer.put(kind);
  return writer;
}

// A reader behind the kind byte; nullopt for a message of another kind.
std::optional<ByteReader> open(std::span<const std::byte> bytes, MessageKind kind) {
  if (message_kind(bytes) != kind) return std::nullopt;
  return ByteReader(bytes.subspan(1));
}

template <typename Enum>
bool get_enum(ByteReader& reader, Enum last, Enum& value) {
  const auto raw = reader.get<std::uint8_t>();
  if (raw > static_cast<std::uint8_t>(last)) return false;
  value = static_cast<Enum>(raw);
  return true;
}

void put_plan(const Plan& plan, ByteWriter& writer) {
  writer.put(static_cast<std::uint32_t>(plan.order.size()));
  for (OperationId operation : plan.order) writer.put(operation.value());
  for (DeviceId device : plan.assignment) writer.put(device.value());
}

// Of as many entries as there are bytes for, whatever was announced.
Plan get_plan(ByteReader& reader) {
  Plan plan;
  const auto n = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < n && reader.ok(); ++i) {
    plan.order.emplace_back(reader.get<std::int32_t>());
  }
  for (std::uint32_t i = 0; i < n && reader.ok(); ++i) {
    plan.assignment.push_back(DeviceId(reader.get<std::int32_t>()));
  }
  return plan;
}

}  // namespace

std::optional<MessageKind> message_kind(std::span<const std::byte> bytes) {
  if (bytes.empty()) return std::nullopt;
  const auto raw = static_cast<std::uint8_t>(bytes[0]);
  if (raw < static_cast<std::uint8_t>(MessageKind::kHello) ||
      raw > static_cast<std::uint8_t>(MessageKind::kNothingNewer)) {
    return std::nullopt;
  }
  return static_cast<MessageKind>(raw);
}

std::vector<std::byte> encode(const Hello& message) {
  ByteWriter writer = begin(MessageKind::kHello);
  writer.put(message.protocol);
  writer.put(message.host);
  writer.put(message.worker);
  writer.put(message.incarnation);
  writer.put(message.run_token);
  writer.put_text(message.machine);
  return writer.take();
}

std::optional<Hello> decode_hello(std::span<const std::byte> bytes) {
  auto reader = open(bytes, MessageKind::kHello);
  if (!reader) return std::nullopt;
  Hello message;
  message.protocol = reader->get<std::uint32_t>();
  message.host = reader->get<std::uint32_t>();
  message.worker = reader->get<std::uint32_t>();
  message.incarnation = reader->get<std::uint32_t>();
  message.run_token = reader->get<std::uint64_t>();
  message.machine = reader->get_text();
  if (!reader->complete()) return std::nullopt;
  return message;
}

std::vector<std::byte> encode(const Welcome& message) {
  ByteWriter writer = begin(MessageKind::kWelcome);
  writer.put(message.worker_number);
  writer.put(message.run_seed);
  writer.put(static_cast<std::uint8_t>(message.simulation.mode));
  writer.put(message.simulation.devices);
  writer.put(message.simulation.contention);
  writer.put(message.simulation.dispatch);
  writer.put(message.simulation.memory);
  writer.put(message.simulation.operation_noise);
  writer.put(static_cast<std::uint32_t>(message.simulation.kind_noise.size()));
  for (const auto& [kind, noise] : message.simulation.kind_noise) {
    writer.put_text(kind);
    writer.put(noise);
  }
  writer.put(message.simulation.transfer_noise);
  writer.put_text(message.topology);
  writer.put(static_cast<std::uint8_t>(message.teacher));
  writer.put(static_cast<std::uint8_t>(message.select));
  writer.put(static_cast<std::uint8_t>(message.place));
  writer.put(static_cast<std::uint8_t>(message.executes ? 1 : 0));
  writer.put_text(message.execution.backend);
  writer.put(message.execution.warmup);
  writer.put(message.execution.repeats);
  writer.put(static_cast<std::uint8_t>(message.execution.paired));
  writer.put(message.execution.timeout_seconds);
  writer.put(static_cast<std::uint32_t>(message.graphs.size()));
  for (const Graph& graph : message.graphs) put_graph(graph, writer);
  writer.put(static_cast<std::uint8_t>(message.teacher_plans.empty() ? 0 : 1));
  for (const Plan& plan : message.teacher_plans) put_plan(plan, writer);
  return writer.take();
}

std::optional<Welcome> decode_welcome(std::span<const std::byte> bytes) {
  auto reader = open(bytes, MessageKind::kWelcome);
  if (!reader) return std::nullopt;
  Welcome message;
  message.worker_number = reader->get<std::uint32_t>();
  message.run_seed = reader->get<std::uint64_t>();
  if (!get_enum(*reader, SimulationMode::kPhysical, message.simulation.mode)) return std::nullopt;
  message.simulation.devices = reader->get<std::int64_t>();
  if (!get_enum(*reader, Contention::kFair, message.simulation.contention) ||
      !get_enum(*reader, Dispatch::kRandom, message.simulation.dispatch) ||
      !get_enum(*reader, MemoryRule::kEnforce, message.simulation.memory)) {
    return std::nullopt;
  }
  message.simulation.operation_noise = reader->get<double>();
  const auto kind_count = reader->get<std::uint32_t>();
  for (std::uint32_t k = 0; k < kind_count && reader->ok(); ++k) {
    const std::string kind = reader->get_text();
    message.simulation.kind_noise[kind] = reader->get<double>();
  }
  message.simulation.transfer_noise = reader->get<double>();
  message.topology = reader->get_text();
  if (!get_enum(*reader, Teacher::kBest, message.teacher) ||
      !get_enum(*reader, SelectPolicy::kTopological, message.select) ||
      !get_enum(*reader, PlacePolicy::kPooled, message.place)) {
    return std::nullopt;
  }
  message.executes = reader->get<std::uint8_t>() != 0;
  message.execution.backend = reader->get_text();
  message.execution.warmup = reader->get<std::int64_t>();
  message.execution.repeats = reader->get<std::int64_t>();
  message.execution.paired = reader->get<std::uint8_t>() != 0;
  message.execution.timeout_seconds = reader->get<double>();
  const auto graph_count = reader->get<std::uint32_t>();
  for (std::uint32_t g = 0; g < graph_count && reader->ok(); ++g) {
    std::optional<Graph> graph = get_graph(*reader);
    if (!graph) return std::nullopt;
    message.graphs.push_back(std::move(*graph));
  }
  if (reader->get<std::uint8_t>() != 0) {
    for (const Graph& graph : message.graphs) {
      const Plan& plan = message.teacher_plans.emplace_back(get_plan(*reader));
      if (!is_plan_of(plan, graph, std::numeric_limits<std::int32_t>::max())) return std::nullopt;
    }
  }
  if (!reader->complete()) return std::nullopt;
  return message;
}

std::vector<std::byte> encode(const Refusal& message) {
  ByteWriter writer = begin(MessageKind::kRefusal);
  writer.put_text(message.reason);
  return writer.take();
}

std::optional<Refusal> decode_refusal(std::span<const std::byte> bytes) {
  auto reader = open(bytes, MessageKind::kRefusal);
  if (!reader) return std::nullopt;
  Refusal message{reader->get_text()};
  if (!reader->complete()) return std::nullopt;
  return message;
}

std::vector<std::byte> encode(const Credit& message) {
  ByteWriter writer = begin(MessageKind::kCredit);
  writer.put(message.tickets);
  return writer.take();
}

std::optional<Credit> decode_credit(std::span<const std::byte> bytes) {
  auto reader = open(bytes, MessageKind::kCredit);
  if (!reader) return std::nullopt;
  Credit message{reader->get<std::uint32_t>()};
  if (!reader->complete()) return std::nullopt;
  return message;
}

std::vector<std::byte> encode(const Ticket& message) {
  ByteWriter writer = begin(MessageKind::kTicket);
  writer.put(message.id);
  writer.put(message.attempt);
  writer.put(message.batch);
  writer.put(message.purpose);
  writer.put(message.stage);
  writer.put(message.graph);
  writer.put(message.weight_version);
  writer.put(static_cast<std::uint8_t>(message.newest));
  writer.put(message.lineage);
  writer.put(message.first_episode);
  writer.put(message.count);
  writer.put(static_cast<std::uint8_t>(message.greedy));
  writer.put(message.epsilon);
  writer.put(static_cast<std::uint8_t>(message.gradient.has_value()));
  if (message.gradient) {
    writer.put(message.gradient->episode_weight);
    writer.put(message.gradient->entropy_weight);
    writer.put(message.gradient->transfer_weight);
    writer.put(message.gradient->clip_ratio);
    writer.put(static_cast<std::uint8_t>(message.gradient->teacher));
  }
  writer.put(static_cast<std::uint8_t>(message.placement.has_value()));
  if (message.placement) {
    writer.put_text(message.placement->name);
    put_plan(message.placement->plan, writer);
  }
  return writer.take();
}

std::optional<Ticket> decode_ticket(std::span<const std::byte> bytes) {
  auto reader = open(bytes, MessageKind::kTicket);
  if (!reader) return std::nullopt;
  Ticket message;
  message.id = reader->get<std::uint64_t>();
  message.attempt = reader->get<std::uint32_t>();
  message.batch = reader->get<std::uint64_t>();
  if (!get_enum(*reader, TicketPurpose::kMeasure, message.purpose) ||
      !get_stage(*reader, message.stage)) {
    return std::nullopt;
  }
  message.graph = reader->get<std::uint32_t>();
  message.weight_version = reader->get<std::uint64_t>();
  message.newest = reader->get<std::uint8_t>() != 0;
  message.lineage = reader->get<std::uint32_t>();
  message.first_episode = reader->get<std::uint64_t>();
  message.count = reader->get<std::uint32_t>();
  message.greedy = reader->get<std::uint8_t>() != 0;
  message.epsilon = reader->get<double>();
  if (reader->get<std::uint8_t>() != 0) {
    GradientOrder& order = message.gradient.emplace();
    order.episode_weight = reader->get<float>();
    order.entropy_weight = reader->get<float>();
    order.transfer_weight = reader->get<double>();
    order.clip_ratio = reader->get<float>();
    if (!get_enum(*reader, Teacher::kBest, order.teacher)) return std::nullopt;
  }
  if (reader->get<std::uint8_t>() != 0) {
    message.placement.emplace();
    message.placement->name = reader->get_text();
    message.placement->plan = get_plan(*reader);
  }
  if (!reader->complete()) return std::nullopt;
  return message;
}

std::vector<std::byte> encode(const Result& message) {
  ByteWriter writer = begin(MessageKind::kResult);
  writer.put(message.ticket);
  writer.put(message.attempt);
  writer.put(static_cast<std::uint32_t>(message.trajectories.size()));
  for (const Trajectory& trajectory : message.trajectories) put_trajectory(trajectory, writer);
  writer.put(static_cast<std::uint8_t>(message.gradient.has_value()));
  if (message.gradient) put_group_gradient(*message.gradient, writer);
  return writer.take();
}

std::optional<Result> decode_result(std::span<const std::byte> bytes) {
  auto reader = open(bytes, MessageKind::kResult);
  if (!reader) return std::nullopt;
  Result message;
  message.ticket = reader->get<std::uint64_t>();
  message.attempt = reader->get<std::uint32_t>();
  const auto count = reader->get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && reader->ok(); ++i) {
    if (!get_trajectory(*reader, message.trajectories.emplace_back())) return std::nullopt;
  }
  if (reader->get<std::uint8_t>() != 0) get_group_gradient(*reader, message.gradient.emplace());
  if (!reader->complete()) return std::nullopt;
  return message;
}

std::vector<std::byte> encode(const Goodbye& /*message*/) {
  return begin(MessageKind::kGoodbye).take();
}

std::vector<std::byte> encode(const Leave& /*message*/) {
  return begin(MessageKind::kLeave).take();
}

std::vector<std::byte> encode(const NothingNewer& /*message*/) {
  return begin(MessageKind::kNothingNewer).take();
}

std::vector<std::byte> encode(const Join& message) {
  ByteWriter writer = begin(MessageKind::kJoin);
  writer.put(message.protocol);
  writer.put(message.run_token);
  writer.put_text(message.machine);
  writer.put(message.workers);
  return writer.take();
}

std::optional<Join> decode_join(std::span<const std::byte> bytes) {
  auto reader = open(bytes, MessageKind::kJoin);
  if (!reader) return std::nullopt;
  Join message;
  message.protocol = reader->get<std::uint32_t>();
  message.run_token = reader->get<std::uint64_t>();
  message.machine = reader->get_text();
  message.workers = reader->get<std::uint32_t>();
  if (!reader->complete()) return std::nullopt;
  return message;
}

std::vector<std::byte> encode(const Joined& message) {
  ByteWriter writer = begin(MessageKind::kJoined);
  writer.put(message.host);
  writer.put(message.slot_count);
  writer.put(message.slot_capacity_bytes);
  writer.put(static_cast<std::uint8_t>(message.executes));
  return writer.take();
}

std::optional<Joined> decode_joined(std::span<const std::byte> bytes) {
  auto reader = open(bytes, MessageKind::kJoined);
  if (!reader) return std::nullopt;
  Joined message;
  message.host = reader->get<std::uint32_t>();
  message.slot_count = reader->get<std::uint64_t>();
  message.slot_capacity_bytes = reader->get<std::uint64_t>();
  message.executes = reader->get<std::uint8_t>() != 0;
  if (!reader->complete()) return std::nullopt;
  return message;
}

std::vector<std::byte> encode(const WeightsWanted& message) {
  ByteWriter writer = begin(MessageKind::kWeightsWanted);
  writer.put(static_cast<std::uint8_t>(message.have.has_value()));
  writer.put(message.have.value_or(0));
  return writer.take();
}

std::optional<WeightsWanted> decode_weights_wanted(std::span<const std::byte> bytes) {
  auto reader = open(bytes, MessageKind::kWeightsWanted);
  if (!reader) return std::nullopt;
  WeightsWanted message;
  const bool has = reader->get<std::uint8_t>() != 0;
  const auto version = reader->get<std::uint64_t>();
  if (has) message.have = version;
  if (!reader->complete()) return std::nullopt;
  return message;
}

std::vector<std::byte> encode_weights_message(std::uint64_t version,
                                              std::span<const std::byte> snapshot) {
  ByteWriter writer = begin(MessageKind::kWeights);
  writer.put(version);
  writer.put_array(snapshot);
  return writer.take();
}

std::optional<WeightsMessage> decode_weights_message(std::span<const std::byte> bytes) {
  constexpr std::size_t kPrefix = 1 + 2 * sizeof(std::uint64_t);  // kind, version, size
  auto reader = open(bytes, MessageKind::kWeights);
  if (!reader) return std::nullopt;
  WeightsMessage message;
  message.version = reader->get<std::uint64_t>();
  const auto size = reader->get<std::uint64_t>();
  if (!reader->ok() || size != reader->rest()) return std::nullopt;
  message.snapshot = bytes.subspan(kPrefix);
  return message;
}

std::uint64_t episode_seed(std::uint64_t run_seed, std::uint64_t episode) {
  return derive_seed({run_seed, episode});
}

}  // namespace doppler
