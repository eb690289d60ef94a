// An array of which few elements are ever looked at.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace orrery {

/// Elements by index, in pages of `kPage` that come with the first look at one of their elements:
/// empty up to a high index it costs little more than nothing. References stay good until `clear`.
template <class T, std::size_t kPage = 16>
class SparseArray {
 public:
  /// The element; one that was never looked at is made as `T{}`, and with it its page.
  T& operator[](std::size_t i) {
    if (i / kPage >= pages_.size()) pages_.resize(i / kPage + 1);
    std::unique_ptr<Page>& page = pages_[i / kPage];
    if (page == nullptr) page = std::make_unique<Page>();
    return (*page)[i % kPage];
  }

  /// The element; null where its page was never looked at.
  T* find(std::size_t i) {
    if (i / kPage >= pages_.size() || pages_[i / kPage] == nullptr) return nullptr;
    return &(*pages_[i / kPage])[i % kPage];
  }

  const T* find(std::size_t i) const { return const_cast<SparseArray*>(this)->find(i); }

  /// Forgets all elements.
  void clear() { pages_.clear(); }

 private:
  using Page = std::array<T, kPage>;

  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace orrery
