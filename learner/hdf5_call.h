// Calls of the HDF5 library: locked, checked, and their ids owned. For hdf5_*.cc alone.
#ifndef DOPPLER_LEARNER_HDF5_CALL_H_
#define DOPPLER_LEARNER_HDF5_CALL_H_

#include <mutex>
#include <string>
#include <type_traits>

#include <hdf5.h>

#include "common/error.h"
#include "learner/hdf5_handle.h"

namespace doppler::hdf5 {

static_assert(std::is_same_v<hid_t, internal::Hdf5Id>, "HDF5 1.10 or later is needed");

// Held around every call of the library. Printing of errors is switched off once a thread, as the
// error stack belongs to the thread in thread-safe builds. HDF5's own clean-up at exit is switched
// off: our handles close everything, and after a full disk it would try again to write what it
// could not, and complain on stderr.
class LibraryLock {
 public:
  LibraryLock();

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

// The innermost reasons of the newest error, the most specific first; forgets it.
std::string error_stack();

// Runs one call of the library; a negative result becomes a SystemError that names the call and the
// place.
template <typename Call>
auto checked(const char* call_name, const std::string& place, Call call) {
  const LibraryLock lock;
  const auto result = call();
  if (result < 0) {
    throw SystemError(std::string(call_name) + "(" + place + "): " + error_stack());
  }
  return result;
}

template <herr_t (*kClose)(hid_t)>
int close_silently(hid_t id) noexcept {
  const LibraryLock lock;
  const int result = kClose(id);
  if (result < 0) H5Eclear2(H5E_DEFAULT);
  return result;
}

using Space = Hdf5Handle<&close_silently<H5Sclose>>;
using Datatype = Hdf5Handle<&close_silently<H5Tclose>>;
using Properties = Hdf5Handle<&close_silently<H5Pclose>>;
using Attribute = Hdf5Handle<&close_silently<H5Aclose>>;
using Object = Hdf5Handle<&internal::close_hdf5_object>;

// An empty property list. `kind` is a function since the library's classes are macros that call it.
Properties make_properties(hid_t (*kind)(), const std::string& place);

}  // namespace doppler::hdf5

#endif  // DOPPLER_LEARNER_HDF5_CALL_H_
