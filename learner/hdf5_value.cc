#include "learner/hdf5_value.h"

#include <algorithm>
#include <cstring>

#include "common/check.h"
#include "common/error.h"

namespace doppler::hdf5 {

// The constants are macros that call the library, hence the lock.
hid_t native_type(Hdf5Type type) {
  const LibraryLock lock;
  switch (type) {
    case Hdf5Type::kUint8:
      return H5T_NATIVE_UINT8;
    case Hdf5Type::kInt32:
      return H5T_NATIVE_INT32;
    case Hdf5Type::kUint32:
      return H5T_NATIVE_UINT32;
    case Hdf5Type::kInt64:
      return H5T_NATIVE_INT64;
    case Hdf5Type::kUint64:
      return H5T_NATIVE_UINT64;
    case Hdf5Type::kFloat32:
      return H5T_NATIVE_FLOAT;
    case Hdf5Type::kFloat64:
      return H5T_NATIVE_DOUBLE;
    case Hdf5Type::kString:
    case Hdf5Type::kOther:
      break;
  }
  DP_CHECK(!"a number type");
  return -1;
}

hid_t file_type(Hdf5Type type) {
  const LibraryLock lock;
  switch (type) {
    case Hdf5Type::kUint8:
      return H5T_STD_U8LE;
    case Hdf5Type::kInt32:
      return H5T_STD_I32LE;
    case Hdf5Type::kUint32:
      return H5T_STD_U32LE;
    case Hdf5Type::kInt64:
      return H5T_STD_I64LE;
    case Hdf5Type::kUint64:
      return H5T_STD_U64LE;
    case Hdf5Type::kFloat32:
      return H5T_IEEE_F32LE;
    case Hdf5Type::kFloat64:
      return H5T_IEEE_F64LE;
    case Hdf5Type::kString:
    case Hdf5Type::kOther:
      break;
  }
  DP_CHECK(!"a number type");
  return -1;
}

Hdf5Type classify(hid_t type, const std::string& place) {
  const auto type_class = checked("H5Tget_class", place, [&] { return H5Tget_class(type); });
  const LibraryLock lock;
  const std::size_t size = H5Tget_size(type);
  switch (type_class) {
    case H5T_INTEGER: {
      const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
      if (size == 1 && !is_signed) return Hdf5Type::kUint8;
      if (size == 4) return is_signed ? Hdf5Type::kInt32 : Hdf5Type::kUint32;
      if (size == 8) return is_signed ? Hdf5Type::kInt64 : Hdf5Type::kUint64;
      return Hdf5Type::kOther;
    }
    case H5T_FLOAT:
      if (size == 4) return Hdf5Type::kFloat32;
      if (size == 8) return Hdf5Type::kFloat64;
      return Hdf5Type::kOther;
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0 ? Hdf5Type::kOther : Hdf5Type::kString;
    default:
      return Hdf5Type::kOther;
  }
}

void refuse(const std::string& place, const std::string& reason) {
  throw FormatError(place + ": " + reason);
}

void refuse_type(const std::string& place, Hdf5Type expected, Hdf5Type found) {
  refuse(place, std::string("expected type ") + hdf5_type_name(expected) + ", found " +
                    hdf5_type_name(found));
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Datatype make_string_type(std::size_t size, const std::string& place) {
  Datatype type(checked("H5Tcopy", place, [] { return H5Tcopy(H5T_C_S1); }));
  checked("H5Tset_size", place,
          [&] { return H5Tset_size(type.get(), std::max<std::size_t>(size, 1)); });
  checked("H5Tset_strpad", place, [&] { return H5Tset_strpad(type.get(), H5T_STR_NULLPAD); });
  checked("H5Tset_cset", place, [&] { return H5Tset_cset(type.get(), H5T_CSET_UTF8); });
  return type;
}

void require_no_zero_byte(std::string_view text, const std::string& place) {
  if (text.find('\0') != std::string_view::npos) {
    refuse(place, "a text with a zero byte cannot be stored; remove it");
  }
}

std::string without_padding(const char* text, std::size_t size) {
  return std::string(text, ::strnlen(text, size));
}

Space make_space(std::span<const std::int64_t> shape, const std::string& place) {
  std::vector<hsize_t> extents(shape.begin(), shape.end());
  if (extents.empty()) {
    return Space(checked("H5Screate", place, [] { return H5Screate(H5S_SCALAR); }));
  }
  return Space(checked("H5Screate_simple", place, [&] {
    return H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  }));
}

std::vector<std::int64_t> shape_of(hid_t space, const std::string& place) {
  const int axes = checked("H5Sget_simple_extent_ndims", place,
                           [&] { return H5Sget_simple_extent_ndims(space); });
  std::vector<hsize_t> extents(static_cast<std::size_t>(axes));
  checked("H5Sget_simple_extent_dims", place,
          [&] { return H5Sget_simple_extent_dims(space, extents.data(), nullptr); });
  return {extents.begin(), extents.end()};
}

}  // namespace doppler::hdf5
