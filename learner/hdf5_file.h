// The one home of the HDF5 C library: handles that own what they open, and each call of the library
// wrapped once and checked once. No header of HDF5 is seen outside hdf5_file.cc.
//
// Only fixed-width types are used (numbers, fixed-length UTF-8 strings, padded with zero bytes):
// any HDF5 reader in any language reads them, and SWMR allows nothing else.
//
// Errors: SystemError "H5Dwrite(FILE: /object): what HDF5 says" when the library or the file system
// refuses; FormatError when a file is read and an object in it is missing or is of another type or
// shape than asked for. Threads: every call takes one lock of the process, because HDF5 is
// thread-safe only in some builds. An object may be used by one thread at a time, different objects
// by different threads. HDF5's own printing of errors is off in threads that call through here.
#ifndef DOPPLER_LEARNER_HDF5_FILE_H_
#define DOPPLER_LEARNER_HDF5_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace doppler {

namespace internal {
// hid_t of HDF5 1.10 and later (asserted in hdf5_file.cc).
using Hdf5Id = std::int64_t;
int close_hdf5_object(Hdf5Id id) noexcept;
int close_hdf5_file(Hdf5Id id) noexcept;
}  // namespace internal

// Owns one id of the library. Closing in the destructor is silent: what must not be lost is closed
// or flushed by name before.
template <int (*kClose)(internal::Hdf5Id)>
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(internal::Hdf5Id id) : id_(id) {}
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, kNone)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, kNone);
    }
    return *this;
  }
  ~Hdf5Handle() { reset(); }

  internal::Hdf5Id get() const { return id_; }
  internal::Hdf5Id release() { return std::exchange(id_, kNone); }
  void reset() noexcept {
    if (id_ != kNone) kClose(std::exchange(id_, kNone));
  }

 private:
  static constexpr internal::Hdf5Id kNone = -1;
  internal::Hdf5Id id_ = kNone;
};

enum class Hdf5Type {
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat32,
  kFloat64,
  kString,
  kOther
};

// As docs/formats.md writes it: "uint8", "float32", "string".
const char* hdf5_type_name(Hdf5Type type);

template <typename T>
constexpr Hdf5Type hdf5_type_of() {
  if constexpr (std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::byte>) {
    return Hdf5Type::kUint8;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return Hdf5Type::kInt32;
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return Hdf5Type::kUint32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return Hdf5Type::kInt64;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return Hdf5Type::kUint64;
  } else if constexpr (std::is_same_v<T, float>) {
    return Hdf5Type::kFloat32;
  } else {
    static_assert(std::is_same_v<T, double>, "a type that is stored");
    return Hdf5Type::kFloat64;
  }
}

// What groups and datasets have in common: a place in a file, and attributes.
class Hdf5Object {
 public:
  // "FILE: /path", for messages.
  const std::string& place() const { return place_; }

  template <typename T>
  requires std::is_arithmetic_v<T>
  void set_attribute(const std::string& name, T value) {
    write_attribute(name, hdf5_type_of<T>(), &value);
  }
  // The text must hold no zero byte.
  void set_attribute(const std::string& name, std::string_view text);

  bool has_attribute(const std::string& name) const;
  template <typename T>
  T attribute(const std::string& name) const {
    T value{};
    read_attribute(name, hdf5_type_of<T>(), &value);
    return value;
  }
  std::string string_attribute(const std::string& name) const;

 protected:
  using Handle = Hdf5Handle<&internal::close_hdf5_object>;

  Hdf5Object(internal::Hdf5Id id, std::string place) : handle_(id), place_(std::move(place)) {}
  internal::Hdf5Id id() const { return handle_.get(); }
  std::string place_of(const std::string& name) const;

 private:
  void write_attribute(const std::string& name, Hdf5Type type, const void* value);
  void read_attribute(const std::string& name, Hdf5Type type, void* value) const;

  Handle handle_;
  std::string place_;
};

class Hdf5Dataset : public Hdf5Object {
 public:
  Hdf5Type type() const;
  std::vector<std::int64_t> shape() const;
  // Length of the first axis; 1 for a scalar.
  std::int64_t rows() const;

  // All of it, row-major.
  template <typename T>
  std::vector<T> read() const {
    require_type(hdf5_type_of<T>());
    std::vector<T> values(element_count());
    read_all(hdf5_type_of<T>(), values.data());
    return values;
  }
  // Rows first .. first + count - 1 of the first axis, row-major.
  template <typename T>
  std::vector<T> read_rows(std::int64_t first, std::int64_t count) const {
    require_type(hdf5_type_of<T>());
    std::vector<T> values(static_cast<std::size_t>(count) * row_width());
    read_block(hdf5_type_of<T>(), first, count, values.data());
    return values;
  }
  std::string read_string() const;                // a scalar string
  std::vector<std::string> read_strings() const;  // [n] strings

