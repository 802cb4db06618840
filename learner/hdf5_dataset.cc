#include "learner/hdf5_dataset.h"

#include "common/check.h"
#include "learner/hdf5_call.h"
#include "learner/hdf5_value.h"

namespace doppler {

Hdf5Type Hdf5Dataset::type() const {
  const hdf5::Datatype type(
      hdf5::checked("H5Dget_type", place(), [&] { return H5Dget_type(id()); }));
  return hdf5::classify(type.get(), place());
}

std::vector<std::int64_t> Hdf5Dataset::shape() const {
  const hdf5::Space space(
      hdf5::checked("H5Dget_space", place(), [&] { return H5Dget_space(id()); }));
  return hdf5::shape_of(space.get(), place());
}

std::int64_t Hdf5Dataset::rows() const {
  const std::vector<std::int64_t> extents = shape();
  return extents.empty() ? 1 : extents[0];
}

std::size_t Hdf5Dataset::element_count() const {
  std::size_t count = 1;
  for (std::int64_t extent : shape()) count *= static_cast<std::size_t>(extent);
  return count;
}

std::size_t Hdf5Dataset::row_width() const {
  const std::vector<std::int64_t> extents = shape();
  std::size_t count = 1;
  for (std::size_t i = 1; i < extents.size(); ++i) count *= static_cast<std::size_t>(extents[i]);
  return count;
}

void Hdf5Dataset::require_type(Hdf5Type expected) const {
  const Hdf5Type found = type();
  if (found != expected) hdf5::refuse_type(place(), expected, found);
}

void Hdf5Dataset::read_all(Hdf5Type type, void* values) const {
  if (element_count() == 0) return;
  hdf5::checked("H5Dread", place(), [&] {
    return H5Dread(id(), hdf5::native_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  });
}

void Hdf5Dataset::read_block(Hdf5Type type, std::int64_t first, std::int64_t count,
                             void* values) const {
  if (count == 0) return;
  const std::vector<std::int64_t> extents = shape();
  if (extents.empty() || first < 0 || count < 0 || first + count > extents[0]) {
    hdf5::refuse(place(), "rows " + std::to_string(first) + " to " + std::to_string(first + count) +
                              " were asked for, but its shape is " + hdf5::shape_text(extents));
  }
  std::vector<hsize_t> start(extents.size(), 0);
  std::vector<hsize_t> block(extents.begin(), extents.end());
  start[0] = static_cast<hsize_t>(first);
  block[0] = static_cast<hsize_t>(count);
  const hdf5::Space in_file(
      hdf5::checked("H5Dget_space", place(), [&] { return H5Dget_space(id()); }));
  hdf5::checked("H5Sselect_hyperslab", place(), [&] {
    return H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, block.data(),
                               nullptr);
  });
  const std::vector<std::int64_t> memory_shape(block.begin(), block.end());
  const hdf5::Space in_memory = hdf5::make_space(memory_shape, place());
  hdf5::checked("H5Dread", place(), [&] {
    return H5Dread(id(), hdf5::native_type(type), in_memory.get(), in_file.get(), H5P_DEFAULT,
                   values);
  });
}

std::string Hdf5Dataset::read_string() const {
  require_type(Hdf5Type::kString);
  if (!shape().empty())
    hdf5::refuse(place(), "expected one string, found shape " + hdf5::shape_text(shape()));
  const hdf5::Datatype type(
      hdf5::checked("H5Dget_type", place(), [&] { return H5Dget_type(id()); }));
  std::string text(H5Tget_size(type.get()), '\0');
  hdf5::checked("H5Dread", place(), [&] {
    return H5Dread(id(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data());
  });
  return hdf5::without_padding(text.data(), text.size());
}

std::vector<std::string> Hdf5Dataset::read_strings() const {
  require_type(Hdf5Type::kString);
  const std::vector<std::int64_t> extents = shape();
  if (extents.size() != 1)
    hdf5::refuse(place(), "expected one axis, found shape " + hdf5::shape_text(extents));
  const hdf5::Datatype type(
      hdf5::checked("H5Dget_type", place(), [&] { return H5Dget_type(id()); }));
  const std::size_t size = H5Tget_size(type.get());
  const std::size_t count = element_count();
  std::string padded(size * count, '\0');
  if (count > 0) {
    hdf5::checked("H5Dread", place(), [&] {
      return H5Dread(id(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data());
    });
  }
  std::vector<std::string> texts;
  texts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    texts.push_back(hdf5::without_padding(padded.data() + i * size, size));
  }
  return texts;
}

void Hdf5Dataset::set_rows(std::int64_t rows) {
  std::vector<std::int64_t> extents = shape();
  DP_CHECK(!extents.empty());
  extents[0] = rows;
  const std::vector<hsize_t> sizes(extents.begin(), extents.end());
  hdf5::checked("H5Dset_extent", place(), [&] { return H5Dset_extent(id(), sizes.data()); });
}

void Hdf5Dataset::write_block(Hdf5Type type, std::int64_t first, const void* values,
                              std::size_t count) {
  if (count == 0) return;
  std::vector<std::int64_t> extents = shape();
  DP_CHECK(!extents.empty());
  const std::size_t width = row_width();
  DP_CHECK_EQ(count % width, std::size_t{0});
  std::vector<hsize_t> start(extents.size(), 0);
  extents[0] = static_cast<std::int64_t>(count / width);
  const std::vector<hsize_t> block(extents.begin(), extents.end());
  start[0] = static_cast<hsize_t>(first);
  const hdf5::Space in_file(
      hdf5::checked("H5Dget_space", place(), [&] { return H5Dget_space(id()); }));
  hdf5::checked("H5Sselect_hyperslab", place(), [&] {
    return H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, block.data(),
                               nullptr);
  });
  const hdf5::Space in_memory = hdf5::make_space(extents, place());
  hdf5::checked("H5Dwrite", place(), [&] {
    return H5Dwrite(id(), hdf5::native_type(type), in_memory.get(), in_file.get(), H5P_DEFAULT,
                    values);
  });
}

void Hdf5Dataset::flush() {
  hdf5::checked("H5Dflush", place(), [&] { return H5Dflush(id()); });
}

void Hdf5Dataset::refresh() {
  hdf5::checked("H5Drefresh", place(), [&] { return H5Drefresh(id()); });
}

}  // namespace doppler
