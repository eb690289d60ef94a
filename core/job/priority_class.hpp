// Names that operators give to priorities of jobs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

/// Priorities of jobs are from -kPriorityMax to kPriorityMax.
inline constexpr std::int32_t kPriorityMax = 1'000'000;

/// What a job may write as its priority in place of a number. The core knows numbers alone.
struct PriorityClass {
  std::string name;
  std::int32_t priority = 0;  ///< Higher goes first.

  friend bool operator==(const PriorityClass&, const PriorityClass&) = default;
};

/// Whether a class may have this name: a letter, and up to 62 letters, digits, '-', '_' and '.'
/// behind it, so that no number is one.
bool is_priority_class_name(std::string_view name);

}  // namespace orrery
