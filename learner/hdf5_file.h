// The one home of the HDF5 C library (hdf5_*): handles that own what they open, and each call of
// the library wrapped once and checked once. No header of HDF5 is seen outside hdf5_*.cc and
// hdf5_call.h, which these share.
//
// Only fixed-width types are used (numbers, fixed-length UTF-8 strings, padded with zero bytes):
// any HDF5 reader in any language reads them, and SWMR allows nothing else.
//
// Errors: SystemError "H5Dwrite(FILE: /object): what HDF5 says" when the library or the file system
// refuses; FormatError when a file is read and an object in it is missing or is of another type or
// shape than asked for. Threads: every call takes one lock of the process, because HDF5 is
// thread-safe only in some builds. An object may be used by one thread at a time, different objects
// by different threads. HDF5's own printing of errors is off in threads that call through here.
#ifndef DOPPLER_LEARNER_HDF5_FILE_H_
#define DOPPLER_LEARNER_HDF5_FILE_H_

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "learner/hdf5_group.h"
#include "learner/hdf5_handle.h"

namespace doppler {

class Hdf5File {
 public:
  // In memory only, never on disk; image() gives its bytes. `name` appears in messages.
  static Hdf5File create_in_memory(const std::string& name);
  // The bytes are copied.
  static Hdf5File open_image(std::span<const std::byte> image, const std::string& name);
  // In the newest format, which SWMR needs; an existing file is replaced. With `lock` false HDF5
  // does not lock the file.
  static Hdf5File create_for_swmr(const std::string& path, bool lock);
  // Of a closed file by create_for_swmr, all of whose groups, datasets and attributes exist:
  // HDF5 forbids making any while SWMR is on, and reports success when one does. With `lock` false
  // HDF5 does not lock the file.
  static Hdf5File open_swmr_write(const std::string& path, bool lock);
  // Of a file that may be being written, or whose writer was killed.
  static Hdf5File open_swmr_read(const std::string& path);

  Hdf5Group root() const;
  const std::string& name() const { return name_; }
  std::vector<std::byte> image();
  // For a file on disk that HDF5 failed to write: it stays as it is now. Without this, closing
  // would write anew what can be written, for instance a superblock that promises more than the
  // file holds. Only for destroying the object and those of its datasets.
  void abandon() noexcept;
  // Throws, unlike the destructor, when something could not be written. Close its objects before.
  void close();

 private:
  using Handle = Hdf5Handle<&internal::close_hdf5_file>;
  Hdf5File(internal::Hdf5Id id, std::string name) : handle_(id), name_(std::move(name)) {}
  Handle handle_;
  std::string name_;
};

// "1.10.8"
std::string hdf5_library_version();

}  // namespace doppler

#endif  // DOPPLER_LEARNER_HDF5_FILE_H_
