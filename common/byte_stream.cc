#include "common/byte_stream.h"

namespace doppler {

// Out of line: inlined into a writer that the compiler knows to be empty, GCC 12 warns of an
// overflow that is none.
void ByteWriter::append(const void* data, std::size_t size) {
  const auto* from = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), from, from + size);
}

}  // namespace doppler
