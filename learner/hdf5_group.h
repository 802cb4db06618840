// Hdf5Group: a folder in an HDF5 file, and what is made in it. hdf5_file.h has the rules.
#ifndef DOPPLER_LEARNER_HDF5_GROUP_H_
#define DOPPLER_LEARNER_HDF5_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learner/hdf5_dataset.h"

namespace doppler {

// A dataset that grows along its first axis.
struct Hdf5Column {
  Hdf5Type type = Hdf5Type::kInt64;
  std::int64_t width = 0;  // elements a row; 0: one, and the dataset has one axis only
  std::int64_t chunk_rows = 0;
  bool compressed = false;  // shuffle and deflate level 1
  std::int64_t fill = 0;    // value of rows that were not written
};

class Hdf5Group : public Hdf5Object {
 public:
  Hdf5Group create_group(const std::string& name);
  Hdf5Group group(const std::string& name) const;
  Hdf5Dataset dataset(const std::string& name) const;
  bool has(const std::string& name) const;
  bool is_group(const std::string& name) const;
  std::vector<std::string> names() const;  // of the links in this group, ascending

  // `name` may hold slashes: the groups in between are made. The product of the shape is the number
  // of values; an empty shape is a scalar.
  template <typename T>
  Hdf5Dataset write(const std::string& name, std::span<const std::int64_t> shape,
                    std::span<const T> values) {
    return write_array(name, hdf5_type_of<T>(), shape, values.data(), values.size());
  }
  // Of one axis.
  template <typename T>
  Hdf5Dataset write(const std::string& name, std::span<const T> values) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
    return write<T>(name, shape, values);
  }
  void write_string(const std::string& name, std::string_view text);
  void write_strings(const std::string& name, std::span<const std::string> texts);  // [n]

  Hdf5Dataset create_column(const std::string& name, const Hdf5Column& column);

 private:
  friend class Hdf5File;
  using Hdf5Object::Hdf5Object;
  Hdf5Dataset write_array(const std::string& name, Hdf5Type type,
                          std::span<const std::int64_t> shape, const void* values,
                          std::size_t count);
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_HDF5_GROUP_H_
