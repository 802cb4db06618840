// The calls of the operating system by which a file comes to exist, behind an interface: a test can
// then stop after any prefix of them, and see what a killed process or a machine without power
// would leave.
#ifndef DOPPLER_LEARNER_FILE_OPERATIONS_H_
#define DOPPLER_LEARNER_FILE_OPERATIONS_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace doppler {

// Every call throws SystemError "call(path): reason" when it fails. Thread-safe as far as the paths
// differ.
class FileOperations {
 public:
  virtual ~FileOperations() = default;
  // Makes the file, or empties it when it exists.
  virtual int open_for_writing(const std::string& path) = 0;
  // All of the bytes.
  virtual void write(int descriptor, const std::string& path, std::span<const std::byte> bytes) = 0;
  virtual void fsync(int descriptor, const std::string& path) = 0;
  virtual void close(int descriptor, const std::string& path) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void unlink(const std::string& path) = 0;
  virtual void fsync_folder(const std::string& path) = 0;
};

// The real ones.
FileOperations& system_file_operations();

// What a file is called until it is complete: `path` + this.
inline constexpr const char* kTemporarySuffix = ".tmp";

// Afterwards `path` holds exactly `bytes`, also after a power failure; if it throws, or the process
// is killed, `path` is as it was before. A file that could not be completed is removed.
void write_file_durably(FileOperations& operations, const std::string& path,
                        std::span<const std::byte> bytes);

// What was written to the file is on the disk (fsync).
void sync_file(const std::string& path);

// Names in a folder, ascending; none when the folder does not exist. SystemError when it cannot be
// read.
std::vector<std::string> file_names(const std::string& folder);

// Makes the folder, and those above it, when it does not exist.
void make_folder(const std::string& path);

// Whether flock works on files of the folder: some network file systems lack it. "" if so, else the
// reason.
std::string why_flock_fails(const std::string& folder);

// The whole file. SystemError when it cannot be read.
std::vector<std::byte> read_whole_file(const std::string& path);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_FILE_OPERATIONS_H_
