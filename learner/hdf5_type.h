// The types that are stored: fixed-width numbers and strings.
#ifndef DOPPLER_LEARNER_HDF5_TYPE_H_
#define DOPPLER_LEARNER_HDF5_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace doppler {

enum class Hdf5Type {
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat32,
  kFloat64,
  kString,
  kOther
};

// As docs/formats.md writes it: "uint8", "float32", "string".
const char* hdf5_type_name(Hdf5Type type);

template <typename T>
constexpr Hdf5Type hdf5_type_of() {
  if constexpr (std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::byte>) {
    return Hdf5Type::kUint8;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return Hdf5Type::kInt32;
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return Hdf5Type::kUint32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return Hdf5Type::kInt64;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return Hdf5Type::kUint64;
  } else if constexpr (std::is_same_v<T, float>) {
    return Hdf5Type::kFloat32;
  } else {
    static_assert(std::is_same_v<T, double>, "a type that is stored");
    return Hdf5Type::kFloat64;
  }
}

}  // namespace doppler

#endif  // DOPPLER_LEARNER_HDF5_TYPE_H_
