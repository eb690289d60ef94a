// An array that grows without moving what it has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/huge_pages.hpp"

namespace orrery {

/// Elements by index in pages of 64, so that references stay good as it grows and an
/// element is found without a look at a list as long as the array. Copies are deep.
///
/// Pages lie in blocks, each as large as all before it up to 16 MiB, and large ones in huge pages.
template <class T>
class PagedArray {
 public:
  PagedArray() = default;

  PagedArray(const PagedArray& other) { *this = other; }

  PagedArray(PagedArray&& other) noexcept { *this = std::move(other); }

  PagedArray& operator=(const PagedArray& other) {
    if (this == &other) return *this;
    clear();
    for (std::size_t i = 0; i < other.size_; ++i) emplace_back() = other[i];
    return *this;
  }

  PagedArray& operator=(PagedArray&& other) noexcept {
    if (this == &other) return *this;
    clear();
    std::swap(blocks_, other.blocks_);
    std::swap(pages_, other.pages_);
    std::swap(size_, other.size_);
    return *this;
  }

  ~PagedArray() { clear(); }

  std::size_t size() const { return size_; }

  T& operator[](std::size_t i) { return pages_[i / kPage][i % kPage]; }

  const T& operator[](std::size_t i) const { return pages_[i / kPage][i % kPage]; }

  T& back() { return (*this)[size_ - 1]; }

  /// Goes over constant elements in order; any change of the size ends it.
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;

    const T& operator*() const { return (*array_)[index_]; }

    const T* operator->() const { return &**this; }

    Iterator& operator++() {
      ++index_;
      return *this;
    }

    Iterator operator++(int) {
      const Iterator here = *this;
      ++index_;
      return here;
    }

    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    friend class PagedArray;

    Iterator(const PagedArray& array, std::size_t index) : array_(&array), index_(index) {}

    const PagedArray* array_ = nullptr;
    std::size_t index_ = 0;
  };

  Iterator begin() const { return {*this, 0}; }

  Iterator end() const { return {*this, size_}; }

  T& emplace_back() {
    if (size_ == pages_.size() * kPage) add_block();
    T* const made = std::construct_at(&(*this)[size_]);
    ++size_;
    return *made;
  }

 private:
  static constexpr std::size_t kPage = 64;
  static constexpr std::size_t kPagesMax =
      std::max<std::size_t>(1, (std::size_t{16} << 20) / (kPage * sizeof(T)));  // A block.

  struct Block {
    T* elements;
    std::size_t room;
  };

  void add_block() {
    const std::size_t pages = std::clamp<std::size_t>(pages_.size(), 1, kPagesMax);
    T* const elements = HugePageAllocator<T>().allocate(pages * kPage);
    blocks_.push_back({elements, pages * kPage});
    for (std::size_t page = 0; page < pages; ++page) pages_.push_back(elements + page * kPage);
  }

  void clear() {
    for (std::size_t i = 0; i < size_; ++i) std::destroy_at(&(*this)[i]);
    for (const Block& block : blocks_)
      HugePageAllocator<T>().deallocate(block.elements, block.room);
    blocks_.clear();
    pages_.clear();
    size_ = 0;
  }

  std::vector<Block> blocks_;
  std::vector<T*> pages_;  ///< In the blocks; none is ever moved.
  std::size_t size_ = 0;
};

}  // namespace orrery
