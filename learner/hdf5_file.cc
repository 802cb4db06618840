#include "learner/hdf5_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <type_traits>

#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include "common/check.h"
#include "common/error.h"

namespace doppler {
namespace {

static_assert(std::is_same_v<hid_t, internal::Hdf5Id>, "HDF5 1.10 or later is needed");

// One lock for all: HDF5 is one big global state. Recursive, since a wrapper may call another.
std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

// Held around every call of the library. Printing of errors is switched off once a thread, as the
// error stack belongs to the thread in thread-safe builds. HDF5's own clean-up at exit is switched
// off: our handles close everything, and after a full disk it would try again to write what it
// could not, and complain on stderr.
class LibraryLock {
 public:
  LibraryLock() : lock_(library_mutex()) {
    static const bool kNoExitHandler = [] { return H5dont_atexit() >= 0; }();
    static_cast<void>(kNoExitHandler);
    thread_local const bool kQuiet = [] {
      return H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
    }();
    static_cast<void>(kQuiet);
  }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

// The innermost reasons of the newest error, the most specific first.
std::string error_stack() {
  struct Reasons {
    std::string text;
    int count = 0;
  } reasons;
  constexpr auto kAppend = [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
    auto* to = static_cast<Reasons*>(data);
    if (to->count++ < 3 && error->desc != nullptr && *error->desc != '\0') {
      to->text += to->text.empty() ? "" : "; ";
      to->text += error->desc;
    }
    return 0;
  };
  // Upward: the walk begins where the error was found.
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, kAppend, &reasons);
  H5Eclear2(H5E_DEFAULT);
  std::replace(reasons.text.begin(), reasons.text.end(), '\n', ' ');
  return reasons.text.empty() ? "HDF5 gives no reason" : reasons.text;
}

// Runs one call of the library; a negative result becomes a SystemError that names the call and the
// place.
template <typename Call>
auto checked(const char* call_name, const std::string& place, Call call) {
  const LibraryLock lock;
  const auto result = call();
  if (result < 0) {
    throw SystemError(std::string(call_name) + "(" + place + "): " + error_stack());
  }
  return result;
}

template <herr_t (*kClose)(hid_t)>
int close_silently(hid_t id) noexcept {
  const LibraryLock lock;
  const int result = kClose(id);
  if (result < 0) H5Eclear2(H5E_DEFAULT);
  return result;
}

using Space = Hdf5Handle<&close_silently<H5Sclose>>;
using Datatype = Hdf5Handle<&close_silently<H5Tclose>>;
using Properties = Hdf5Handle<&close_silently<H5Pclose>>;
using Attribute = Hdf5Handle<&close_silently<H5Aclose>>;
using Object = Hdf5Handle<&internal::close_hdf5_object>;

// Not owned: the library's own constants. They are macros that call the library, hence the lock.
hid_t native_type(Hdf5Type type) {
  const LibraryLock lock;
  switch (type) {
    case Hdf5Type::kUint8:
      return H5T_NATIVE_UINT8;
    case Hdf5Type::kInt32:
      return H5T_NATIVE_INT32;
    case Hdf5Type::kUint32:
      return H5T_NATIVE_UINT32;
    case Hdf5Type::kInt64:
      return H5T_NATIVE_INT64;
    case Hdf5Type::kUint64:
      return H5T_NATIVE_UINT64;
    case Hdf5Type::kFloat32:
      return H5T_NATIVE_FLOAT;
    case Hdf5Type::kFloat64:
      return H5T_NATIVE_DOUBLE;
    case Hdf5Type::kString:
    case Hdf5Type::kOther:
      break;
  }
  DP_CHECK(!"a number type");
  return -1;
}

// Little-endian whatever the machine, so that equal content gives equal bytes.
hid_t file_type(Hdf5Type type) {
  const LibraryLock lock;
  switch (type) {
    case Hdf5Type::kUint8:
      return H5T_STD_U8LE;
    case Hdf5Type::kInt32:
      return H5T_STD_I32LE;
    case Hdf5Type::kUint32:
      return H5T_STD_U32LE;
    case Hdf5Type::kInt64:
      return H5T_STD_I64LE;
    case Hdf5Type::kUint64:
      return H5T_STD_U64LE;
    case Hdf5Type::kFloat32:
      return H5T_IEEE_F32LE;
    case Hdf5Type::kFloat64:
      return H5T_IEEE_F64LE;
    case Hdf5Type::kString:
    case Hdf5Type::kOther:
      break;
  }
  DP_CHECK(!"a number type");
  return -1;
}

Hdf5Type classify(hid_t type, const std::string& place) {
  const auto type_class = checked("H5Tget_class", place, [&] { return H5Tget_class(type); });
  const LibraryLock lock;
  const std::size_t size = H5Tget_size(type);
  switch (type_class) {
    case H5T_INTEGER: {
      const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
      if (size == 1 && !is_signed) return Hdf5Type::kUint8;
      if (size == 4) return is_signed ? Hdf5Type::kInt32 : Hdf5Type::kUint32;
      if (size == 8) return is_signed ? Hdf5Type::kInt64 : Hdf5Type::kUint64;
      return Hdf5Type::kOther;
    }
    case H5T_FLOAT:
      if (size == 4) return Hdf5Type::kFloat32;
      if (size == 8) return Hdf5Type::kFloat64;
      return Hdf5Type::kOther;
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0 ? Hdf5Type::kOther : Hdf5Type::kString;
    default:
      return Hdf5Type::kOther;
  }
}

[[noreturn]] void refuse(const std::string& place, const std::string& reason) {
  throw FormatError(place + ": " + reason);
}

[[noreturn]] void refuse_type(const std::string& place, Hdf5Type expected, Hdf5Type found) {
  refuse(place, std::string("expected type ") + hdf5_type_name(expected) + ", found " +
                    hdf5_type_name(found));
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Datatype make_string_type(std::size_t size, const std::string& place) {
  Datatype type(checked("H5Tcopy", place, [] { return H5Tcopy(H5T_C_S1); }));
  checked("H5Tset_size", place,
          [&] { return H5Tset_size(type.get(), std::max<std::size_t>(size, 1)); });
  checked("H5Tset_strpad", place, [&] { return H5Tset_strpad(type.get(), H5T_STR_NULLPAD); });
  checked("H5Tset_cset", place, [&] { return H5Tset_cset(type.get(), H5T_CSET_UTF8); });
  return type;
}

void require_no_zero_byte(std::string_view text, const std::string& place) {
  if (text.find('\0') != std::string_view::npos) {
    refuse(place, "a text with a zero byte cannot be stored; remove it");
  }
}

std::string without_padding(const char* text, std::size_t size) {
  return std::string(text, ::strnlen(text, size));
}

Space make_space(std::span<const std::int64_t> shape, const std::string& place) {
  std::vector<hsize_t> extents(shape.begin(), shape.end());
  if (extents.empty()) {
    return Space(checked("H5Screate", place, [] { return H5Screate(H5S_SCALAR); }));
  }
  return Space(checked("H5Screate_simple", place, [&] {
    return H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  }));
}

std::vector<std::int64_t> shape_of(hid_t space, const std::string& place) {
  const int axes = checked("H5Sget_simple_extent_ndims", place,
                           [&] { return H5Sget_simple_extent_ndims(space); });
  std::vector<hsize_t> extents(static_cast<std::size_t>(axes));
  checked("H5Sget_simple_extent_dims", place,
          [&] { return H5Sget_simple_extent_dims(space, extents.data(), nullptr); });
  return {extents.begin(), extents.end()};
}

Properties make_properties(hid_t (*kind)(), const std::string& place) {
  return Properties(checked("H5Pcreate", place, [&] { return H5Pcreate(kind()); }));
}

hid_t file_access_class() {
  return H5P_FILE_ACCESS;
}
hid_t dataset_creation_class() {
  return H5P_DATASET_CREATE;
}
hid_t link_creation_class() {
  return H5P_LINK_CREATE;
}
hid_t group_creation_class() {
  return H5P_GROUP_CREATE;
}

// Of a file made with it: its format is the oldest that can hold what is asked for, but no older
// than `oldest`.
Properties make_access(const std::string& name, H5F_libver_t oldest) {
  Properties access = make_properties(&file_access_class, name);
  checked("H5Pset_libver_bounds", name,
          [&] { return H5Pset_libver_bounds(access.get(), oldest, H5F_LIBVER_LATEST); });
  return access;
}

// Chunks begin at page boundaries, so that no row of a chunk lies across two pages: a kill between
// two pages of one write then leaves every row either old or new.
void align_chunks(const Properties& access, const std::string& name) {
  checked("H5Pset_alignment", name, [&] { return H5Pset_alignment(access.get(), 32768, 4096); });
}

void set_locking([[maybe_unused]] const Properties& access, [[maybe_unused]] bool lock,
                 [[maybe_unused]] const std::string& name) {
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MINOR == 12 && H5_VERS_RELEASE < 1)
  checked("H5Pset_file_locking", name,
          [&] { return H5Pset_file_locking(access.get(), lock, true); });
#endif
}

// What HDF5 calls a file that lies in memory only. It must be no other file's name in this process,
// since HDF5 takes equal names for one file, and none on disk, where HDF5 looks although it is not
// to.
std::string name_in_memory() {
  static std::atomic<std::uint64_t> count = 0;
  return "/dev/null/" + std::to_string(count.fetch_add(1));
}

// Growing steps of the in-memory image.
constexpr std::size_t kImageIncrementBytes = 1 << 20;

}  // namespace

namespace internal {

int close_hdf5_object(Hdf5Id id) noexcept {
  return close_silently<H5Oclose>(id);
}
int close_hdf5_file(Hdf5Id id) noexcept {
  return close_silently<H5Fclose>(id);
}

}  // namespace internal

const char* hdf5_type_name(Hdf5Type type) {
  switch (type) {
    case Hdf5Type::kUint8:
      return "uint8";
    case Hdf5Type::kInt32:
      return "int32";
    case Hdf5Type::kUint32:
      return "uint32";
    case Hdf5Type::kInt64:
      return "int64";
    case Hdf5Type::kUint64:
      return "uint64";
    case Hdf5Type::kFloat32:
      return "float32";
    case Hdf5Type::kFloat64:
      return "float64";
    case Hdf5Type::kString:
      return "string";
    case Hdf5Type::kOther:
      break;
  }
  return "another type";
}

std::string hdf5_library_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  checked("H5get_libversion", "", [&] { return H5get_libversion(&major, &minor, &release); });
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

// ---- Hdf5Object

std::string Hdf5Object::place_of(const std::string& name) const {
  return place_.ends_with('/') ? place_ + name : place_ + "/" + name;
}

bool Hdf5Object::has_attribute(const std::string& name) const {
  return checked("H5Aexists", place_, [&] { return H5Aexists(id(), name.c_str()); }) > 0;
}

void Hdf5Object::write_attribute(const std::string& name, Hdf5Type type, const void* value) {
  const std::string place = place_ + " @" + name;
  const Space space = make_space({}, place);
  const Attribute attribute(checked("H5Acreate", place, [&] {
    return H5Acreate2(id(), name.c_str(), file_type(type), space.get(), H5P_DEFAULT, H5P_DEFAULT);
  }));
  checked("H5Awrite", place, [&] { return H5Awrite(attribute.get(), native_type(type), value); });
}

void Hdf5Object::set_attribute(const std::string& name, std::string_view text) {
  const std::string place = place_ + " @" + name;
  require_no_zero_byte(text, place);
  const Space space = make_space({}, place);
  const Datatype type = make_string_type(text.size(), place);
  const Attribute attribute(checked("H5Acreate", place, [&] {
    return H5Acreate2(id(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT);
  }));
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  checked("H5Awrite", place, [&] { return H5Awrite(attribute.get(), type.get(), padded.data()); });
}

namespace {

Attribute open_attribute(hid_t object, const std::string& name, const std::string& place,
                         Hdf5Type type) {
  if (checked("H5Aexists", place, [&] { return H5Aexists(object, name.c_str()); }) == 0) {
    refuse(place, "this attribute is missing");
  }
  Attribute attribute(
      checked("H5Aopen", place, [&] { return H5Aopen(object, name.c_str(), H5P_DEFAULT); }));
  const Datatype found(checked("H5Aget_type", place, [&] { return H5Aget_type(attribute.get()); }));
  const Hdf5Type found_type = classify(found.get(), place);
  if (found_type != type) refuse_type(place, type, found_type);
  const Space space(checked("H5Aget_space", place, [&] { return H5Aget_space(attribute.get()); }));
  const auto points = checked("H5Sget_simple_extent_npoints", place,
                              [&] { return H5Sget_simple_extent_npoints(space.get()); });
  if (points != 1) refuse(place, "expected one value, found " + std::to_string(points));
  return attribute;
}

}  // namespace

void Hdf5Object::read_attribute(const std::string& name, Hdf5Type type, void* value) const {
  const std::string place = place_ + " @" + name;
  const Attribute attribute = open_attribute(id(), name, place, type);
  checked("H5Aread", place, [&] { return H5Aread(attribute.get(), native_type(type), value); });
}

std::string Hdf5Object::string_attribute(const std::string& name) const {
  const std::string place = place_ + " @" + name;
  const Attribute attribute = open_attribute(id(), name, place, Hdf5Type::kString);
  const Datatype type(checked("H5Aget_type", place, [&] { return H5Aget_type(attribute.get()); }));
  std::string text(H5Tget_size(type.get()), '\0');
  checked("H5Aread", place, [&] { return H5Aread(attribute.get(), type.get(), text.data()); });
  return without_padding(text.data(), text.size());
}

// ---- Hdf5Dataset

Hdf5Type Hdf5Dataset::type() const {
  const Datatype type(checked("H5Dget_type", place(), [&] { return H5Dget_type(id()); }));
  return classify(type.get(), place());
}

std::vector<std::int64_t> Hdf5Dataset::shape() const {
  const Space space(checked("H5Dget_space", place(), [&] { return H5Dget_space(id()); }));
  return shape_of(space.get(), place());
}

std::int64_t Hdf5Dataset::rows() const {
  const std::vector<std::int64_t> extents = shape();
  return extents.empty() ? 1 : extents[0];
}

std::size_t Hdf5Dataset::element_count() const {
  std::size_t count = 1;
  for (std::int64_t extent : shape()) count *= static_cast<std::size_t>(extent);
  return count;
}

std::size_t Hdf5Dataset::row_width() const {
  const std::vector<std::int64_t> extents = shape();
  std::size_t count = 1;
  for (std::size_t i = 1; i < extents.size(); ++i) count *= static_cast<std::size_t>(extents[i]);
  return count;
}

void Hdf5Dataset::require_type(Hdf5Type expected) const {
  const Hdf5Type found = type();
  if (found != expected) refuse_type(place(), expected, found);
}

void Hdf5Dataset::read_all(Hdf5Type type, void* values) const {
  if (element_count() == 0) return;
  checked("H5Dread", place(),
          [&] { return H5Dread(id(), native_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, values); });
}

void Hdf5Dataset::read_block(Hdf5Type type, std::int64_t first, std::int64_t count,
                             void* values) const {
  if (count == 0) return;
  const std::vector<std::int64_t> extents = shape();
  if (extents.empty() || first < 0 || count < 0 || first + count > extents[0]) {
    refuse(place(), "rows " + std::to_string(first) + " to " + std::to_string(first + count) +
                        " were asked for, but its shape is " + shape_text(extents));
  }
  std::vector<hsize_t> start(extents.size(), 0);
  std::vector<hsize_t> block(extents.begin(), extents.end());
  start[0] = static_cast<hsize_t>(first);
  block[0] = static_cast<hsize_t>(count);
  const Space in_file(checked("H5Dget_space", place(), [&] { return H5Dget_space(id()); }));
  checked("H5Sselect_hyperslab", place(), [&] {
    return H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, block.data(),
                               nullptr);
  });
  const std::vector<std::int64_t> memory_shape(block.begin(), block.end());
  const Space in_memory = make_space(memory_shape, place());
  checked("H5Dread", place(), [&] {
    return H5Dread(id(), native_type(type), in_memory.get(), in_file.get(), H5P_DEFAULT, values);
  });
}

std::string Hdf5Dataset::read_string() const {
  require_type(Hdf5Type::kString);
  if (!shape().empty()) refuse(place(), "expected one string, found shape " + shape_text(shape()));
  const Datatype type(checked("H5Dget_type", place(), [&] { return H5Dget_type(id()); }));
  std::string text(H5Tget_size(type.get()), '\0');
  checked("H5Dread", place(),
          [&] { return H5Dread(id(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()); });
  return without_padding(text.data(), text.size());
}

std::vector<std::string> Hdf5Dataset::read_strings() const {
  require_type(Hdf5Type::kString);
  const std::vector<std::int64_t> extents = shape();
  if (extents.size() != 1) refuse(place(), "expected one axis, found shape " + shape_text(extents));
  const Datatype type(checked("H5Dget_type", place(), [&] { return H5Dget_type(id()); }));
  const std::size_t size = H5Tget_size(type.get());
  const std::size_t count = element_count();
  std::string padded(size * count, '\0');
  if (count > 0) {
    checked("H5Dread", place(), [&] {
      return H5Dread(id(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data());
    });
  }
  std::vector<std::string> texts;
  texts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    texts.push_back(without_padding(padded.data() + i * size, size));
  }
  return texts;
}

void Hdf5Dataset::set_rows(std::int64_t rows) {
  std::vector<std::int64_t> extents = shape();
  DP_CHECK(!extents.empty());
  extents[0] = rows;
  const std::vector<hsize_t> sizes(extents.begin(), extents.end());
  checked("H5Dset_extent", place(), [&] { return H5Dset_extent(id(), sizes.data()); });
}

void Hdf5Dataset::write_block(Hdf5Type type, std::int64_t first, const void* values,
                              std::size_t count) {
  if (count == 0) return;
  std::vector<std::int64_t> extents = shape();
  DP_CHECK(!extents.empty());
  const std::size_t width = row_width();
  DP_CHECK_EQ(count % width, std::size_t{0});
  std::vector<hsize_t> start(extents.size(), 0);
  extents[0] = static_cast<std::int64_t>(count / width);
  const std::vector<hsize_t> block(extents.begin(), extents.end());
  start[0] = static_cast<hsize_t>(first);
  const Space in_file(checked("H5Dget_space", place(), [&] { return H5Dget_space(id()); }));
  checked("H5Sselect_hyperslab", place(), [&] {
    return H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, block.data(),
                               nullptr);
  });
  const Space in_memory = make_space(extents, place());
  checked("H5Dwrite", place(), [&] {
    return H5Dwrite(id(), native_type(type), in_memory.get(), in_file.get(), H5P_DEFAULT, values);
  });
}

void Hdf5Dataset::flush() {
  checked("H5Dflush", place(), [&] { return H5Dflush(id()); });
}

void Hdf5Dataset::refresh() {
  checked("H5Drefresh", place(), [&] { return H5Drefresh(id()); });
}

// ---- Hdf5Group

Hdf5Group Hdf5Group::create_group(const std::string& name) {
  const std::string place = place_of(name);
  const Properties links = make_properties(&link_creation_class, place);
  checked("H5Pset_create_intermediate_group", place,
          [&] { return H5Pset_create_intermediate_group(links.get(), 1); });
  // Times of creation would make equal content unequal bytes.
  const Properties creation = make_properties(&group_creation_class, place);
  checked("H5Pset_obj_track_times", place,
          [&] { return H5Pset_obj_track_times(creation.get(), false); });
  const hid_t group = checked("H5Gcreate", place, [&] {
    return H5Gcreate2(id(), name.c_str(), links.get(), creation.get(), H5P_DEFAULT);
  });
  return {group, place};
}

bool Hdf5Group::has(const std::string& name) const {
  // H5Lexists wants every group on the way to exist, so it is asked step by step.
  for (std::size_t end = 0; end != std::string::npos;) {
    end = name.find('/', end + 1);
    const std::string prefix = name.substr(0, end);
    const bool exists = checked("H5Lexists", place_of(prefix),
                                [&] { return H5Lexists(id(), prefix.c_str(), H5P_DEFAULT); }) > 0;
    if (!exists) return false;
    if (end != std::string::npos && !is_group(prefix)) return false;
  }
  return true;
}

bool Hdf5Group::is_group(const std::string& name) const {
  const std::string place = place_of(name);
  const Object object(
      checked("H5Oopen", place, [&] { return H5Oopen(id(), name.c_str(), H5P_DEFAULT); }));
  return checked("H5Iget_type", place, [&] { return H5Iget_type(object.get()); }) == H5I_GROUP;
}

Hdf5Group Hdf5Group::group(const std::string& name) const {
  const std::string place = place_of(name);
  if (!has(name)) refuse(place, "this group is missing");
  if (!is_group(name)) refuse(place, "expected a group, found a dataset");
  return {checked("H5Gopen", place, [&] { return H5Gopen2(id(), name.c_str(), H5P_DEFAULT); }),
          place};
}

Hdf5Dataset Hdf5Group::dataset(const std::string& name) const {
  const std::string place = place_of(name);
  if (!has(name)) refuse(place, "this dataset is missing");
  if (is_group(name)) refuse(place, "expected a dataset, found a group");
  return {checked("H5Dopen", place, [&] { return H5Dopen2(id(), name.c_str(), H5P_DEFAULT); }),
          place};
}

std::vector<std::string> Hdf5Group::names() const {
  std::vector<std::string> found;
  constexpr auto kCollect = [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  };
  checked("H5Literate", place(),
          [&] { return H5Literate(id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, kCollect, &found); });
  return found;
}

namespace {

hid_t create_dataset(hid_t parent, const std::string& name, const std::string& place, hid_t type,
                     const Space& space, const Properties& creation) {
  const Properties links = make_properties(&link_creation_class, place);
  checked("H5Pset_create_intermediate_group", place,
          [&] { return H5Pset_create_intermediate_group(links.get(), 1); });
  checked("H5Pset_obj_track_times", place,
          [&] { return H5Pset_obj_track_times(creation.get(), false); });
  return checked("H5Dcreate", place, [&] {
    return H5Dcreate2(parent, name.c_str(), type, space.get(), links.get(), creation.get(),
                      H5P_DEFAULT);
  });
}

}  // namespace

Hdf5Dataset Hdf5Group::write_array(const std::string& name, Hdf5Type type,
                                   std::span<const std::int64_t> shape, const void* values,
                                   std::size_t count) {
  const std::string place = place_of(name);
  const Space space = make_space(shape, place);
  const Properties creation = make_properties(&dataset_creation_class, place);
  Hdf5Dataset dataset(create_dataset(id(), name, place, file_type(type), space, creation), place);
  DP_CHECK_EQ(dataset.element_count(), count);
  if (count > 0) {
    checked("H5Dwrite", place, [&] {
      return H5Dwrite(dataset.id(), native_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    });
  }
  return dataset;
}

void Hdf5Group::write_string(const std::string& name, std::string_view text) {
  const std::string place = place_of(name);
  require_no_zero_byte(text, place);
  const Space space = make_space({}, place);
  const Datatype type = make_string_type(text.size(), place);
  const Properties creation = make_properties(&dataset_creation_class, place);
  const Object dataset(create_dataset(id(), name, place, type.get(), space, creation));
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  checked("H5Dwrite", place, [&] {
    return H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data());
  });
}

void Hdf5Group::write_strings(const std::string& name, std::span<const std::string> texts) {
  const std::string place = place_of(name);
  std::size_t size = 1;
  for (const std::string& text : texts) {
    require_no_zero_byte(text, place);
    size = std::max(size, text.size());
  }
  std::string padded(size * texts.size(), '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].copy(padded.data() + i * size, size);
  const std::int64_t shape[] = {static_cast<std::int64_t>(texts.size())};
  const Space space = make_space(shape, place);
  const Datatype type = make_string_type(size, place);
  const Properties creation = make_properties(&dataset_creation_class, place);
  const Object dataset(create_dataset(id(), name, place, type.get(), space, creation));
  if (texts.empty()) return;
  checked("H5Dwrite", place, [&] {
    return H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data());
  });
}

Hdf5Dataset Hdf5Group::create_column(const std::string& name, const Hdf5Column& column) {
  const std::string place = place_of(name);
  std::vector<hsize_t> extents = {0};
  std::vector<hsize_t> limits = {H5S_UNLIMITED};
  std::vector<hsize_t> chunk = {static_cast<hsize_t>(column.chunk_rows)};
  if (column.width > 0) {
    extents.push_back(static_cast<hsize_t>(column.width));
    limits.push_back(static_cast<hsize_t>(column.width));
    chunk.push_back(static_cast<hsize_t>(column.width));
  }
  const int axes = static_cast<int>(extents.size());
  const Space space(checked("H5Screate_simple", place,
                            [&] { return H5Screate_simple(axes, extents.data(), limits.data()); }));
  const Properties creation = make_properties(&dataset_creation_class, place);
  checked("H5Pset_chunk", place, [&] { return H5Pset_chunk(creation.get(), axes, chunk.data()); });
  if (column.compressed) {
    checked("H5Pset_shuffle", place, [&] { return H5Pset_shuffle(creation.get()); });
    checked("H5Pset_deflate", place, [&] { return H5Pset_deflate(creation.get(), 1); });
  }
  checked("H5Pset_fill_value", place, [&] {
    return H5Pset_fill_value(creation.get(), native_type(Hdf5Type::kInt64), &column.fill);
  });
  return {create_dataset(id(), name, place, file_type(column.type), space, creation), place};
}

// ---- Hdf5File

Hdf5File Hdf5File::create_in_memory(const std::string& name) {
  // The oldest format: newer ones mark in their superblock that the file is open for writing, and
  // H5Fget_file_image clears that mark without renewing the checksum over it (HDF5 1.10), so that
  // nobody could open the image.
  const Properties access = make_access(name, H5F_LIBVER_EARLIEST);
  checked("H5Pset_fapl_core", name,
          [&] { return H5Pset_fapl_core(access.get(), kImageIncrementBytes, false); });
  const hid_t file = checked("H5Fcreate", name, [&] {
    return H5Fcreate(name_in_memory().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get());
  });
  return {file, name};
}

Hdf5File Hdf5File::create_for_swmr(const std::string& path, bool lock) {
  const Properties access = make_access(path, H5F_LIBVER_LATEST);
  align_chunks(access, path);
  set_locking(access, lock, path);
  const hid_t file = checked("H5Fcreate", path, [&] {
    return H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get());
  });
  return {file, path};
}

