#include "tools/console/version.hpp"

// Written by tools/cmake/revision.cmake. No other file includes it: a commit compiles this one
// anew.
#include "tools/console/revision.hpp"

namespace orrery::cli {

Version this_version() {
  return {.number = ORRERY_VERSION, .revision = kRevision, .modified = kModified};
}

}  // namespace orrery::cli
