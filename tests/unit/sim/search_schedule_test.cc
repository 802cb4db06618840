#include "sim/search_schedule.h"

#include <gtest/gtest.h>

namespace doppler {
namespace {

TEST(SearchSchedule, ASmallBudgetIsOneRoundFromTheStarts) {
  // 200 operations want 30,000 evaluations a round.
  for (double evaluations : {1.0, 1000.0, 59000.0}) {
    const SearchSchedule schedule(evaluations, 200);
    EXPECT_EQ(schedule.rounds(), 1);
    EXPECT_TRUE(schedule.from_starts(0));
  }
}

TEST(SearchSchedule, EndsWithEverCoolerRoundsFromTheBest) {
  const SearchSchedule schedule(1e6, 200);
  ASSERT_EQ(schedule.rounds(), 8);
  double before = 1e9;
  for (int round = 0; round < 8; ++round) {
    EXPECT_EQ(schedule.from_starts(round), round < 4);
    const SearchTemperatures temperatures = schedule.temperatures(round);
    EXPECT_GT(temperatures.first, temperatures.last);
    if (round >= 4) {
      EXPECT_LT(temperatures.first, before);
    }
    before = temperatures.first;
  }
}

TEST(SearchSchedule, LongRoundsBeginHotter) {
  const double brief = SearchSchedule(3e4, 200).temperatures(0).first;
  const double lengthy = SearchSchedule(3e6, 200).temperatures(0).first;
  EXPECT_GT(lengthy, 2 * brief);
  EXPECT_EQ(SearchSchedule(3e9, 200).temperatures(0).first,
            SearchSchedule(3e10, 200).temperatures(0).first);  // up to a limit
}

TEST(SearchSchedule, RefinementBeginsEveryRoundFromTheBest) {
  const SearchSchedule schedule(1e6, 200, SearchSchedule::Aim::kRefine);
  ASSERT_EQ(schedule.rounds(), 8);
  double before = 1e9;
  for (int round = 0; round < 8; ++round) {
    EXPECT_FALSE(schedule.from_starts(round));
    EXPECT_LT(schedule.temperatures(round).first, before);
    before = schedule.temperatures(round).first;
  }
  // The only round of a small budget is the coolest.
  EXPECT_DOUBLE_EQ(SearchSchedule(100, 200, SearchSchedule::Aim::kRefine).temperatures(0).first,
                   before);
}

}  // namespace
}  // namespace doppler
