// What tests do to run folders from outside of their own process: see main(). Tells on standard
// output, a line each, how far it is.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/resource.h>

#include "common/error.h"
#include "learner/archive_reader.h"
#include "learner/checkpoint_store.h"
#include "learner/trajectory_archive.h"
#include "tests/support/sample_checkpoint.h"
#include "tests/support/sample_trajectory.h"

namespace doppler {
namespace {

void tell(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void limit_file_size(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
  rlimit limit = {};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

// Says the update of each checkpoint that is saved.
void save_checkpoints(const std::string& run_dir) {
  CheckpointStore store(run_dir, 2);
  for (std::uint64_t update = 1;; ++update) {
    store.save(test::sample_checkpoint(update, 20000), update % 3 == 0);
    tell(std::to_string(update));
  }
}

// Says the number of episodes that are committed.
void append_episodes(const std::string& run_dir, std::uint32_t lineage, std::uint64_t first) {
  TrajectoryArchive archive(run_dir, test::sample_header(lineage, first), {.segment_rows = 1000});
  for (std::uint64_t episode = first;;) {
    for (int i = 0; i < 20; ++i, ++episode) {
      archive.append(test::sample_trajectory(episode, lineage), test::sample_status(episode),
                     episode % 2 == 0);
    }
    if (!archive.flush()) tell("failed: " + archive.take_alarm().value_or(""));
    tell(std::to_string(episode));
  }
}

// Says what happens to a checkpoint that does not fit.
void overfill_checkpoints(const std::string& run_dir) {
  CheckpointStore store(run_dir, 2);
  store.save(test::sample_checkpoint(1));
  limit_file_size(100 * 1000);
  try {
    store.save(test::sample_checkpoint(2, 100000), true);
    tell("saved");
  } catch (const SystemError& problem) {
    tell(problem.what());
  }
}

// Says the first alarm, then how the archive stands once the disk is no longer full.
void overfill_archive(const std::string& run_dir) {
  TrajectoryArchive archive(run_dir, test::sample_header(), {.retry_seconds = 0});
  std::uint64_t episode = 0;
  const auto append_some = [&] {
    for (int i = 0; i < 200; ++i, ++episode) {
      archive.append(test::sample_trajectory(episode), TrajectoryStatus::kTrained, true);
    }
    return archive.flush();
  };
  append_some();
  limit_file_size(3 * 1000 * 1000);
  while (append_some()) {
  }
  tell(archive.take_alarm().value_or("no alarm"));
  // It goes on failing, and does not mind: not even a new segment fits.
  limit_file_size(1000);
  append_some();
  append_some();
  limit_file_size(RLIM_INFINITY);
  const bool written = append_some();
  const ArchiveCounters counters = archive.counters();
  tell(std::to_string(written));
  tell(std::to_string(episode));
  tell(std::to_string(counters.committed_rows));
  tell(std::to_string(counters.errors));
  tell(std::to_string(archive.close()));
}

// Says what the archive finds out about file locking, then whether it logs all the same.
void append_without_locking(const std::string& run_dir) {
  TrajectoryArchive archive(run_dir, test::sample_header());
  tell(archive.locking_note());
  for (std::uint64_t episode = 0; episode < 10; ++episode) {
    archive.append(test::sample_trajectory(episode), TrajectoryStatus::kTrained, true);
  }
  tell(std::to_string(archive.flush()));
  tell(std::to_string(ArchiveReader(run_dir).episodes().size()));
  tell(std::to_string(archive.close()));
}

// A run folder that was resumed once: docs/formats.md is compared with it.
void write_sample(const std::string& run_dir) {
  CheckpointStore store(run_dir, 2);
  store.save(test::sample_checkpoint(7), true);
  TrajectoryArchive first(run_dir, test::sample_header(0, 0));
  for (std::uint64_t episode = 0; episode < 100; ++episode) {
    first.append(test::sample_trajectory(episode), test::sample_status(episode), episode % 2 == 0);
  }
  first.close();
  TrajectoryArchive second(run_dir, test::sample_header(1, 80));
  for (std::uint64_t episode = 80; episode < 130; ++episode) {
    second.append(test::sample_trajectory(episode, 1), test::sample_status(episode),
                  episode % 2 == 0);
  }
  second.close();
}

int run(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string what = argv[1];
  const std::string run_dir = argv[2];
  if (what == "save-checkpoints") save_checkpoints(run_dir);
  if (what == "append-episodes") {
    append_episodes(run_dir, static_cast<std::uint32_t>(std::atoi(argv[3])),
                    static_cast<std::uint64_t>(std::atoll(argv[4])));
  }
  if (what == "overfill-checkpoints") overfill_checkpoints(run_dir);
  if (what == "overfill-archive") overfill_archive(run_dir);
  if (what == "append-without-locking") append_without_locking(run_dir);
  if (what == "write-sample") write_sample(run_dir);
  return 0;
}

}  // namespace
}  // namespace doppler

// HDF5 1.10 loses two small buffers of its own in a file that it could not write.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libhdf5";
}

int main(int argc, char** argv) {
  try {
    return doppler::run(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 3;
  }
}
