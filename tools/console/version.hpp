// Which Orrery a program is: its number, and the revision of git that it was built from.
#pragma once

#include <string_view>

namespace orrery::cli {

struct Version {
  std::string_view number;    ///< "0.1.0"; equal in all programs of a release.
  std::string_view revision;  ///< 12 digits of the commit; "unknown" where built outside git.
  bool modified = false;      ///< Files that git tracks differed from the commit.
};

/// Of the program that runs.
Version this_version();

}  // namespace orrery::cli
