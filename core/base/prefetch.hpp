// Memory that is needed soon is asked for while there is something else to do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery {

/// Begins to load an object into the processor's cache; changes nothing. Worth it only for what is
/// surely read within a microsecond or so and was not for a long time: a simulation visits its jobs
/// in the order of time, each after a million others.
template <class T>
void prefetch(const T* object) {
  constexpr std::size_t kLine = 64;
  // As a number: beyond null no pointer may point.
  const auto at = reinterpret_cast<std::uintptr_t>(object);
  for (std::size_t i = 0; i < sizeof(T); i += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(at + i));
    // To GCC a prefetch is no effect: without one it drops the loop, and calls of functions that do
    // nothing else.
    __asm__ volatile("");
  }
  __builtin_prefetch(reinterpret_cast<const void*>(at + sizeof(T) - 1));
}

}  // namespace orrery
