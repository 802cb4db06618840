#include "learner/hdf5_file.h"

#include <atomic>

#include <fcntl.h>
#include <unistd.h>

#include "learner/hdf5_call.h"

namespace doppler {
namespace {

hid_t file_access_class() {
  return H5P_FILE_ACCESS;
}

// Of a file made with it: its format is the oldest that can hold what is asked for, but no older
// than `oldest`.
hdf5::Properties make_access(const std::string& name, H5F_libver_t oldest) {
  hdf5::Properties access = hdf5::make_properties(&file_access_class, name);
  hdf5::checked("H5Pset_libver_bounds", name,
                [&] { return H5Pset_libver_bounds(access.get(), oldest, H5F_LIBVER_LATEST); });
  return access;
}

// Chunks begin at page boundaries, so that no row of a chunk lies across two pages: a kill between
// two pages of one write then leaves every row either old or new.
void align_chunks(const hdf5::Properties& access, const std::string& name) {
  hdf5::checked("H5Pset_alignment", name,
                [&] { return H5Pset_alignment(access.get(), 32768, 4096); });
}

void set_locking([[maybe_unused]] const hdf5::Properties& access, [[maybe_unused]] bool lock,
                 [[maybe_unused]] const std::string& name) {
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MINOR == 12 && H5_VERS_RELEASE < 1)
  hdf5::checked("H5Pset_file_locking", name,
                [&] { return H5Pset_file_locking(access.get(), lock, true); });
#endif
}

// What HDF5 calls a file that lies in memory only. It must be no other file's name in this process,
// since HDF5 takes equal names for one file, and none on disk, where HDF5 looks although it is not
// to.
std::string name_in_memory() {
  static std::atomic<std::uint64_t> count = 0;
  return "/dev/null/" + std::to_string(count.fetch_add(1));
}

// Growing steps of the in-memory image.
constexpr std::size_t kImageIncrementBytes = 1 << 20;

}  // namespace

Hdf5File Hdf5File::create_in_memory(const std::string& name) {
  // The oldest format: newer ones mark in their superblock that the file is open for writing, and
  // H5Fget_file_image clears that mark without renewing the checksum over it (HDF5 1.10), so that
  // nobody could open the image.
  const hdf5::Properties access = make_access(name, H5F_LIBVER_EARLIEST);
  hdf5::checked("H5Pset_fapl_core", name,
                [&] { return H5Pset_fapl_core(access.get(), kImageIncrementBytes, false); });
  const hid_t file = hdf5::checked("H5Fcreate", name, [&] {
    return H5Fcreate(name_in_memory().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get());
  });
  return {file, name};
}

Hdf5File Hdf5File::create_for_swmr(const std::string& path, bool lock) {
  const hdf5::Properties access = make_access(path, H5F_LIBVER_LATEST);
  align_chunks(access, path);
  set_locking(access, lock, path);
  const hid_t file = hdf5::checked("H5Fcreate", path, [&] {
    return H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get());
  });
  return {file, path};
}

Hdf5File Hdf5File::open_image(std::span<const std::byte> image, const std::string& name) {
  const hdf5::Properties access = make_access(name, H5F_LIBVER_LATEST);
  hdf5::checked("H5Pset_fapl_core", name,
                [&] { return H5Pset_fapl_core(access.get(), kImageIncrementBytes, false); });
  hdf5::checked("H5Pset_file_image", name, [&] {
    // HDF5 copies the bytes; its parameter is not const by mistake.
    return H5Pset_file_image(access.get(), const_cast<std::byte*>(image.data()), image.size());
  });
  const hid_t file = hdf5::checked("H5Fopen", name, [&] {
    return H5Fopen(name_in_memory().c_str(), H5F_ACC_RDONLY, access.get());
  });
  return {file, name};
}

Hdf5File Hdf5File::open_swmr_write(const std::string& path, bool lock) {
  const hdf5::Properties access = make_access(path, H5F_LIBVER_LATEST);
  align_chunks(access, path);
  set_locking(access, lock, path);
  const hid_t file = hdf5::checked("H5Fopen", path, [&] {
    return H5Fopen(path.c_str(), H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, access.get());
  });
  return {file, path};
}

Hdf5File Hdf5File::open_swmr_read(const std::string& path) {
  const hdf5::LibraryLock lock;
  // Without locking: a reader changes nothing, and what is committed does not change under it. But
  // where this process itself writes the file, HDF5 wants the same answer from both.
  for (const bool locking : {false, true}) {
    const hdf5::Properties access = make_access(path, H5F_LIBVER_LATEST);
    set_locking(access, locking, path);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access.get());
    if (file >= 0) return {file, path};
  }
  // A file that was rewritten by another tool (h5repack) may lie in an older format, which knows no
  // SWMR.
  const hdf5::Properties access = make_access(path, H5F_LIBVER_LATEST);
  set_locking(access, false, path);
  return {hdf5::checked("H5Fopen", path,
                        [&] { return H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()); }),
          path};
}

Hdf5Group Hdf5File::root() const {
  const std::string place = name_ + ": /";
  return {
      hdf5::checked("H5Gopen", place, [&] { return H5Gopen2(handle_.get(), "/", H5P_DEFAULT); }),
      place};
}

std::vector<std::byte> Hdf5File::image() {
  hdf5::checked("H5Fflush", name_, [&] { return H5Fflush(handle_.get(), H5F_SCOPE_GLOBAL); });
  const auto size = hdf5::checked("H5Fget_file_image", name_,
                                  [&] { return H5Fget_file_image(handle_.get(), nullptr, 0); });
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  hdf5::checked("H5Fget_file_image", name_,
                [&] { return H5Fget_file_image(handle_.get(), bytes.data(), bytes.size()); });
  return bytes;
}

void Hdf5File::abandon() noexcept {
  const hdf5::LibraryLock lock;
  void* descriptor = nullptr;
  if (H5Fget_vfd_handle(handle_.get(), H5P_DEFAULT, &descriptor) < 0) {
    handle_.release();  // leaks, but writes nothing
    return;
  }
  // HDF5 has no way to drop what it holds; what it writes from here on goes nowhere.
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) {
    handle_.release();
    return;
  }
  ::dup2(nowhere, *static_cast<int*>(descriptor));
  ::close(nowhere);
}

void Hdf5File::close() {
  hdf5::checked("H5Fclose", name_, [&] { return H5Fclose(handle_.release()); });
}

std::string hdf5_library_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  hdf5::checked("H5get_libversion", "", [&] { return H5get_libversion(&major, &minor, &release); });
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace doppler
