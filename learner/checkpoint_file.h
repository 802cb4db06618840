// How a Checkpoint lies in a file: 512 bytes of text that name the format, its version, the size
// and the hash of what follows, then an HDF5 file. HDF5 calls the first part a user block and every
// HDF5 tool skips it; here it makes any flipped or missing byte known, which HDF5 alone does not.
// docs/formats.md describes each dataset.
#ifndef DOPPLER_LEARNER_CHECKPOINT_FILE_H_
#define DOPPLER_LEARNER_CHECKPOINT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "learner/checkpoint.h"

namespace doppler {

inline constexpr std::int64_t kCheckpointFormatVersion = 1;

// The same checkpoint gives the same bytes. `name` appears in messages. FormatError when a name in
// the checkpoint cannot be stored (empty, with an empty part between slashes, with a zero byte,
// twice).
std::vector<std::byte> encode_checkpoint(const Checkpoint& checkpoint, const std::string& name);

// FormatError, saying what is wrong and what to do, unless the bytes are a whole, undamaged
// checkpoint of this format version whose fields fit each other.
Checkpoint decode_checkpoint(std::span<const std::byte> bytes, const std::string& name);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_CHECKPOINT_FILE_H_
