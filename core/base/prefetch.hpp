// Memory that is needed soon is asked for while there is something else to do.
#pragma once

#include <cstddef>

namespace orrery {

/// Begins to load an object into the processor's cache; changes nothing. Worth it only for what is
/// surely read within a microsecond or so and was not for a long time: a simulation visits its jobs
/// in the order of time, each after a million others.
template <class T>
void prefetch(const T* object) {
  constexpr std::size_t kLine = 64;
  const char* bytes = reinterpret_cast<const char*>(object);
  for (std::size_t i = 0; i < sizeof(T); i += kLine) {
    __builtin_prefetch(bytes + i);
    // To GCC a prefetch is no effect: without one it drops the loop, and calls of functions that do
    // nothing else.
    __asm__ volatile("");
  }
  __builtin_prefetch(bytes + sizeof(T) - 1);
}

}  // namespace orrery
