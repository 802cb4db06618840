#include "learner/hdf5_call.h"

#include <algorithm>

namespace doppler {
namespace hdf5 {
namespace {

// One lock for all: HDF5 is one big global state. Recursive, since a wrapper may call another.
std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

LibraryLock::LibraryLock() : lock_(library_mutex()) {
  static const bool kNoExitHandler = [] { return H5dont_atexit() >= 0; }();
  static_cast<void>(kNoExitHandler);
  thread_local const bool kQuiet = [] {
    return H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  }();
  static_cast<void>(kQuiet);
}

std::string error_stack() {
  struct Reasons {
    std::string text;
    int count = 0;
  } reasons;
  constexpr auto kAppend = [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
    auto* to = static_cast<Reasons*>(data);
    if (to->count++ < 3 && error->desc != nullptr && *error->desc != '\0') {
      to->text += to->text.empty() ? "" : "; ";
      to->text += error->desc;
    }
    return 0;
  };
  // Upward: the walk begins where the error was found.
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, kAppend, &reasons);
  H5Eclear2(H5E_DEFAULT);
  std::replace(reasons.text.begin(), reasons.text.end(), '\n', ' ');
  return reasons.text.empty() ? "HDF5 gives no reason" : reasons.text;
}

Properties make_properties(hid_t (*kind)(), const std::string& place) {
  return Properties(checked("H5Pcreate", place, [&] { return H5Pcreate(kind()); }));
}

}  // namespace hdf5

namespace internal {

int close_hdf5_object(Hdf5Id id) noexcept {
  return hdf5::close_silently<H5Oclose>(id);
}
int close_hdf5_file(Hdf5Id id) noexcept {
  return hdf5::close_silently<H5Fclose>(id);
}

}  // namespace internal
}  // namespace doppler
