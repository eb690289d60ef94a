// Always-on checks of what must hold. A broken one stops the program: continuing wrong is worse.
#pragma once

#include <string_view>

namespace orrery {

/// Called with the text of a broken invariant just before the program ends; must not return
/// normally to the caller's code path in tests that use it (they throw or longjmp out).
using InvariantHandler = void (*)(std::string_view what, const char* file, int line);

/// Replaces the handler (default: prints to standard error and exits with code 3). Not for `core`.
void set_invariant_handler(InvariantHandler handler);

/// Reports a broken invariant and ends the program with exit code 3.
[[noreturn]] void invariant_broken(std::string_view what, const char* file, int line);

}  // namespace orrery

/// Checks `condition` in every build; `what` says in words what should have held.
#define invariant(condition, what) \
  (static_cast<bool>(condition) ? void(0) : ::orrery::invariant_broken((what), __FILE__, __LINE__))
