// A heap in huge pages, for a process that fills much of it once.
#pragma once

#include <cstddef>

namespace orrery::runtime {

/// From now on `malloc` gives no memory back to the system, and the next `bytes` that the heap
/// grows by lie in huge pages, as far as the system has them and they are touched: a process that
/// lives for a fraction of a second else spends a third of it on the first touch of each small
/// page. Nothing else changes where the system refuses, or `malloc` is another library's; limits on
/// the address space hold as before. To be called by the only thread.
void use_huge_heap(std::size_t bytes);

}  // namespace orrery::runtime
