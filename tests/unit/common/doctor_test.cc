#include "common/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace doppler {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Doctor, QuotasOfControlGroups) {
  EXPECT_EQ(parse_cpu_quota("200000 100000"), 2.0);
  EXPECT_EQ(parse_cpu_quota("50000 100000"), 0.5);
  EXPECT_FALSE(parse_cpu_quota("max 100000"));
  EXPECT_FALSE(parse_cpu_quota(""));
  EXPECT_FALSE(parse_cpu_quota("1"));
  EXPECT_FALSE(parse_cpu_quota("1 0"));
}

TEST(Doctor, InterfacesThatNoOtherNodeReaches) {
  EXPECT_TRUE(is_virtual_interface("docker0"));
  EXPECT_TRUE(is_virtual_interface("virbr0"));
  EXPECT_FALSE(is_virtual_interface("eth0"));
  EXPECT_FALSE(is_virtual_interface("ib0"));
  EXPECT_FALSE(is_virtual_interface("bond0"));
}

TEST(Doctor, AWorldOfTheWrongSizeFails) {
  EXPECT_EQ(judge_world(3, 3).outcome, CheckOutcome::kOk);
  const Check alone = judge_world(1, 3);
  EXPECT_EQ(alone.outcome, CheckOutcome::kFailed);
  EXPECT_EQ(alone.finding, "a world of 1, where 3 tasks were started");
  EXPECT_THAT(alone.cure, HasSubstr("--mpi=pmix"));
}

TEST(Doctor, MpiSpeaksThroughAProcessOfItsOwn) {
  // Without a launcher one task is expected; a warning may come first.
  unsetenv("SLURM_STEP_NUM_TASKS");
  unsetenv("OMPI_COMM_WORLD_SIZE");
  unsetenv("SLURM_STEP_ID");
  EXPECT_EQ(check_mpi({"sh", "-c", "echo a warning >&2; echo 1"}).front().outcome,
            CheckOutcome::kOk);
  EXPECT_EQ(check_mpi({"sh", "-c", "echo nonsense"}).front().outcome, CheckOutcome::kFailed);
  EXPECT_EQ(check_mpi({"true"}).front().outcome, CheckOutcome::kFailed);
  const Check dead = check_mpi({"sh", "-c", "echo; echo -----; echo '** no PMI'; exit 14"}).front();
  EXPECT_EQ(dead.outcome, CheckOutcome::kFailed);
  EXPECT_EQ(dead.finding, "cannot begin (14): no PMI");
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  EXPECT_EQ(check_mpi({"echo", "4"}).front().outcome, CheckOutcome::kOk);
  EXPECT_EQ(check_mpi({"echo", "1"}).front().outcome, CheckOutcome::kFailed);
  unsetenv("SLURM_STEP_NUM_TASKS");
}

TEST(Doctor, TheReportGivesEachCheckItsCure) {
  const Checks checks = {
      {.name = "cores", .finding = "2 usable"},
      {"disk", CheckOutcome::kWarning, "1 GB", "make room"},
  };
  EXPECT_EQ(worst_outcome(checks), CheckOutcome::kWarning);
  EXPECT_EQ(worst_outcome({}), CheckOutcome::kOk);
  EXPECT_EQ(checks_text(checks),
            "ok       cores                2 usable\n"
            "warning  disk                 1 GB\n"
            "                              -> make room\n");
  const auto json = nlohmann::json::parse(checks_json(checks, "n1"));
  EXPECT_EQ(json["host"], "n1");
  EXPECT_EQ(json["outcome"], "warning");
  EXPECT_THAT(json["checks"], SizeIs(2));
  EXPECT_EQ(json["checks"][1]["cure"], "make room");
}

TEST(Doctor, EveryGroupAnswersOnThisMachine) {
  for (const Checks& group :
       {check_limits(), check_network(), check_shared_memory(), check_gpus()}) {
    EXPECT_FALSE(group.empty());
    for (const Check& check : group) {
      EXPECT_FALSE(check.name.empty());
      EXPECT_FALSE(check.finding.empty()) << check.name;
      EXPECT_EQ(check.cure.empty(), check.outcome == CheckOutcome::kOk) << check.name;
    }
  }
}

}  // namespace
}  // namespace doppler
