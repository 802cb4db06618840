#include "learner/checkpoint_file.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/sample_checkpoint.h"

namespace doppler {
namespace {

using test::sample_checkpoint;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(std::span<const std::byte> bytes) {
  return test::message_of<FormatError>([&] { decode_checkpoint(bytes, "file.h5"); });
}

TEST(CheckpointFile, EveryFieldComesBack) {
  const Checkpoint checkpoint = sample_checkpoint(1234);
  EXPECT_EQ(decode_checkpoint(encode_checkpoint(checkpoint, "file.h5"), "file.h5"), checkpoint);
}

TEST(CheckpointFile, AnEmptyCheckpointComesBack) {
  EXPECT_EQ(decode_checkpoint(encode_checkpoint(Checkpoint(), "file.h5"), "file.h5"), Checkpoint());
}

TEST(CheckpointFile, OddFloatsComeBackBitByBit) {
  Checkpoint checkpoint;
  checkpoint.parameters = {
      {"odd",
       {4},
       {std::numeric_limits<float>::quiet_NaN(), -0.0F, std::numeric_limits<float>::denorm_min(),
        std::numeric_limits<float>::infinity()}}};
  const Checkpoint back = decode_checkpoint(encode_checkpoint(checkpoint, "f"), "f");
  EXPECT_EQ(
      std::memcmp(back.parameters[0].values.data(), checkpoint.parameters[0].values.data(), 16), 0);
}

TEST(CheckpointFile, EqualCheckpointsGiveEqualBytes) {
  EXPECT_EQ(encode_checkpoint(sample_checkpoint(7), "a"),
            encode_checkpoint(sample_checkpoint(7), "b"));
}

// Each byte of the text in front, and one in seven of the rest, which covers every kind of HDF5
// structure.
TEST(CheckpointFile, EveryFlippedByteIsFound) {
  std::vector<std::byte> bytes = encode_checkpoint(sample_checkpoint(1), "file.h5");
  for (std::size_t i = 0; i < bytes.size(); i += i < 512 ? 1 : 7) {
    const auto flip = static_cast<std::byte>(1U << (i % 8));
    bytes[i] ^= flip;
    EXPECT_THROW(decode_checkpoint(bytes, "file.h5"), FormatError) << "byte " << i;
    bytes[i] ^= flip;
  }
  EXPECT_NO_THROW(decode_checkpoint(bytes, "file.h5"));
}

TEST(CheckpointFile, EveryMissingOrAddedEndIsFound) {
  const std::vector<std::byte> bytes = encode_checkpoint(sample_checkpoint(1), "file.h5");
  const std::span<const std::byte> all(bytes);
  for (std::size_t size = 0; size < bytes.size(); size += size < 600 ? 1 : 97) {
    EXPECT_THROW(decode_checkpoint(all.first(size), "file.h5"), FormatError) << size << " bytes";
  }
  EXPECT_THROW(decode_checkpoint(all.first(bytes.size() - 1), "file.h5"), FormatError);
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THROW(decode_checkpoint(longer, "file.h5"), FormatError);
}

TEST(CheckpointFile, MessagesSayWhatIsWrongAndWhatToDo) {
  std::vector<std::byte> bytes = encode_checkpoint(sample_checkpoint(1), "file.h5");
  EXPECT_EQ(refusal({}), "file.h5: this file is empty; take an earlier checkpoint");
  EXPECT_THAT(refusal(std::span<const std::byte>(bytes).first(3)),
              HasSubstr("not a Doppler checkpoint"));
  EXPECT_THAT(refusal(std::span<const std::byte>(bytes).first(512)), HasSubstr("cut short"));
  bytes.back() ^= std::byte{1};
  EXPECT_THAT(refusal(bytes),
              AllOf(HasSubstr("file.h5: damaged"), HasSubstr("take an earlier checkpoint")));
}

TEST(CheckpointFile, AnotherFormatVersionIsRefusedByNumber) {
  std::vector<std::byte> bytes = encode_checkpoint(sample_checkpoint(1), "file.h5");
  constexpr std::string_view kKey = "format_version: ";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), 512);
  bytes[text.find(kKey) + kKey.size()] = static_cast<std::byte>('9');
  EXPECT_THAT(refusal(bytes), AllOf(HasSubstr("format version 9"), HasSubstr("reads version 1")));
}

TEST(CheckpointFile, NamesThatCannotBeStoredAreRefused) {
  for (const std::string name : {"", "/a", "a/", "a//b", "./a"}) {
    Checkpoint checkpoint;
    checkpoint.parameters = {{name, {1}, {1.0F}}};
    EXPECT_THROW(encode_checkpoint(checkpoint, "file.h5"), FormatError) << name;
  }
  Checkpoint twice;
  twice.parameters = {{"a", {1}, {1.0F}}, {"a", {1}, {2.0F}}};
  EXPECT_THAT(test::message_of<FormatError>([&] { encode_checkpoint(twice, "file.h5"); }),
              HasSubstr("two tensors are called \"a\""));
}

// A whole file with a right hash may still hold nonsense, for instance when it was made by another
// program.
TEST(CheckpointFile, FieldsThatDoNotFitEachOtherAreRefused) {
  const auto refused = [](auto spoil) {
    Checkpoint checkpoint = sample_checkpoint(1);
    spoil(checkpoint);
    return refusal(encode_checkpoint(checkpoint, "file.h5"));
  };
  EXPECT_THAT(
      refused([](Checkpoint& c) { c.graphs[0].operation_count = 4; }),
      HasSubstr("/graphs/0000/best/assignment: expected one entry for each of the 4 operations"));
  EXPECT_THAT(refused([](Checkpoint& c) { c.graphs[0].best.order[1] = OperationId(0); }),
              HasSubstr("operation 0 is there twice"));
  EXPECT_THAT(refused([](Checkpoint& c) { c.graphs[0].best.order[1] = OperationId(3); }),
              HasSubstr("operation 3 is there twice or does not exist"));
  EXPECT_THAT(
      refused([](Checkpoint& c) { c.graphs[0].greedy.assignment[OperationId(0)] = DeviceId(); }),
      HasSubstr("negative id -1"));
  EXPECT_THAT(refused([](Checkpoint& c) { c.stage = static_cast<Stage>(4); }),
              HasSubstr("4 is no stage"));
  EXPECT_THAT(refused([](Checkpoint& c) { c.elapsed_seconds = -1; }),
              HasSubstr("@elapsed_seconds: not a duration"));
  EXPECT_THAT(refused([](Checkpoint& c) { c.recent_versions[1].version = 0; }),
              HasSubstr("versions do not ascend"));
}

}  // namespace
}  // namespace doppler
