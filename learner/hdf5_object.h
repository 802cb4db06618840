// Hdf5Object: what groups and datasets of an HDF5 file have in common. hdf5_file.h has the rules.
#ifndef DOPPLER_LEARNER_HDF5_OBJECT_H_
#define DOPPLER_LEARNER_HDF5_OBJECT_H_

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "learner/hdf5_handle.h"
#include "learner/hdf5_type.h"

namespace doppler {

// A place in a file, and attributes.
class Hdf5Object {
 public:
  // "FILE: /path", for messages.
  const std::string& place() const { return place_; }

  template <typename T>
  requires std::is_arithmetic_v<T>
  void set_attribute(const std::string& name, T value) {
    write_attribute(name, hdf5_type_of<T>(), &value);
  }
  // The text must hold no zero byte.
  void set_attribute(const std::string& name, std::string_view text);

  bool has_attribute(const std::string& name) const;
  template <typename T>
  T attribute(const std::string& name) const {
    T value{};
    read_attribute(name, hdf5_type_of<T>(), &value);
    return value;
  }
  std::string string_attribute(const std::string& name) const;

 protected:
  using Handle = Hdf5Handle<&internal::close_hdf5_object>;

  Hdf5Object(internal::Hdf5Id id, std::string place) : handle_(id), place_(std::move(place)) {}
  internal::Hdf5Id id() const { return handle_.get(); }
  std::string place_of(const std::string& name) const;

 private:
  void write_attribute(const std::string& name, Hdf5Type type, const void* value);
  void read_attribute(const std::string& name, Hdf5Type type, void* value) const;

  Handle handle_;
  std::string place_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_HDF5_OBJECT_H_