  // Columns (Hdf5Group::create_column) only. Rows that are added and not written hold the column's
  // fill value.
  void set_rows(std::int64_t rows);
  template <typename T>
  void write_rows(std::int64_t first, std::span<const T> values) {
    write_block(hdf5_type_of<T>(), first, values.data(), values.size());
  }

  // Writer: what was written lies in the file, for readers with SWMR. Reader: sees what lies in the
  // file now.
  void flush();
  void refresh();

 private:
  friend class Hdf5Group;
  using Hdf5Object::Hdf5Object;
  std::size_t element_count() const;
  std::size_t row_width() const;  // elements a row
  void require_type(Hdf5Type type) const;
  void read_all(Hdf5Type type, void* values) const;
  void read_block(Hdf5Type type, std::int64_t first, std::int64_t count, void* values) const;
  void write_block(Hdf5Type type, std::int64_t first, const void* values, std::size_t count);
};

// A dataset that grows along its first axis.
struct Hdf5Column {
  Hdf5Type type = Hdf5Type::kInt64;
  std::int64_t width = 0;  // elements a row; 0: one, and the dataset has one axis only
  std::int64_t chunk_rows = 0;
  bool compressed = false;  // shuffle and deflate level 1
  std::int64_t fill = 0;    // value of rows that were not written
};

class Hdf5Group : public Hdf5Object {
 public:
  Hdf5Group create_group(const std::string& name);
  Hdf5Group group(const std::string& name) const;
  Hdf5Dataset dataset(const std::string& name) const;
  bool has(const std::string& name) const;
  bool is_group(const std::string& name) const;
  std::vector<std::string> names() const;  // of the links in this group, ascending

  // `name` may hold slashes: the groups in between are made. The product of the shape is the number
  // of values; an empty shape is a scalar.
  template <typename T>
  Hdf5Dataset write(const std::string& name, std::span<const std::int64_t> shape,
                    std::span<const T> values) {
    return write_array(name, hdf5_type_of<T>(), shape, values.data(), values.size());
  }
  // Of one axis.
  template <typename T>
  Hdf5Dataset write(const std::string& name, std::span<const T> values) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
    return write<T>(name, shape, values);
  }
  void write_string(const std::string& name, std::string_view text);
  void write_strings(const std::string& name, std::span<const std::string> texts);  // [n]

  Hdf5Dataset create_column(const std::string& name, const Hdf5Column& column);

 private:
  friend class Hdf5File;
  using Hdf5Object::Hdf5Object;
  Hdf5Dataset write_array(const std::string& name, Hdf5Type type,
                          std::span<const std::int64_t> shape, const void* values,
                          std::size_t count);
};

class Hdf5File {
 public:
  // In memory only, never on disk; image() gives its bytes. `name` appears in messages.
  static Hdf5File create_in_memory(const std::string& name);
  // The bytes are copied.
  static Hdf5File open_image(std::span<const std::byte> image, const std::string& name);
  // In the newest format, which SWMR needs; an existing file is replaced. With `lock` false HDF5
  // does not lock the file.
  static Hdf5File create_for_swmr(const std::string& path, bool lock);
  // Of a closed file by create_for_swmr, all of whose groups, datasets and attributes exist:
  // HDF5 forbids making any while SWMR is on, and reports success when one does. With `lock` false
  // HDF5 does not lock the file.
  static Hdf5File open_swmr_write(const std::string& path, bool lock);
  // Of a file that may be being written, or whose writer was killed.
  static Hdf5File open_swmr_read(const std::string& path);

  Hdf5Group root() const;
  const std::string& name() const { return name_; }
  std::vector<std::byte> image();
  // For a file on disk that HDF5 failed to write: it stays as it is now. Without this, closing
  // would write anew what can be written, for instance a superblock that promises more than the
  // file holds. Only for destroying the object and those of its datasets.
  void abandon() noexcept;
  // Throws, unlike the destructor, when something could not be written. Close its objects before.
  void close();

 private:
  using Handle = Hdf5Handle<&internal::close_hdf5_file>;
  Hdf5File(internal::Hdf5Id id, std::string name) : handle_(id), name_(std::move(name)) {}
  Handle handle_;
  std::string name_;
};

// "1.10.8"
std::string hdf5_library_version();

}  // namespace doppler

#endif  // DOPPLER_LEARNER_HDF5_FILE_H_
