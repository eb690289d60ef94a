// Memory of large buffers, which is used again: the system gives fresh memory page by page, which
// takes longer than to receive what is put into it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/sdk/value.hpp"

namespace orrery::sdk::detail {

inline constexpr std::size_t kKeptBytesMax = std::size_t{256} << 20;  ///< In all, of a process.
inline constexpr std::chrono::seconds kKeptFor{5};

/// Memory of buffers that are done with. Any thread.
class BufferMemory {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit BufferMemory(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// The process's. It is never destroyed.
  static BufferMemory& instance();

  /// Bytes with a capacity of `size` or more, of any size and content. Of twice the size at most
  /// where it is used again, so that a small buffer does not hold a large one's memory.
  std::vector<std::uint8_t> take(std::size_t size);

  /// Keeps them where they are large, and lets go of what was given earliest where it gets too
  /// much.
  void give(std::vector<std::uint8_t> bytes, Time now);

  /// Lets go of what was given before `time`.
  void drop_older(Time time);

  /// Bytes that are kept.
  std::size_t kept() const;

 private:
  struct Kept {
    std::vector<std::uint8_t> bytes;
    Time given_at;
  };

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;  ///< In the order in which they were given.
  std::size_t size_ = 0;
};

/// Lets go of what was not used for `kKeptFor`, now and then while something is kept. I/O thread.
void watch_buffer_memory();

/// Gives the memory of all large buffers in `value`, which are empty then. Any thread.
void give_memory(Value& value);

/// A value whose large buffers are given once it is destroyed.
struct OwnedValue {
  explicit OwnedValue(Value from) : value(std::move(from)) {}

  OwnedValue(OwnedValue&&) = default;
  OwnedValue& operator=(OwnedValue&&) = default;
  OwnedValue(const OwnedValue&) = delete;
  OwnedValue& operator=(const OwnedValue&) = delete;

  ~OwnedValue() { give_memory(value); }

  Value value;
};

}  // namespace orrery::sdk::detail
