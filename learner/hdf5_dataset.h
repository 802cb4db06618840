// Hdf5Dataset: an array in an HDF5 file. hdf5_file.h has the rules.
#ifndef DOPPLER_LEARNER_HDF5_DATASET_H_
#define DOPPLER_LEARNER_HDF5_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "learner/hdf5_object.h"

namespace doppler {

class Hdf5Dataset : public Hdf5Object {
 public:
  Hdf5Type type() const;
  std::vector<std::int64_t> shape() const;
  // Length of the first axis; 1 for a scalar.
  std::int64_t rows() const;

  // All of it, row-major.
  template <typename T>
  std::vector<T> read() const {
    require_type(hdf5_type_of<T>());
    std::vector<T> values(element_count());
    read_all(hdf5_type_of<T>(), values.data());
    return values;
  }
  // Rows first .. first + count - 1 of the first axis, row-major.
  template <typename T>
  std::vector<T> read_rows(std::int64_t first, std::int64_t count) const {
    require_type(hdf5_type_of<T>());
    std::vector<T> values(static_cast<std::size_t>(count) * row_width());
    read_block(hdf5_type_of<T>(), first, count, values.data());
    return values;
  }
  std::string read_string() const;                // a scalar string
  std::vector<std::string> read_strings() const;  // [n] strings

  // Columns (Hdf5Group::create_column) only. Rows that are added and not written hold the column's
  // fill value.
  void set_rows(std::int64_t rows);
  template <typename T>
  void write_rows(std::int64_t first, std::span<const T> values) {
    write_block(hdf5_type_of<T>(), first, values.data(), values.size());
  }

  // Writer: what was written lies in the file, for readers with SWMR. Reader: sees what lies in the
  // file now.
  void flush();
  void refresh();

 private:
  friend class Hdf5Group;
  using Hdf5Object::Hdf5Object;
  std::size_t element_count() const;
  std::size_t row_width() const;  // elements a row
  void require_type(Hdf5Type type) const;
  void read_all(Hdf5Type type, void* values) const;
  void read_block(Hdf5Type type, std::int64_t first, std::int64_t count, void* values) const;
  void write_block(Hdf5Type type, std::int64_t first, const void* values, std::size_t count);
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_HDF5_DATASET_H_
