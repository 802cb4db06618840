// How many episodes a second the trajectory archive takes, and what a checkpoint costs.
#include <vector>

#include <benchmark/benchmark.h>

#include "learner/archive_reader.h"
#include "learner/checkpoint_file.h"
#include "learner/checkpoint_store.h"
#include "learner/trajectory_archive.h"
#include "tests/support/sample_checkpoint.h"
#include "tests/support/sample_trajectory.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

constexpr std::size_t kBatch = 5000;

// Decisions that compress no better than real ones: pseudo-random devices and probabilities.
std::vector<Trajectory> make_batch() {
  std::vector<Trajectory> batch;
  std::uint64_t state = 1;
  const auto next = [&] {
    return (state = state * 6364136223846793005ULL + 1442695040888963407ULL) >> 33;
  };
  for (std::size_t i = 0; i < kBatch; ++i) {
    batch.push_back(test::sample_trajectory(i));
    for (DeviceId& device : batch.back().devices)
      device = DeviceId(static_cast<std::int32_t>(next() % 4));
    for (float& value : batch.back().select_log_probabilities)
      value = -1e-9F * static_cast<float>(next());
    for (float& value : batch.back().place_log_probabilities)
      value = -1e-9F * static_cast<float>(next());
  }
  return batch;
}

// Until all is committed and on the disk; episodes of 229 operations.
void archive_episodes(benchmark::State& state, bool with_decisions) {
  const test::TempDir dir;
  const std::vector<Trajectory> batch = make_batch();
  TrajectoryArchive archive(dir.path(), test::sample_header());
  for (auto unused : state) {
    for (const Trajectory& trajectory : batch) {
      archive.append(trajectory, TrajectoryStatus::kTrained, with_decisions);
    }
    archive.flush();
  }
  const ArchiveCounters counters = archive.counters();
  state.counters["episodes"] =
      benchmark::Counter(static_cast<double>(counters.committed_rows), benchmark::Counter::kIsRate);
  state.counters["shed"] = static_cast<double>(counters.shed_episodes);
}
void archive_full_episodes(benchmark::State& state) {
  archive_episodes(state, true);
}
void archive_rows_only(benchmark::State& state) {
  archive_episodes(state, false);
}
BENCHMARK(archive_full_episodes)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(archive_rows_only)->Unit(benchmark::kMillisecond)->UseRealTime();

// One commit of one full episode, with fsync: the least that a flush costs.
void archive_flush(benchmark::State& state) {
  const test::TempDir dir;
  TrajectoryArchive archive(dir.path(), test::sample_header());
  const Trajectory trajectory = test::sample_trajectory(1);
  for (auto unused : state) {
    archive.append(trajectory, TrajectoryStatus::kTrained, true);
    archive.flush();
  }
}
BENCHMARK(archive_flush)->Unit(benchmark::kMillisecond)->UseRealTime();

void read_episodes(benchmark::State& state) {
  const test::TempDir dir;
  {
    TrajectoryArchive archive(dir.path(), test::sample_header());
    for (std::uint64_t episode = 0; episode < 200000; ++episode) {
      Trajectory trajectory;
      trajectory.episode = episode;
      archive.append(std::move(trajectory), TrajectoryStatus::kTrained, false);
    }
  }
  std::uint64_t rows = 0;
  for (auto unused : state)
    rows += ArchiveReader(dir.path()).visit([](const EpisodeRow&) {}).episodes;
  state.counters["rows"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsRate);
}
BENCHMARK(read_episodes)->Unit(benchmark::kMillisecond);

// range(0): floats in each of five tensors.
void save_checkpoint(benchmark::State& state) {
  const test::TempDir dir;
  CheckpointStore store(dir.path(), 3);
  std::uint64_t update = 0;
  const auto values = static_cast<std::size_t>(state.range(0));
  Checkpoint checkpoint = test::sample_checkpoint(1, values);
  for (auto unused : state) {
    checkpoint.update = ++update;
    store.save(checkpoint);
  }
}
BENCHMARK(save_checkpoint)->Arg(10000)->Arg(200000)->Unit(benchmark::kMillisecond)->UseRealTime();

void encode_checkpoint(benchmark::State& state) {
  const Checkpoint checkpoint =
      test::sample_checkpoint(1, static_cast<std::size_t>(state.range(0)));
  for (auto unused : state) benchmark::DoNotOptimize(encode_checkpoint(checkpoint, "file"));
}
BENCHMARK(encode_checkpoint)->Arg(10000)->Arg(200000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doppler

BENCHMARK_MAIN();
