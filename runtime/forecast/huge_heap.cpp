#include "runtime/forecast/huge_heap.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "core/base/huge_pages.hpp"

namespace orrery::runtime {
namespace {

// A sanitizer's malloc keeps what was freed for a while, so that it would be no heap to grow into.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kHasHeap = true;
#else
constexpr bool kHasHeap = false;
#endif

}  // namespace

void use_huge_heap(std::size_t bytes) {
  if (!kHasHeap || bytes < kHugePage) return;
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) return;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t end = (begin + bytes) / kHugePage * kHugePage;
  // Advice: nothing is lost where it is refused.
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  std::free(memory);  // Its addresses stay, untouched, at the end of the heap.
}

}  // namespace orrery::runtime
