// The checkpoints of one run: RUN_DIR/checkpoints/checkpoint-000000001234.h5 by update number, and
// best.h5.
//
// A file by one of these names is complete or does not exist: it is written under another name,
// brought to disk, then renamed. Damage that happens later is found by a hash on loading, and the
// checkpoint before is taken.
#ifndef DOPPLER_LEARNER_CHECKPOINT_STORE_H_
#define DOPPLER_LEARNER_CHECKPOINT_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "learner/checkpoint.h"
#include "learner/file_operations.h"

namespace doppler {

struct CheckpointEntry {
  std::string path;
  std::uint64_t update = 0;  // from the file's name
  bool operator==(const CheckpointEntry&) const = default;
};

struct LoadedCheckpoint {
  Checkpoint checkpoint;
  std::string path;
};

struct NewestCheckpoint {
  std::optional<LoadedCheckpoint> loaded;  // none: the folder holds no valid checkpoint
  // One message for each file that was passed over, and why: damaged, unfinished, of another name.
  std::vector<std::string> warnings;
};

// One store may write in a folder at a time; reading is free. Not thread-safe.
class CheckpointStore {
 public:
  // `keep`: how many of the newest are kept, at least 1. Touches nothing on disk.
  CheckpointStore(const std::string& run_dir, std::int64_t keep,
                  FileOperations& operations = system_file_operations());

  // Makes the folder when it does not exist. Returns once the checkpoint is on disk. A checkpoint
  // is stored by its `update`; files of later updates are removed afterwards: they belong to a
  // future that a run resumed from an earlier update has left. `is_best`: it becomes best.h5 too,
  // which is kept whatever its age. SystemError (disk full, ...): the checkpoints that were there
  // are untouched and no unfinished file is left.
  void save(const Checkpoint& checkpoint, bool is_best = false);

  // The newest that loads. Never throws because of what lies in the folder; SystemError when the
  // folder cannot be read.
  NewestCheckpoint load_newest_valid() const;

  // FormatError when the file is damaged or no checkpoint, SystemError when it cannot be read.
  static Checkpoint load(const std::string& path);

  // By name alone, ascending by update. Empty when there is no folder.
  std::vector<CheckpointEntry> list() const;

  const std::string& folder() const { return folder_; }
  std::string best_path() const { return folder_ + "/best.h5"; }

 private:
  std::string path_of(std::uint64_t update) const;
  void prune(std::uint64_t newest_update);

  std::string folder_;
  std::size_t keep_;
  FileOperations& operations_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_CHECKPOINT_STORE_H_