Hdf5File Hdf5File::open_image(std::span<const std::byte> image, const std::string& name) {
  const Properties access = make_access(name, H5F_LIBVER_LATEST);
  checked("H5Pset_fapl_core", name,
          [&] { return H5Pset_fapl_core(access.get(), kImageIncrementBytes, false); });
  checked("H5Pset_file_image", name, [&] {
    // HDF5 copies the bytes; its parameter is not const by mistake.
    return H5Pset_file_image(access.get(), const_cast<std::byte*>(image.data()), image.size());
  });
  const hid_t file = checked("H5Fopen", name, [&] {
    return H5Fopen(name_in_memory().c_str(), H5F_ACC_RDONLY, access.get());
  });
  return {file, name};
}

Hdf5File Hdf5File::open_swmr_write(const std::string& path, bool lock) {
  const Properties access = make_access(path, H5F_LIBVER_LATEST);
  align_chunks(access, path);
  set_locking(access, lock, path);
  const hid_t file = checked("H5Fopen", path, [&] {
    return H5Fopen(path.c_str(), H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, access.get());
  });
  return {file, path};
}

Hdf5File Hdf5File::open_swmr_read(const std::string& path) {
  const LibraryLock lock;
  // Without locking: a reader changes nothing, and what is committed does not change under it. But
  // where this process itself writes the file, HDF5 wants the same answer from both.
  for (const bool locking : {false, true}) {
    const Properties access = make_access(path, H5F_LIBVER_LATEST);
    set_locking(access, locking, path);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access.get());
    if (file >= 0) return {file, path};
  }
  // A file that was rewritten by another tool (h5repack) may lie in an older format, which knows no
  // SWMR.
  const Properties access = make_access(path, H5F_LIBVER_LATEST);
  set_locking(access, false, path);
  return {
      checked("H5Fopen", path, [&] { return H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()); }),
      path};
}

