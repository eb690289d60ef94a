// Things that come and go, by numbers that are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::sim {

/// The slot that was given back last is taken first. References hold until the next `take`.
template <class T>
class Slots {
 public:
  /// A slot; one that was given back holds what it held then.
  std::uint32_t take() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  void give_back(std::uint32_t slot) { free_.push_back(slot); }

  T& operator[](std::uint32_t slot) { return slots_[slot]; }

  const T& operator[](std::uint32_t slot) const { return slots_[slot]; }

  /// One past the highest slot that was ever taken.
  std::size_t size() const { return slots_.size(); }

 private:
  std::vector<T> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace orrery::sim
