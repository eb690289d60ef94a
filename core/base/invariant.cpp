#include "core/base/invariant.hpp"

#include <cstdio>
#include <cstdlib>

namespace orrery {
namespace {

// The one piece of process-wide state in the core: where the last words go before the program ends.
InvariantHandler handler_in_use = nullptr;

}  // namespace

void set_invariant_handler(InvariantHandler handler) { handler_in_use = handler; }

void invariant_broken(std::string_view what, const char* file, int line) {
  if (handler_in_use != nullptr) handler_in_use(what, file, line);
  std::fprintf(stderr,
               "%s:%d: invariant broken: %.*s\n",
               file,
               line,
               static_cast<int>(what.size()),
               what.data());
  std::fflush(stderr);
  std::_Exit(3);
}

}  // namespace orrery
