// How jemalloc, which the programs of the simulators are linked with, keeps memory.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "core/base/huge_pages.hpp"

extern "C" {

/// Read by jemalloc when the program begins. A simulation has one thread, so one arena does; what
/// is free is given back to the system after a fiftieth of a second, which holds the peak down
/// (docs/performance.md). Pieces of up to 256 KB are kept for the next that wants one: what a
/// policy takes for each of its decisions was given back to the system and asked for anew.
extern const char* malloc_conf;
const char* malloc_conf = "narenas:1,dirty_decay_ms:20,muzzy_decay_ms:0,lg_tcache_max:18";
}

/// Replaces the library's. What is aligned to a huge page is put into huge pages, as far as the
/// system has them and it is touched; jemalloc's `operator delete` takes it back.
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  if (::posix_memalign(
          &memory, std::max(static_cast<std::size_t>(alignment), sizeof(void*)), bytes) != 0)
    throw std::bad_alloc();
  if (static_cast<std::size_t>(alignment) >= orrery::kHugePage)
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // Advice: nothing is lost where it is refused.
  return memory;
}
