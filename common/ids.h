// Strong ids. An operation is never confused with a device or with a position in a list.
//
// An id is a dense index starting at 0. `IdVector<OperationId, T>` can be indexed by nothing else.
#ifndef DOPPLER_COMMON_IDS_H_
#define DOPPLER_COMMON_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

namespace doppler {

template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::int32_t value) : value_(value) {}
  constexpr std::int32_t value() const { return value_; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }
  constexpr auto operator<=>(const Id&) const = default;
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << id.value_; }

 private:
  std::int32_t value_ = -1;  // -1: no id
};

using OperationId = Id<struct OperationTag>;
using DeviceId = Id<struct DeviceTag>;
using EdgeId = Id<struct EdgeTag>;    // position in Graph::edges(), i.e. in edge order
using GroupId = Id<struct GroupTag>;  // the unsharded operation that a shard belongs to
using LinkId = Id<struct LinkTag>;    // a directed link of a topology

template <typename IdType, typename T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t count, const T& value = T()) : values_(count, value) {}
  explicit IdVector(std::vector<T> values) : values_(std::move(values)) {}

  T& operator[](IdType id) { return values_[id.index()]; }
  const T& operator[](IdType id) const { return values_[id.index()]; }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  void assign(std::size_t count, const T& value) { values_.assign(count, value); }
  void push_back(const T& value) { values_.push_back(value); }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  const std::vector<T>& raw() const { return values_; }
  std::vector<T>& raw() { return values_; }
  bool operator==(const IdVector&) const = default;

 private:
  std::vector<T> values_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_IDS_H_
