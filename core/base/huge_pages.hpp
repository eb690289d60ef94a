// Memory for large arrays that are read in no order.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace orrery {

/// Bytes of a huge page. A processor finds all of them by one entry of its address table, where an
/// ordinary page has 4 KiB.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// The allocator of a container that may become larger than the processor's caches and is read in
/// no order, where nearly each access would else walk the system's page table. What is as large as
/// a huge page or larger is aligned to one: by that a program's `operator new` knows what to put
/// into huge pages (tools/orrery/allocator.cpp). Where none does, this is as any other allocator.
template <class T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;

  template <class U>
  explicit(false) HugePageAllocator(const HugePageAllocator<U>&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), alignment(count)));
  }

  void deallocate(T* memory, std::size_t count) { ::operator delete(memory, alignment(count)); }

  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }

 private:
  static std::align_val_t alignment(std::size_t count) {
    return std::align_val_t{count * sizeof(T) < kHugePage ? alignof(T) : kHugePage};
  }
};

template <class T>
using LargeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace orrery
