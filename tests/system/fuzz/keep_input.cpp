// Linked into each fuzz target: a broken invariant ends it by a signal, at which libFuzzer writes
// the input down. By itself it would exit, and the input would be lost.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/base/invariant.hpp"

namespace {

void keep_input(std::string_view what, const char* file, int line) {
  std::fprintf(stderr,
               "%s:%d: invariant broken: %.*s\n",
               file,
               line,
               static_cast<int>(what.size()),
               what.data());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  orrery::set_invariant_handler(keep_input);
  return 0;
}
