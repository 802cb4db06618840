#include "common/trajectory_codec.h"

#include <cmath>
#include <cstdint>

namespace doppler {

bool get_stage(ByteReader& reader, Stage& stage) {
  const auto raw = reader.get<std::uint8_t>();
  if (raw < static_cast<std::uint8_t>(Stage::kImitation) ||
      raw > static_cast<std::uint8_t>(Stage::kReal)) {
    return false;
  }
  stage = static_cast<Stage>(raw);
  return true;
}

void put_trajectory(const Trajectory& trajectory, ByteWriter& writer) {
  writer.put(trajectory.episode);
  writer.put(trajectory.graph);
  writer.put(trajectory.stage);
  writer.put(trajectory.ticket);
  writer.put(trajectory.attempt);
  writer.put(trajectory.lineage);
  writer.put(trajectory.weight_version);
  writer.put(trajectory.worker);
  writer.put(trajectory.seed);
  writer.put(trajectory.makespan.ticks());
  writer.put(trajectory.measured_seconds);
  writer.put(trajectory.repeats);
  writer.put(trajectory.spread_seconds);
  writer.put_array(trajectory.operations);
  writer.put_array(trajectory.devices);
  writer.put_array(trajectory.select_log_probabilities);
  writer.put_array(trajectory.place_log_probabilities);
}

bool get_trajectory(ByteReader& reader, Trajectory& trajectory) {
  trajectory.episode = reader.get<std::uint64_t>();
  trajectory.graph = reader.get<std::uint32_t>();
  if (!get_stage(reader, trajectory.stage)) return false;
  trajectory.ticket = reader.get<std::uint64_t>();
  trajectory.attempt = reader.get<std::uint32_t>();
  trajectory.lineage = reader.get<std::uint32_t>();
  trajectory.weight_version = reader.get<std::uint64_t>();
  trajectory.worker = reader.get<std::uint32_t>();
  trajectory.seed = reader.get<std::uint64_t>();
  trajectory.makespan = SimTime(reader.get<std::int64_t>());
  trajectory.measured_seconds = reader.get<double>();
  trajectory.repeats = reader.get<std::uint32_t>();
  trajectory.spread_seconds = reader.get<double>();
  reader.get_array(trajectory.operations);
  reader.get_array(trajectory.devices);
  reader.get_array(trajectory.select_log_probabilities);
  reader.get_array(trajectory.place_log_probabilities);
  return reader.ok() && trajectory.measured_seconds >= 0 && trajectory.spread_seconds >= 0 &&
         std::isfinite(trajectory.measured_seconds) && std::isfinite(trajectory.spread_seconds);
}

void put_group_gradient(const GroupGradient& gradient, ByteWriter& writer) {
  writer.put_array(gradient.sum.tables.select_scores);
  writer.put_array(gradient.sum.tables.place_rows);
  writer.put_array(gradient.sum.weights.feature_to_hidden);
  writer.put_array(gradient.sum.weights.hidden_to_score);
  const ReplayStatistics& statistics = gradient.statistics;
  writer.put(statistics.select_log_probability);
  writer.put(statistics.place_log_probability);
  writer.put(statistics.select_entropy);
  writer.put(statistics.place_entropy);
  writer.put(statistics.loss);
  writer.put(statistics.clipped_decisions);
  writer.put(statistics.ratio_sum);
  writer.put(statistics.ratio_square_sum);
  writer.put(statistics.ratio_count);
  writer.put(statistics.largest_log_probability_difference);
}

void get_group_gradient(ByteReader& reader, GroupGradient& gradient) {
  reader.get_array(gradient.sum.tables.select_scores);
  reader.get_array(gradient.sum.tables.place_rows);
  reader.get_array(gradient.sum.weights.feature_to_hidden);
  reader.get_array(gradient.sum.weights.hidden_to_score);
  ReplayStatistics& statistics = gradient.statistics;
  statistics.select_log_probability = reader.get<double>();
  statistics.place_log_probability = reader.get<double>();
  statistics.select_entropy = reader.get<double>();
  statistics.place_entropy = reader.get<double>();
  statistics.loss = reader.get<double>();
  statistics.clipped_decisions = reader.get<std::int64_t>();
  statistics.ratio_sum = reader.get<double>();
  statistics.ratio_square_sum = reader.get<double>();
  statistics.ratio_count = reader.get<std::int64_t>();
  statistics.largest_log_probability_difference = reader.get<float>();
}

}  // namespace doppler
