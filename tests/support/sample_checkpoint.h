// A checkpoint in which every field is set to something of its own, so that a mix-up shows.
#ifndef DOPPLER_TESTS_SUPPORT_SAMPLE_CHECKPOINT_H_
#define DOPPLER_TESTS_SUPPORT_SAMPLE_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "learner/checkpoint.h"

namespace doppler::test {

inline BestPlacement sample_placement(std::int64_t makespan, const std::string& found_by) {
  BestPlacement placement;
  placement.makespan = SimTime(makespan);
  placement.episode = 4711;
  placement.seed = 0xfedcba9876543210ULL;
  placement.found_by = found_by;
  for (std::int32_t device : {3, 0, 2}) placement.assignment.push_back(DeviceId(device));
  placement.order = {OperationId(0), OperationId(2), OperationId(1)};
  return placement;
}

// `update` is set; the values of the tensors depend on it, their number is `values` each.
inline Checkpoint sample_checkpoint(std::uint64_t update, std::size_t values = 6) {
  Checkpoint checkpoint;
  checkpoint.config_yaml = "run:\n  name: proben\xc3\xa4me\n";
  checkpoint.config_hash = 0x8000000000000001ULL;
  checkpoint.lineage = 2;
  checkpoint.stage = Stage::kSimulation;
  checkpoint.stage_update = update / 2;
  checkpoint.update = update;
  checkpoint.next_episode = 64 * update;
  checkpoint.next_ticket = 8 * update;
  checkpoint.elapsed_seconds = 12.5;
  checkpoint.stage_elapsed_seconds = 3.25;
  checkpoint.counts = {.opened = 100,
                       .trained = 60,
                       .dropped_stale = 1,
                       .dropped_invalid = 2,
                       .dropped_lineage = 3,
                       .failed = 4,
                       .discarded_at_resume = 5,
                       .outstanding = 25};
  checkpoint.learning_rate = 0.0123;
  std::vector<float> numbers(values);
  for (std::size_t i = 0; i < values; ++i) {
    numbers[i] = static_cast<float>(i) * 0.1F + static_cast<float>(update);
  }
  const auto count = static_cast<std::int64_t>(values);
  // Neither in alphabetical order nor of one rank; one holds nothing.
  checkpoint.parameters = {{"heads.select.weight", {count / 2, 2}, numbers},
                           {"encoder.rounds.0.forward.weight", {1, count}, numbers},
                           {"encoder.unused", {0, 4}, {}}};
  checkpoint.optimizer = {{"heads.select.weight/exp_avg", {count / 2, 2}, numbers},
                          {"heads.select.weight/exp_avg_sq", {count / 2, 2}, numbers},
                          {"heads.select.weight/step", {}, {17.0F}}};
  checkpoint.recent_versions = {{update, {std::byte{1}, std::byte{0}, std::byte{255}}},
                                {update + 1, {}}};
  checkpoint.graphs = {{.name = "tiny",
                        .content_hash = 0x123456789abcdefULL,
                        .operation_count = 3,
                        .best = sample_placement(170, "policy sample"),
                        .greedy = sample_placement(190, "policy greedy"),
                        .measured = sample_placement(210, "policy sample"),
                        .baselines = {{"critical path", SimTime(200)}, {"HEFT", SimTime(180)}},
                        .lower_bound = SimTime(160)},
                       GraphState()};
  checkpoint.graphs[1].name = "nothing known yet";
  checkpoint.graphs[1].operation_count = 5;
  checkpoint.archive_segment = "segment-000003.h5";
  checkpoint.archive_rows = 1234567;
  return checkpoint;
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_SAMPLE_CHECKPOINT_H_
