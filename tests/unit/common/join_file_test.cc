#include "common/join_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

using ::testing::HasSubstr;

TEST(JoinFile, RoundTripsAndIsItsOwnersAlone) {
  const test::TempDir dir;
  EXPECT_EQ(load_join_file(dir.path()), std::nullopt);
  const JoinFile file{.place = this_place(),
                      .local_endpoint = "ipc://@doppler-1",
                      .network_endpoint = "",
                      .keys = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7 with a space",
                      .run_token = 0xFFFFFFFFFFFFFFFFULL};
  const mode_t before = umask(0);
  save_join_file(dir.path(), file);
  save_join_file(dir.path(), file);  // over an earlier one
  umask(before);
  EXPECT_EQ(load_join_file(dir.path()), file);
  struct stat status {};
  ASSERT_EQ(stat(join_file_path(dir.path()).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  remove_join_file(dir.path());
  EXPECT_EQ(load_join_file(dir.path()), std::nullopt);
}

TEST(JoinFile, RefusesSomethingElse) {
  const test::TempDir dir;
  const auto message = [&] {
    return test::message_of<FormatError>([&] { load_join_file(dir.path()); });
  };
  dir.write("join", "hello\n");
  EXPECT_THAT(message(), HasSubstr("first line"));
  dir.write("join", "doppler-join 1\nplace x\nlocal_endpoint \nnetwork_endpoint \nrun_token 1\n");
  EXPECT_THAT(message(), HasSubstr("\"keys\" is missing"));
  dir.write("join",
            "doppler-join 1\nplace x\nlocal_endpoint \nnetwork_endpoint \nkeys k\nrun_token 1x\n");
  EXPECT_THAT(message(), HasSubstr("run_token is no number"));
}

}  // namespace
}  // namespace doppler
