#include "learner/checkpoint_store.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/sample_checkpoint.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

using test::sample_checkpoint;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

std::vector<std::uint64_t> updates_in(const CheckpointStore& store) {
  std::vector<std::uint64_t> updates;
  for (const CheckpointEntry& entry : store.list()) updates.push_back(entry.update);
  return updates;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(CheckpointStore, AFreshRunHasNone) {
  const TempDir dir;
  const CheckpointStore store(dir.path(), 3);
  EXPECT_THAT(store.list(), IsEmpty());
  EXPECT_FALSE(store.load_newest_valid().loaded);
  EXPECT_THAT(store.load_newest_valid().warnings, IsEmpty());
}

TEST(CheckpointStore, TheNewestComesBackEqual) {
  const TempDir dir;
  CheckpointStore store(dir.path(), 3);
  store.save(sample_checkpoint(9));
  store.save(sample_checkpoint(1234));
  const NewestCheckpoint newest = store.load_newest_valid();
  ASSERT_TRUE(newest.loaded);
  EXPECT_EQ(newest.loaded->checkpoint, sample_checkpoint(1234));
  EXPECT_EQ(newest.loaded->path, store.folder() + "/checkpoint-000000001234.h5");
  EXPECT_THAT(newest.warnings, IsEmpty());
}

TEST(CheckpointStore, KeepsTheNewestAndTheBest) {
  const TempDir dir;
  CheckpointStore store(dir.path(), 2);
  for (std::uint64_t update : {1, 2, 3, 4, 5}) store.save(sample_checkpoint(update), update == 2);
  EXPECT_THAT(names_in(store.folder()),
              ElementsAre("best.h5", "checkpoint-000000000004.h5", "checkpoint-000000000005.h5"));
  EXPECT_EQ(CheckpointStore::load(store.best_path()).update, 2);
}

TEST(CheckpointStore, ARunThatWentBackLeavesItsOldFuture) {
  const TempDir dir;
  CheckpointStore store(dir.path(), 3);
  for (std::uint64_t update : {10, 20, 30}) store.save(sample_checkpoint(update));
  store.save(sample_checkpoint(15));
  EXPECT_THAT(updates_in(store), ElementsAre(10, 15));
  EXPECT_EQ(store.load_newest_valid().loaded->checkpoint.update, 15);
}

TEST(CheckpointStore, DamagedUnfinishedAndForeignFilesArePassedOver) {
  const TempDir dir;
  CheckpointStore store(dir.path(), 9);
  for (std::uint64_t update : {1, 2, 3, 4, 5}) store.save(sample_checkpoint(update));
  const std::string folder = "checkpoints/";
  fs::resize_file(dir.file(folder + "checkpoint-000000000003.h5"), 2000);
  {
    std::fstream file(dir.file(folder + "checkpoint-000000000004.h5"));
    file.seekp(3000);
    file.put('\x55');
  }
  dir.write(folder + "checkpoint-000000000005.h5", "");
  dir.write(folder + "checkpoint-000000000006.h5", "\x89HDF\r\n\x1a\n of another program");
  fs::copy(dir.file(folder + "checkpoint-000000000002.h5"),
           dir.file(folder + "checkpoint-000000000007.h5"));
  dir.write(folder + "checkpoint-000000000008.h5.tmp", "half a");
  dir.write(folder + "checkpoint-9.h5", "odd name");
  dir.write(folder + "checkpoint-0000000000010.h5", "odd name");
  dir.write(folder + "checkpoint-00000000001a.h5", "odd name");
  fs::create_directory(dir.file(folder + "checkpoint-000000000011.h5"));

  const NewestCheckpoint newest = store.load_newest_valid();
  ASSERT_TRUE(newest.loaded);
  EXPECT_EQ(newest.loaded->checkpoint, sample_checkpoint(2));
  EXPECT_THAT(newest.warnings,
              testing::UnorderedElementsAre(
                  HasSubstr("checkpoint-000000000003.h5: damaged"),
                  HasSubstr("checkpoint-000000000004.h5: damaged"),
                  HasSubstr("checkpoint-000000000005.h5: this file is empty"),
                  HasSubstr("checkpoint-000000000006.h5: not a Doppler checkpoint"),
                  HasSubstr("checkpoint-000000000007.h5: holds update 2"),
                  HasSubstr("checkpoint-000000000008.h5.tmp: unfinished"),
                  HasSubstr("checkpoint-9.h5: not the name"),
                  HasSubstr("checkpoint-0000000000010.h5: not the name"),
                  HasSubstr("checkpoint-00000000001a.h5: not the name"),
                  HasSubstr("checkpoint-000000000011.h5)")));
}

TEST(CheckpointStore, TheNextSaveRemovesUnfinishedFilesOnly) {
  const TempDir dir;
  CheckpointStore store(dir.path(), 3);
  store.save(sample_checkpoint(1));
  dir.write("checkpoints/checkpoint-000000000008.h5.tmp", "half a");
  dir.write("checkpoints/best.h5.tmp", "half a");
  dir.write("checkpoints/notes.tmp", "mine");
  store.save(sample_checkpoint(2));
  EXPECT_THAT(names_in(store.folder()),
              ElementsAre("checkpoint-000000000001.h5", "checkpoint-000000000002.h5", "notes.tmp"));
}

TEST(CheckpointStore, AMissingFileIsASystemError) {
  EXPECT_THAT(test::message_of<SystemError>([] { CheckpointStore::load("/nonexistent/x.h5"); }),
              HasSubstr("open(/nonexistent/x.h5): No such file or directory"));
}

// ---- what is left when the process or the machine stops after any prefix of the operations

struct Stopped {};  // not an Error: a process that is gone does not tidy up

// Carries the operations out, up to a limit, and keeps book of what a disk holds for certain: the
// content of a file at its last fsync, the names at the last fsync of the folder.
class StoppingOperations final : public FileOperations {
 public:
  explicit StoppingOperations(std::string folder) : folder_(std::move(folder)) {}

  void stop_after(int operations) { remaining_ = operations; }
  int performed() const { return performed_; }

  int open_for_writing(const std::string& path) override {
    step();
    if (!inodes_.contains(path)) inodes_[path] = std::make_shared<std::string>();
    return real_.open_for_writing(path);
  }
  void write(int descriptor, const std::string& path, std::span<const std::byte> bytes) override {
    // In three parts, so that stops lie within as well.
    for (int part = 0; part < 3; ++part) {
      const std::size_t begin = bytes.size() * static_cast<std::size_t>(part) / 3;
      const std::size_t end = bytes.size() * static_cast<std::size_t>(part + 1) / 3;
      step();
      real_.write(descriptor, path, bytes.subspan(begin, end - begin));
    }
  }
  void fsync(int descriptor, const std::string& path) override {
    step();
    real_.fsync(descriptor, path);
    std::ifstream in(path, std::ios::binary);
    *inodes_.at(path) = std::string(std::istreambuf_iterator<char>(in), {});
  }
  void close(int descriptor, const std::string& path) override {
    step();
    real_.close(descriptor, path);
  }
  void rename(const std::string& from, const std::string& to) override {
    step();
    real_.rename(from, to);
    inodes_[to] = inodes_.at(from);
    inodes_.erase(from);
  }
  void unlink(const std::string& path) override {
    step();
    real_.unlink(path);
    inodes_.erase(path);
  }
  void fsync_folder(const std::string& path) override {
    step();
    real_.fsync_folder(path);
    durable_ = inodes_;
  }

  // What may be found after a power failure: every file with its content of the last fsync, by the
  // names of the last fsync of the folder, or by those of the moment.
  void write_disk(const std::string& folder, bool newest_names) const {
    fs::create_directories(folder);
    for (const auto& [path, content] : newest_names ? inodes_ : durable_) {
      std::ofstream(fs::path(folder) / fs::path(path).filename(), std::ios::binary) << *content;
    }
  }

 private:
  void step() {
    if (performed_ == remaining_) throw Stopped();
    ++performed_;
  }

  std::string folder_;
  FileOperations& real_ = system_file_operations();
  int remaining_ = -1;
  int performed_ = 0;
  std::map<std::string, std::shared_ptr<std::string>> inodes_;
  std::map<std::string, std::shared_ptr<std::string>> durable_;
};

// Update 1 and 2 are there; the save of update 3 (as best) stops after `operations`. Returns
// whether it stopped.
bool stop_a_save_after(int operations) {
  const TempDir dir;
  StoppingOperations disk(dir.path());
  CheckpointStore store(dir.path(), 1, disk);
  store.save(sample_checkpoint(1), true);
  store.save(sample_checkpoint(2));
  const int before = disk.performed();
  disk.stop_after(before + operations);
  bool stopped = false;
  try {
    store.save(sample_checkpoint(3), true);
  } catch (const Stopped&) {
    stopped = true;
  }
  disk.write_disk(dir.file("old-names/checkpoints"), false);
  disk.write_disk(dir.file("new-names/checkpoints"), true);
  for (const std::string run : {"", "old-names", "new-names"}) {
    const CheckpointStore after(dir.file(run), 1);
    const NewestCheckpoint newest = after.load_newest_valid();
    const auto update = newest.loaded ? newest.loaded->checkpoint.update : 0;
    EXPECT_TRUE(update == 3 || (update == 2 && stopped))
        << update << " in \"" << run << "\" after " << operations << " operations";
    EXPECT_NO_THROW(CheckpointStore::load(after.best_path()))
        << "in \"" << run << "\" after " << operations << " operations";
    // What is left over does not hinder the next save.
    if (run.empty()) {
      CheckpointStore next(dir.path(), 1);
      next.save(sample_checkpoint(4));
      EXPECT_EQ(next.load_newest_valid().loaded->checkpoint.update, 4);
      EXPECT_THAT(next.load_newest_valid().warnings, IsEmpty());
    }
  }
  return stopped;
}

TEST(CheckpointStore, AStopAfterAnyOperationLeavesTheNewOrThePreviousCheckpoint) {
  int operations = 0;
  while (stop_a_save_after(operations)) ++operations;
  EXPECT_GE(operations,
            16);  // two files of open, write x 3, fsync, close, rename, fsync of the folder
}

// ---- a disk that refuses

class FailingOperations final : public FileOperations {
 public:
  std::string failing;  // the call that fails

  int open_for_writing(const std::string& path) override {
    fail_if("open");
    return real_.open_for_writing(path);
  }
  void write(int descriptor, const std::string& path, std::span<const std::byte> bytes) override {
    if (failing == "write") real_.write(descriptor, path, bytes.first(bytes.size() / 2));
    fail_if("write");
    real_.write(descriptor, path, bytes);
  }
  void fsync(int descriptor, const std::string& path) override {
    fail_if("fsync");
    real_.fsync(descriptor, path);
  }
  void close(int descriptor, const std::string& path) override {
    real_.close(descriptor, path);
    fail_if("close");
  }
  void rename(const std::string& from, const std::string& to) override {
    fail_if("rename");
    real_.rename(from, to);
  }
  void unlink(const std::string& path) override { real_.unlink(path); }
  void fsync_folder(const std::string& path) override { real_.fsync_folder(path); }

 private:
  void fail_if(const std::string& call) const {
    if (failing == call) throw SystemError(call + "(...): No space left on device");
  }
  FileOperations& real_ = system_file_operations();
};

TEST(CheckpointStore, ADiskThatRefusesLeavesWhatWasThereAndNothingElse) {
  for (const std::string call : {"open", "write", "fsync", "close", "rename"}) {
    const TempDir dir;
    FailingOperations disk;
    CheckpointStore store(dir.path(), 1, disk);
    store.save(sample_checkpoint(1), true);
    disk.failing = call;
    EXPECT_THAT(test::message_of<SystemError>([&] { store.save(sample_checkpoint(2), true); }),
                HasSubstr(call + "(...): No space left"));
    EXPECT_THAT(names_in(store.folder()), ElementsAre("best.h5", "checkpoint-000000000001.h5"))
        << call;
    EXPECT_EQ(store.load_newest_valid().loaded->checkpoint, sample_checkpoint(1));
  }
}

}  // namespace
}  // namespace doppler
