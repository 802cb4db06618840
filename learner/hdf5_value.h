// What a value is to the HDF5 library: its type and its shape. For hdf5_*.cc alone.
#ifndef DOPPLER_LEARNER_HDF5_VALUE_H_
#define DOPPLER_LEARNER_HDF5_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learner/hdf5_call.h"
#include "learner/hdf5_type.h"

namespace doppler::hdf5 {

// Of numbers; not owned. In memory as the machine has it, in files little-endian whatever the
// machine, so that equal content gives equal bytes.
hid_t native_type(Hdf5Type type);
hid_t file_type(Hdf5Type type);
// What a type of the library is to us.
Hdf5Type classify(hid_t type, const std::string& place);

// Of fixed length, at least 1, padded with zero bytes, in UTF-8.
Datatype make_string_type(std::size_t size, const std::string& place);
void require_no_zero_byte(std::string_view text, const std::string& place);
std::string without_padding(const char* text, std::size_t size);

Space make_space(std::span<const std::int64_t> shape, const std::string& place);
std::vector<std::int64_t> shape_of(hid_t space, const std::string& place);
std::string shape_text(std::span<const std::int64_t> shape);

// Throw FormatError.
[[noreturn]] void refuse(const std::string& place, const std::string& reason);
[[noreturn]] void refuse_type(const std::string& place, Hdf5Type expected, Hdf5Type found);

}  // namespace doppler::hdf5

#endif  // DOPPLER_LEARNER_HDF5_VALUE_H_
