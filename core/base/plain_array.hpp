// A growing array of plain bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/base/huge_pages.hpp"

namespace orrery {

/// Elements that are plain bytes, one after the other, large ones in huge pages. As LargeVector,
/// whose copies go over the elements one by one; these are copied at once.
template <class T>
class PlainArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  PlainArray() = default;

  PlainArray(std::size_t size, const T& value) { resize(size, value); }

  PlainArray(const PlainArray& other) { *this = other; }

  PlainArray(PlainArray&& other) noexcept { swap(other); }

  PlainArray& operator=(const PlainArray& other) {
    if (this == &other) return *this;
    size_ = 0;
    reserve(other.size_);
    if (other.size_ > 0) std::memcpy(data_, other.data_, other.size_ * sizeof(T));
    size_ = other.size_;
    return *this;
  }

  PlainArray& operator=(PlainArray&& other) noexcept {
    swap(other);
    return *this;
  }

  ~PlainArray() { give_back(); }

  std::size_t size() const { return size_; }

  bool empty() const { return size_ == 0; }

  T& operator[](std::size_t i) { return data_[i]; }

  const T& operator[](std::size_t i) const { return data_[i]; }

  T* begin() { return data_; }

  T* end() { return data_ + size_; }

  const T* begin() const { return data_; }

  const T* end() const { return data_ + size_; }

  void push_back(T value) {
    if (size_ == room_) reserve(std::max(size_ + 1, room_ * 2));
    data_[size_++] = value;
  }

  /// Elements beyond the present size become `value`.
  void resize(std::size_t size, T value) {
    if (size > room_) reserve(std::max(size, room_ * 2));
    if (size > size_) std::fill(data_ + size_, data_ + size, value);
    size_ = size;
  }

  /// Makes the array `size` elements equal to `value`.
  void assign(std::size_t size, T value) {
    size_ = 0;
    resize(size, value);
  }

  /// Removes the first `count` elements; there are at least as many.
  void erase_front(std::size_t count) {
    size_ -= count;
    std::memmove(data_, data_ + count, size_ * sizeof(T));
  }

  /// Inserts `count` elements equal to `value` before the first.
  void insert_front(std::size_t count, T value) {
    const std::size_t before = size_;
    resize(before + count, value);
    std::memmove(data_ + count, data_, before * sizeof(T));
    std::fill(data_, data_ + count, value);
  }

 private:
  void swap(PlainArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
  }

  void give_back() {
    if (data_ != nullptr) HugePageAllocator<T>().deallocate(data_, room_);
  }

  void reserve(std::size_t room) {
    if (room <= room_) return;
    T* const larger = HugePageAllocator<T>().allocate(room);
    if (size_ > 0) std::memcpy(larger, data_, size_ * sizeof(T));
    give_back();
    data_ = larger;
    room_ = room;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

}  // namespace orrery
