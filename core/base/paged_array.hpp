// An array that grows without moving what it has.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace orrery {

/// Elements by index in pages of 64, so that references stay good as it grows and an
/// element is found without a look at a list as long as the array. Copies are deep.
template <class T>
class PagedArray {
 public:
  PagedArray() = default;

  PagedArray(const PagedArray& other) { *this = other; }

  PagedArray(PagedArray&& other) noexcept
      : pages_(std::move(other.pages_)), size_(std::exchange(other.size_, 0)) {}

  PagedArray& operator=(const PagedArray& other) {
    if (this == &other) return *this;
    pages_.clear();
    size_ = 0;
    for (std::size_t i = 0; i < other.size_; ++i) emplace_back() = other[i];
    return *this;
  }

  PagedArray& operator=(PagedArray&& other) noexcept {
    pages_ = std::move(other.pages_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  ~PagedArray() = default;

  std::size_t size() const { return size_; }

  T& operator[](std::size_t i) { return pages_[i / kPage][i % kPage]; }

  const T& operator[](std::size_t i) const { return pages_[i / kPage][i % kPage]; }

  T& emplace_back() {
    if (size_++ % kPage == 0) pages_.emplace_back().reserve(kPage);
    return pages_.back().emplace_back();
  }

 private:
  static constexpr std::size_t kPage = 64;

  std::vector<std::vector<T>> pages_;  ///< All but the last are full; none is ever moved.
  std::size_t size_ = 0;
};

}  // namespace orrery
