// Where the Pollux artifact's data lies beside the project, and its profiles.
#pragma once

#include <filesystem>

#include "sim/pollux/profiles.hpp"

namespace orrery::tests {

/// The artifact's data; a test skips itself where the folder is absent.
inline std::filesystem::path artifact_folder() {
  return std::filesystem::path(ORRERY_SOURCE_ROOT) / ".." / "shared" / "traces" / "pollux";
}

/// All profiles, read once.
inline const PolluxProfiles& artifact_profiles() {
  static const Result<PolluxProfiles> profiles =
      sim::read_pollux_profiles(artifact_folder() / "profiles");
  return profiles.value();
}

}  // namespace orrery::tests

/// Leaves the test where the data is absent.
#define SKIP_WITHOUT_ARTIFACT()                                       \
  if (!std::filesystem::exists(::orrery::tests::artifact_folder())) { \
    GTEST_SKIP() << "the Pollux artifact is not beside the project";  \
  }                                                                   \
  static_assert(true)
