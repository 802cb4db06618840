#include "learner/hdf5_file.h"

#include <numeric>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"

namespace doppler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
constexpr bool kIsOwner =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;
static_assert(kIsOwner<Hdf5File>);
static_assert(kIsOwner<Hdf5Group>);
static_assert(kIsOwner<Hdf5Dataset>);

// A file in memory with one dataset "numbers" [2, 3] and one attribute.
std::vector<std::byte> sample_image() {
  Hdf5File file = Hdf5File::create_in_memory("sample");
  {
    Hdf5Group root = file.root();
    root.set_attribute("answer", std::int64_t{42});
    const std::int64_t shape[] = {2, 3};
    const std::int32_t values[] = {1, 2, 3, 4, 5, 6};
    root.write<std::int32_t>("deep/er/numbers", shape, values);
    const std::string texts[] = {"a", "", "c\xc3\xa4"};
    root.write_strings("texts", texts);
    root.write_string("empty", "");
  }
  return file.image();
}

TEST(Hdf5File, GivesBackWhatWasWritten) {
  const Hdf5File file = Hdf5File::open_image(sample_image(), "sample");
  const Hdf5Group root = file.root();
  EXPECT_EQ(root.attribute<std::int64_t>("answer"), 42);
  const Hdf5Dataset numbers = root.dataset("deep/er/numbers");
  EXPECT_THAT(numbers.shape(), ElementsAre(2, 3));
  EXPECT_EQ(numbers.type(), Hdf5Type::kInt32);
  EXPECT_THAT(numbers.read<std::int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(numbers.read_rows<std::int32_t>(1, 1), ElementsAre(4, 5, 6));
  EXPECT_THAT(root.dataset("texts").read_strings(), ElementsAre("a", "", "c\xc3\xa4"));
  EXPECT_EQ(root.dataset("empty").read_string(), "");
  EXPECT_THAT(root.names(), ElementsAre("deep", "empty", "texts"));
}

TEST(Hdf5File, EqualContentGivesEqualBytes) {
  EXPECT_EQ(sample_image(), sample_image());
}

TEST(Hdf5File, WhatIsMissingOrOfAnotherTypeIsAFormatErrorThatNamesThePlace) {
  const Hdf5File file = Hdf5File::open_image(sample_image(), "sample");
  const Hdf5Group root = file.root();
  const auto message = [](auto action) { return test::message_of<FormatError>(action); };
  EXPECT_EQ(message([&] { root.dataset("deep/none"); }),
            "sample: /deep/none: this dataset is missing");
  EXPECT_EQ(message([&] { root.dataset("deep/er/numbers/more"); }),
            "sample: /deep/er/numbers/more: this dataset is missing");
  EXPECT_EQ(message([&] { root.dataset("deep"); }),
            "sample: /deep: expected a dataset, found a group");
  EXPECT_EQ(message([&] { root.dataset("deep/er/numbers").read<float>(); }),
            "sample: /deep/er/numbers: expected type float32, found int32");
  EXPECT_EQ(message([&] { root.attribute<double>("answer"); }),
            "sample: / @answer: expected type float64, found int64");
  EXPECT_EQ(message([&] { root.attribute<double>("question"); }),
            "sample: / @question: this attribute is missing");
  EXPECT_THAT(message([&] { root.dataset("deep/er/numbers").read_rows<std::int32_t>(1, 2); }),
              HasSubstr("rows 1 to 3 were asked for, but its shape is [2, 3]"));
}

TEST(Hdf5File, ATextWithAZeroByteIsRefused) {
  Hdf5File file = Hdf5File::create_in_memory("sample");
  Hdf5Group root = file.root();
  EXPECT_THROW(root.write_string("text", std::string_view("a\0b", 3)), FormatError);
  EXPECT_THROW(root.set_attribute("text", std::string_view("a\0b", 3)), FormatError);
}

TEST(Hdf5File, WhatHdf5SaysIsInTheMessage) {
  const std::string message = test::message_of<SystemError>(
      [] { Hdf5File::open_swmr_read("/nonexistent/folder/file.h5"); });
  EXPECT_THAT(message, HasSubstr("H5Fopen(/nonexistent/folder/file.h5): "));
  EXPECT_THAT(message, HasSubstr("No such file or directory"));
}

TEST(Hdf5File, AMovedObjectStillWorks) {
  Hdf5File first = Hdf5File::create_in_memory("first");
  Hdf5File second = std::move(first);
  Hdf5Group root = second.root();
  Hdf5Group group = root.create_group("group");
  root = std::move(group);
  EXPECT_EQ(root.place(), "first: /group");
}

TEST(Hdf5Column, RowsThatWereNotWrittenHoldTheFillValue) {
  Hdf5File file = Hdf5File::create_in_memory("columns");
  Hdf5Group root = file.root();
  Hdf5Dataset column = root.create_column(
      "c", {.type = Hdf5Type::kInt32, .chunk_rows = 8, .compressed = true, .fill = -1});
  const std::int32_t values[] = {7, 8};
  column.set_rows(8);
  column.write_rows<std::int32_t>(0, values);
  EXPECT_THAT(column.read<std::int32_t>(), ElementsAre(7, 8, -1, -1, -1, -1, -1, -1));
  Hdf5Dataset wide =
      root.create_column("w", {.type = Hdf5Type::kUint64, .width = 2, .chunk_rows = 4});
  const std::uint64_t rows[] = {1, 2, 3, 4};
  wide.set_rows(3);
  wide.write_rows<std::uint64_t>(1, rows);
  EXPECT_THAT(wide.read<std::uint64_t>(), ElementsAre(0, 0, 1, 2, 3, 4));
}

}  // namespace
}  // namespace doppler
