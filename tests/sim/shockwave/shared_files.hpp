// The trace and the results of the Shockwave artifact, where they lie beside the project.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace orrery::tests {

inline std::filesystem::path shockwave_folder() {
  return std::filesystem::path(ORRERY_SOURCE_ROOT) / "../shared/traces/gavel/shockwave_tacc32";
}

/// The whole file.
inline std::string shockwave_file(const std::string& name) {
  std::ifstream in(shockwave_folder() / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace orrery::tests

/// Leaves the test where the data is absent.
#define SKIP_WITHOUT_SHOCKWAVE()                                       \
  if (!std::filesystem::exists(::orrery::tests::shockwave_folder())) { \
    GTEST_SKIP() << "the traces are not at ../shared/traces";          \
  }                                                                    \
  static_assert(true)
