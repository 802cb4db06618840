#include "common/weight_snapshot.h"

#include <cmath>

#include "common/byte_stream.h"
#include "common/hash.h"

namespace doppler {
namespace {

constexpr std::uint64_t kMagic = 0x3454485749504f44ULL;  // "DOPIWHT4"
constexpr std::size_t kChecksumSize = sizeof(std::uint64_t);
constexpr std::uint32_t kLargestHeadWidth = 1U << 16;
constexpr std::uint32_t kLargestStepWidth = 1U << 13;
constexpr std::uint32_t kMostStepRounds = 1U << 8;

bool all_finite(const std::vector<float>& values) {
  for (float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

bool consistent(const WeightSnapshot& snapshot) {
  const HeadShape& shape = snapshot.shape;
  if (shape.aggregate_rank % 8 != 0 || shape.place_hidden % 8 != 0) return false;
  const std::size_t step_width = shape.step.width;
  if (step_width % 8 != 0 ||
      snapshot.weights.step.size() != shape.step.weight_count(shape.row_width()) ||
      !all_finite(snapshot.weights.step)) {
    return false;
  }
  if (snapshot.weights.feature_to_hidden.size() != kPlaceFeatureCount * shape.place_hidden ||
      snapshot.weights.hidden_to_score.size() != shape.place_hidden ||
      !all_finite(snapshot.weights.feature_to_hidden) ||
      !all_finite(snapshot.weights.hidden_to_score)) {
    return false;
  }
  for (const HeadTables& tables : snapshot.tables) {
    if (tables.select_scores.empty() ||
        tables.place_rows.size() != tables.select_scores.size() * shape.row_width() ||
        !all_finite(tables.select_scores) || !all_finite(tables.place_rows) ||
        tables.step_input.size() != tables.select_scores.size() * step_width ||
        tables.step_select.size() != tables.step_input.size() ||
        tables.step_place.size() != (shape.step.pools ? tables.step_input.size() : 0) ||
        !all_finite(tables.step_input) || !all_finite(tables.step_select) ||
        !all_finite(tables.step_place)) {
      return false;
    }
  }
  return true;
}

StepShape get_step_shape(ByteReader& reader) {
  StepShape step;
  step.width = reader.get<std::uint32_t>();
  step.rounds = reader.get<std::uint32_t>();
  step.devices = reader.get<std::uint32_t>();
  step.pools = reader.get<std::uint8_t>() != 0;
  return step;
}

}  // namespace

std::vector<std::byte> encode(const WeightSnapshot& snapshot) {
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(snapshot.version);
  writer.put(snapshot.lineage);
  writer.put(static_cast<std::uint32_t>(snapshot.shape.aggregate_rank));
  writer.put(static_cast<std::uint32_t>(snapshot.shape.place_hidden));
  writer.put(static_cast<std::uint32_t>(snapshot.shape.one_pass_devices));
  writer.put(static_cast<std::uint32_t>(snapshot.shape.device_terms));
  writer.put(static_cast<std::uint32_t>(snapshot.shape.step.width));
  writer.put(static_cast<std::uint32_t>(snapshot.shape.step.rounds));
  writer.put(static_cast<std::uint32_t>(snapshot.shape.step.devices));
  writer.put(static_cast<std::uint8_t>(snapshot.shape.step.pools));
  writer.put(static_cast<std::uint32_t>(snapshot.tables.size()));
  writer.put_array(snapshot.weights.feature_to_hidden);
  writer.put_array(snapshot.weights.hidden_to_score);
  writer.put_array(snapshot.weights.step);
  for (const HeadTables& tables : snapshot.tables) {
    writer.put_array(tables.select_scores);
    writer.put_array(tables.place_rows);
    writer.put_array(tables.step_input);
    writer.put_array(tables.step_select);
    writer.put_array(tables.step_place);
  }
  writer.put(hash_bytes(writer.bytes()));
  return writer.take();
}

std::optional<WeightSnapshot> decode_weight_snapshot(std::span<const std::byte> bytes) {
  if (bytes.size() < kChecksumSize) return std::nullopt;
  const auto body = bytes.first(bytes.size() - kChecksumSize);
  ByteReader tail(bytes.last(kChecksumSize));
  if (tail.get<std::uint64_t>() != hash_bytes(body)) return std::nullopt;

  ByteReader reader(body);
  if (reader.get<std::uint64_t>() != kMagic) return std::nullopt;
  WeightSnapshot snapshot;
  snapshot.version = reader.get<std::uint64_t>();
  snapshot.lineage = reader.get<std::uint32_t>();
  const auto rank = reader.get<std::uint32_t>();
  const auto hidden = reader.get<std::uint32_t>();
  const auto one_pass_devices = reader.get<std::uint32_t>();
  const auto device_terms = reader.get<std::uint32_t>();
  const StepShape step = get_step_shape(reader);
  const auto graph_count = reader.get<std::uint32_t>();
  if (one_pass_devices > kLargestHeadWidth || device_terms > kLargestHeadWidth) return std::nullopt;
  if (rank > kLargestHeadWidth || hidden > kLargestHeadWidth) return std::nullopt;
  if (step.width > kLargestStepWidth || step.rounds > kMostStepRounds ||
      step.devices > kLargestHeadWidth) {
    return std::nullopt;
  }
  snapshot.shape = {.aggregate_rank = rank,
                    .place_hidden = hidden,
                    .one_pass_devices = one_pass_devices,
                    .device_terms = device_terms,
                    .step = step};
  reader.get_array(snapshot.weights.feature_to_hidden);
  reader.get_array(snapshot.weights.hidden_to_score);
  reader.get_array(snapshot.weights.step);
  for (std::uint32_t g = 0; g < graph_count && reader.ok(); ++g) {
    HeadTables& tables = snapshot.tables.emplace_back();
    reader.get_array(tables.select_scores);
    reader.get_array(tables.place_rows);
    reader.get_array(tables.step_input);
    reader.get_array(tables.step_select);
    reader.get_array(tables.step_place);
  }
  if (!reader.complete() || !consistent(snapshot)) return std::nullopt;
  return snapshot;
}

}  // namespace doppler
