#include "common/graph_codec.h"

#include "common/error.h"

namespace doppler {
namespace {

void put_operation(const Operation& operation, ByteWriter& writer) {
  writer.put_text(operation.name);
  writer.put_text(operation.kind);
  writer.put(operation.flops);
  writer.put(operation.output_bytes);
  writer.put(operation.compute_time.ticks());
  writer.put(operation.transfer_time.ticks());
  writer.put_array(operation.output_shape);
  writer.put(static_cast<std::uint32_t>(operation.measured_durations.size()));
  for (const MeasuredDuration& measured : operation.measured_durations) {
    writer.put_text(measured.device_kind);
    writer.put(measured.seconds);
  }
  writer.put(operation.group.value());
  writer.put(static_cast<std::uint8_t>(operation.role));
  writer.put_array(operation.block_coordinates);
  writer.put(operation.pinned_device ? operation.pinned_device->value() : -1);
  writer.put_array(operation.forbidden_devices);
}

Operation get_operation(ByteReader& reader) {
  Operation operation;
  operation.name = reader.get_text();
  operation.kind = reader.get_text();
  operation.flops = reader.get<double>();
  operation.output_bytes = reader.get<std::int64_t>();
  operation.compute_time = SimTime(reader.get<std::int64_t>());
  operation.transfer_time = SimTime(reader.get<std::int64_t>());
  reader.get_array(operation.output_shape);
  const auto measured_count = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < measured_count && reader.ok(); ++i) {
    MeasuredDuration& measured = operation.measured_durations.emplace_back();
    measured.device_kind = reader.get_text();
    measured.seconds = reader.get<double>();
  }
  operation.group = GroupId(reader.get<std::int32_t>());
  operation.role = reader.get<std::uint8_t>() == 0 ? Role::kShard : Role::kReduce;
  reader.get_array(operation.block_coordinates);
  const auto pinned = reader.get<std::int32_t>();
  if (pinned >= 0) operation.pinned_device = DeviceId(pinned);
  reader.get_array(operation.forbidden_devices);
  return operation;
}

}  // namespace

void put_graph(const Graph& graph, ByteWriter& writer) {
  writer.put_text(graph.name());
  writer.put(static_cast<std::uint8_t>(graph.cost_unit()));
  writer.put(static_cast<std::uint64_t>(graph.operation_count()));
  for (const Operation& operation : graph.operations()) put_operation(operation, writer);
  writer.put(static_cast<std::uint64_t>(graph.edge_count()));
  for (const Edge& edge : graph.edges()) {
    writer.put(edge.source.value());
    writer.put(edge.destination.value());
    writer.put(edge.bytes.value_or(-1));
  }
  writer.put(static_cast<std::uint64_t>(graph.input_count()));
  writer.put(static_cast<std::uint64_t>(graph.inputs().size()));
  for (const InputTensor& input : graph.inputs()) {
    writer.put_text(input.name);
    writer.put(input.bytes);
    writer.put_array(input.consumers);
  }
  writer.put(graph.content_hash());
}

std::optional<Graph> get_graph(ByteReader& reader) {
  const std::string name = reader.get_text();
  const auto unit = reader.get<std::uint8_t>();
  GraphBuilder builder(name, unit == 0 ? CostUnit::kPhysical : CostUnit::kDurations);
  const auto operation_count = reader.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < operation_count && reader.ok(); ++i) {
    builder.add_operation(get_operation(reader));
  }
  const auto edge_count = reader.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < edge_count && reader.ok(); ++i) {
    Edge edge;
    edge.source = OperationId(reader.get<std::int32_t>());
    edge.destination = OperationId(reader.get<std::int32_t>());
    const auto bytes = reader.get<std::int64_t>();
    if (bytes >= 0) edge.bytes = bytes;
    builder.add_edge(edge);
  }
  builder.set_input_count(reader.get<std::uint64_t>());
  const auto input_count = reader.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < input_count && reader.ok(); ++i) {
    InputTensor input;
    input.name = reader.get_text();
    input.bytes = reader.get<std::int64_t>();
    reader.get_array(input.consumers);
    builder.add_input(std::move(input));
  }
  const auto hash = reader.get<std::uint64_t>();
  if (!reader.ok()) return std::nullopt;
  try {
    Graph graph = builder.build();
    if (graph.content_hash() != hash) return std::nullopt;
    return graph;
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

}  // namespace doppler
