#include "sim/least_transfer_dealing.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/random.h"

namespace doppler {
namespace {

using testing::ElementsAre;

constexpr DeviceId kFirst(0);
constexpr DeviceId kSecond(1);

// The sum that deal_with_least_transfer() minimises.
DealingCost sum_of(const std::vector<std::vector<DealingOption>>& options,
                   const std::vector<std::size_t>& chosen, int device_count) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(device_count), 0);
  DealingCost sum;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const DealingOption& option = options[i][chosen[i]];
    ++count[option.device.index()];
    sum = sum + DealingCost{0, option.transfer_ticks, option.load_ticks};
  }
  const auto even = static_cast<std::int64_t>(options.size()) / device_count;
  for (std::int64_t c : count) {
    for (std::int64_t k = even + 1; k <= c; ++k) sum.uneven += k - even;
  }
  return sum;
}

DealingCost least_by_enumeration(const std::vector<std::vector<DealingOption>>& options,
                                 int device_count) {
  std::vector<std::size_t> chosen(options.size(), 0);
  DealingCost least = sum_of(options, chosen, device_count);
  while (true) {
    std::size_t at = 0;
    while (at < chosen.size() && ++chosen[at] == options[at].size()) chosen[at++] = 0;
    if (at == chosen.size()) return least;
    least = std::min(least, sum_of(options, chosen, device_count));
  }
}

TEST(LeastTransferDealing, GivesEachItsShareBeforeItLooksAtTransfers) {
  // Both would be free on device 0, but it may have only one of two. Moving the first costs 5, the
  // second 3: the second goes.
  EXPECT_THAT(deal_with_least_transfer(
                  std::vector<std::vector<DealingOption>>{{{kFirst, 0, 0}, {kSecond, 5, 0}},
                                                          {{kFirst, 0, 0}, {kSecond, 3, 0}}},
                  2),
              ElementsAre(kFirst, kSecond));
}

TEST(LeastTransferDealing, HandsOnWhatIsInTheWay) {
  // The first comes to device 0 (1 against 2). The second may only be there, so that the first has
  // to go on.
  EXPECT_THAT(deal_with_least_transfer(
                  std::vector<std::vector<DealingOption>>{{{kFirst, 1, 0}, {kSecond, 2, 0}},
                                                          {{kFirst, 7, 0}}},
                  2),
              ElementsAre(kSecond, kFirst));
}

TEST(LeastTransferDealing, LetsTheLoadDecideTies) {
  EXPECT_THAT(deal_with_least_transfer(
                  std::vector<std::vector<DealingOption>>{{{kFirst, 2, 9}, {kSecond, 2, 8}}}, 2),
              ElementsAre(kSecond));
}

TEST(LeastTransferDealing, IsUnevenWhereItHasToBe) {
  EXPECT_THAT(deal_with_least_transfer(
                  std::vector<std::vector<DealingOption>>{
                      {{kFirst, 1, 1}}, {{kFirst, 1, 1}}, {{kFirst, 1, 1}}},
                  2),
              ElementsAre(kFirst, kFirst, kFirst));
}

TEST(LeastTransferDealing, IsAsGoodAsEnumeration) {
  RandomStream random(5);
  for (int round = 0; round < 2000; ++round) {
    const int device_count = 1 + static_cast<int>(random.next_below(4));
    std::vector<std::vector<DealingOption>> options(1 + random.next_below(6));
    for (std::vector<DealingOption>& places : options) {
      for (int d = 0; d < device_count; ++d) {
        const bool last_chance = places.empty() && d == device_count - 1;
        if (!last_chance && random.next_below(4) == 0) continue;
        places.push_back({DeviceId(d), static_cast<std::int64_t>(random.next_below(4)),
                          static_cast<std::int64_t>(random.next_below(5))});
      }
    }
    const std::vector<DeviceId> devices = deal_with_least_transfer(options, device_count);
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < options.size(); ++i) {
      const auto place =
          std::find_if(options[i].begin(), options[i].end(),
                       [&](const DealingOption& option) { return option.device == devices[i]; });
      ASSERT_NE(place, options[i].end());
      chosen.push_back(static_cast<std::size_t>(place - options[i].begin()));
    }
    const DealingCost found = sum_of(options, chosen, device_count);
    EXPECT_EQ(found, least_by_enumeration(options, device_count)) << "round " << round;
  }
}

}  // namespace
}  // namespace doppler
