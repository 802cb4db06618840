// A heap of timers keyed by (time, sequence number of their setting), so that simultaneous timers
// come out in the order in which they were set and never in an order that a container happened to
// choose.
#ifndef DOPPLER_SIM_TIMER_HEAP_H_
#define DOPPLER_SIM_TIMER_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace doppler {

// A 4-ary min-heap in one array: the four children of a node fill one cache line, and a key of 128
// bits compares in two instructions. Not thread-safe.
class TimerHeap {
 public:
  // The most timers that may be set at the same time; push() never allocates up to that.
  explicit TimerHeap(std::size_t capacity) : keys_(capacity + 1) {}

  void clear() {
    size_ = 0;
    sequence_ = 0;
  }
  bool empty() const { return size_ == 0; }
  // Of the earliest timer. Not for an empty heap.
  std::int64_t top_time() const { return static_cast<std::int64_t>(keys_[0] >> 64); }
  std::uint32_t top_sequence() const { return static_cast<std::uint32_t>(keys_[0] >> 32); }
  // A number for an event that is kept elsewhere, as if a timer were set now.
  std::uint32_t take_sequence() { return sequence_++; }

  // `time` must not be negative.
  void push(std::int64_t time, std::uint32_t payload) {
    const Key key = (static_cast<Key>(static_cast<std::uint64_t>(time)) << 64) |
                    (static_cast<Key>(sequence_++) << 32) | payload;
    std::size_t position = size_++;
    while (position > 0) {
      const std::size_t parent = (position - 1) / 4;
      if (keys_[parent] < key) break;
      keys_[position] = keys_[parent];
      position = parent;
    }
    keys_[position] = key;
  }

  // Removes the earliest timer and returns its payload. Not for an empty heap.
  std::uint32_t pop() {
    const auto payload = static_cast<std::uint32_t>(keys_[0]);
    const Key last = keys_[--size_];
    std::size_t position = 0;
    while (true) {
      const std::size_t first = position * 4 + 1;
      if (first >= size_) break;
      std::size_t smallest = first;
      if (first + 4 <= size_) {
        // Pairwise, so that the compiler can choose without branches.
        const std::size_t a = first + (keys_[first + 1] < keys_[first] ? 1 : 0);
        const std::size_t b = first + 2 + (keys_[first + 3] < keys_[first + 2] ? 1 : 0);
        smallest = keys_[b] < keys_[a] ? b : a;
      } else {
        for (std::size_t child = first + 1; child < size_; ++child) {
          if (keys_[child] < keys_[smallest]) smallest = child;
        }
      }
      if (last < keys_[smallest]) break;
      keys_[position] = keys_[smallest];
      position = smallest;
    }
    keys_[position] = last;
    return payload;
  }

 private:
  __extension__ using Key =
      unsigned __int128;  // time, sequence, payload from the highest bits down

  std::vector<Key> keys_;
  std::size_t size_ = 0;
  std::uint32_t sequence_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_TIMER_HEAP_H_