Hdf5Group Hdf5File::root() const {
  const std::string place = name_ + ": /";
  return {checked("H5Gopen", place, [&] { return H5Gopen2(handle_.get(), "/", H5P_DEFAULT); }),
          place};
}

std::vector<std::byte> Hdf5File::image() {
  checked("H5Fflush", name_, [&] { return H5Fflush(handle_.get(), H5F_SCOPE_GLOBAL); });
  const auto size = checked("H5Fget_file_image", name_,
                            [&] { return H5Fget_file_image(handle_.get(), nullptr, 0); });
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  checked("H5Fget_file_image", name_,
          [&] { return H5Fget_file_image(handle_.get(), bytes.data(), bytes.size()); });
  return bytes;
}

void Hdf5File::abandon() noexcept {
  const LibraryLock lock;
  void* descriptor = nullptr;
  if (H5Fget_vfd_handle(handle_.get(), H5P_DEFAULT, &descriptor) < 0) {
    handle_.release();  // leaks, but writes nothing
    return;
  }
  // HDF5 has no way to drop what it holds; what it writes from here on goes nowhere.
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) {
    handle_.release();
    return;
  }
  ::dup2(nowhere, *static_cast<int*>(descriptor));
  ::close(nowhere);
}

void Hdf5File::close() {
  checked("H5Fclose", name_, [&] { return H5Fclose(handle_.release()); });
}

}  // namespace doppler
