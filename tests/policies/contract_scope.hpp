// What each policy of the registry promises beside what all do.
#pragma once

#include <string_view>

#include "tests/policies/contract.hpp"

namespace orrery {

/// Policies have one thread, and under the thread sanitizer, which finds nothing there, all their
/// histories take most of an hour.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kFewHistories = true;
#else
inline constexpr bool kFewHistories = false;
#endif

// These size one role as their sources do, and leave quotas to the allocator. Pollux sizes one role
// and lets the others start; it leaves it to the allocator where two jobs of one quota grow at
// once.
inline testing::ContractScope scope_of(std::string_view name) {
  const bool narrow = name == "tiresias" || name == "optimus" || name == "shockwave" ||
                      name == "sia" || name == "themis" || name == "gandiva" || name == "allox" ||
                      name.starts_with("gavel_");
  return {.several_roles = !narrow, .quotas = !narrow && name != "pollux"};
}

}  // namespace orrery
