#include "common/shared_weights.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/error.h"

namespace doppler {
namespace {

using std::chrono::milliseconds;

std::vector<std::byte> filled(std::size_t size, std::uint64_t version) {
  return std::vector<std::byte>(size, static_cast<std::byte>(version));
}

TEST(SharedWeights, KeepsTheLastVersions) {
  SharedWeights weights = SharedWeights::create(3, 100);
  EXPECT_FALSE(weights.newest_version());
  for (std::uint64_t version = 1; version <= 5; ++version) {
    weights.publish(version, filled(50 + version, version));
  }
  EXPECT_EQ(weights.newest_version(), 5U);
  EXPECT_FALSE(weights.read(1));
  EXPECT_FALSE(weights.read(2));
  for (std::uint64_t version = 3; version <= 5; ++version) {
    EXPECT_EQ(weights.read(version), filled(50 + version, version));
  }
}

TEST(SharedWeights, AnotherMappingOfTheSameDescriptorSeesThem) {
  SharedWeights writer = SharedWeights::create(2, 64);
  const SharedWeights reader = SharedWeights::attach(dup(writer.descriptor()));
  writer.publish(9, filled(64, 9));
  EXPECT_EQ(reader.read(9), filled(64, 9));
}

TEST(SharedWeights, AReaderWaitsForTheVersionThatItNeeds) {
  SharedWeights weights = SharedWeights::create(2, 64);
  std::jthread writer([&] {
    for (std::uint64_t version = 1; version <= 20; ++version) {
      weights.publish(version, filled(8, version));
    }
  });
  EXPECT_EQ(weights.wait_for(20, milliseconds(60000)), filled(8, 20));
  EXPECT_FALSE(weights.wait_for(21, milliseconds(10)));
}

TEST(SharedWeights, AReaderWaitsForTheNewestThatIsNewEnough) {
  SharedWeights weights = SharedWeights::create(2, 64);
  EXPECT_FALSE(weights.wait_for_newest(0, milliseconds(1)));
  weights.publish(3, filled(8, 3));
  weights.publish(7, filled(8, 7));
  EXPECT_EQ(weights.wait_for_newest(3, milliseconds(1)), filled(8, 7));
  EXPECT_FALSE(weights.wait_for_newest(8, milliseconds(1)));
  std::jthread writer([&] { weights.publish(9, filled(8, 9)); });
  EXPECT_EQ(weights.wait_for_newest(8, milliseconds(60000)), filled(8, 9));
}

// A reader that copies while the writer overwrites either gets one version whole or nothing.
TEST(SharedWeights, NeverReturnsAMixture) {
  constexpr std::size_t kSize = 20000;
  SharedWeights weights = SharedWeights::create(2, kSize);
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    for (std::uint64_t version = 1; !stop; ++version)
      weights.publish(version, filled(kSize, version));
  });
  int complete = 0;
  while (complete < 2000) {
    const auto version = weights.newest_version();
    if (!version) continue;
    const auto bytes = weights.read(*version);
    if (!bytes) continue;
    ++complete;
    for (std::byte b : *bytes) ASSERT_EQ(b, static_cast<std::byte>(*version));
  }
  stop = true;
}

TEST(SharedWeights, RefusesADescriptorOfSomethingElse) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  EXPECT_THROW(SharedWeights::attach(ends[0]), SystemError);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace doppler
