#include "common/text_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::TempDir;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A writer that stops half-way, and one that is refused, leave nothing behind either.
std::size_t files_in(const TempDir& dir) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()));
}

TEST(TextFile, WritesAndReplaces) {
  const TempDir dir;
  const std::string path = dir.file("a");
  write_text_file(path, "old, and longer");
  write_text_file(path, "new");
  EXPECT_EQ(read_text_file(path), "new");
  EXPECT_EQ(files_in(dir), 1U);
}

// What writing would say, without writing.
TEST(TextFile, TellsBeforehandWhatCannotBeWritten) {
  const TempDir dir;
  check_output_file(dir.file("new"));
  check_output_file(dir.write("old", "old"));
  check_output_file("/dev/null");
  check_output_file("-");
  EXPECT_EQ(read_text_file(dir.file("old")), "old");
  EXPECT_EQ(files_in(dir), 1U);
  for (const std::string& path : {dir.file("none/new"), dir.file("old/new"), dir.path().string()}) {
    EXPECT_EQ(message_of<Error>([&] { check_output_file(path); }),
              message_of<Error>([&] { write_text_file(path, "text"); }));
  }
}

TEST(TextFile, KeepsTheModeOfWhatItReplaces) {
  const TempDir dir;
  const std::string path = dir.write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  write_text_file(path, "new");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST(TextFile, FollowsSymbolicLinks) {
  const TempDir dir;
  fs::create_directory(dir.path() / "folder");
  dir.write("folder/target", "old");
  fs::create_symlink("folder/inner", dir.path() / "outer");
  fs::create_symlink("target", dir.path() / "folder/inner");
  write_text_file(dir.file("outer"), "new");
  EXPECT_TRUE(fs::is_symlink(dir.path() / "outer"));
  EXPECT_TRUE(fs::is_symlink(dir.path() / "folder/inner"));
  EXPECT_EQ(read_text_file(dir.file("folder/target")), "new");
}

TEST(TextFile, CreatesWhatALinkPromises) {
  const TempDir dir;
  fs::create_symlink("target", dir.path() / "link");
  write_text_file(dir.file("link"), "new");
  EXPECT_TRUE(fs::is_symlink(dir.path() / "link"));
  EXPECT_EQ(read_text_file(dir.file("target")), "new");
}

TEST(TextFile, RefusesALoopOfLinks) {
  const TempDir dir;
  fs::create_symlink("b", dir.path() / "a");
  fs::create_symlink("a", dir.path() / "b");
  EXPECT_THROW(write_text_file(dir.file("a"), "new"), SystemError);
  EXPECT_TRUE(fs::is_symlink(dir.path() / "a"));
  EXPECT_EQ(files_in(dir), 2U);
}

TEST(TextFile, WritesThroughAPipe) {
  const TempDir dir;
  const std::string path = dir.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = read_text_file(path); });
  write_text_file(path, "through");
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST(TextFile, WritesToAnOpenFileWhereItStands) {
  const TempDir dir;
  const std::string path = dir.write("a", "");
  const int descriptor = ::open(path.c_str(), O_WRONLY);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::write(descriptor, "1", 1), 1);
  write_text_file("/proc/self/fd/" + std::to_string(descriptor), "2");
  write_text_file("/dev/fd/" + std::to_string(descriptor), "3");
  fs::create_symlink("/dev/fd/" + std::to_string(descriptor), dir.path() / "link");
  write_text_file(dir.file("link"), "4");
  ASSERT_EQ(::write(descriptor, "5", 1), 1);
  ::close(descriptor);
  EXPECT_EQ(read_text_file(path), "12345");
  EXPECT_EQ(files_in(dir), 2U);
}

TEST(TextFile, NamesTheFileThatWasAskedFor) {
  const TempDir dir;
  const std::string missing = dir.file("missing/a");
  EXPECT_THAT(message_of<SystemError>([&] { write_text_file(missing, ""); }),
              AllOf(HasSubstr("open(" + missing + "): No such file"), Not(HasSubstr(".tmp"))));
  EXPECT_THAT(message_of<ConfigError>([&] { write_text_file(dir.path().string(), ""); }),
              HasSubstr("is a folder"));
  EXPECT_EQ(files_in(dir), 0U);
}

}  // namespace
}  // namespace doppler
