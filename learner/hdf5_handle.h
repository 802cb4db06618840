// Hdf5Handle owns one id of the HDF5 library.
#ifndef DOPPLER_LEARNER_HDF5_HANDLE_H_
#define DOPPLER_LEARNER_HDF5_HANDLE_H_

#include <cstdint>
#include <utility>

namespace doppler {

namespace internal {
// hid_t of HDF5 1.10 and later (asserted in hdf5_call.h).
using Hdf5Id = std::int64_t;
int close_hdf5_object(Hdf5Id id) noexcept;
int close_hdf5_file(Hdf5Id id) noexcept;
}  // namespace internal

// Owns one id of the library. Closing in the destructor is silent: what must not be lost is closed
// or flushed by name before.
template <int (*kClose)(internal::Hdf5Id)>
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(internal::Hdf5Id id) : id_(id) {}
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, kNone)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, kNone);
    }
    return *this;
  }
  ~Hdf5Handle() { reset(); }

  internal::Hdf5Id get() const { return id_; }
  internal::Hdf5Id release() { return std::exchange(id_, kNone); }
  void reset() noexcept {
    if (id_ != kNone) kClose(std::exchange(id_, kNone));
  }

 private:
  static constexpr internal::Hdf5Id kNone = -1;
  internal::Hdf5Id id_ = kNone;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_HDF5_HANDLE_H_
