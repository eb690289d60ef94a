// The inputs that fuzzing begins with, and those that once failed, given to each fuzz target as it
// is compiled by every build: so targets keep compiling, and what was mended stays so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/text_of_file.hpp"

// The build defines ORRERY_FUZZ_TARGETS as X(NAME) of each target.
#define X(name) extern "C" int orrery_fuzz_##name(const std::uint8_t* data, std::size_t size);
ORRERY_FUZZ_TARGETS
#undef X

namespace orrery {
namespace {

struct FuzzTarget {
  std::string name;
  int (*give)(const std::uint8_t* data, std::size_t size);

  friend void PrintTo(const FuzzTarget& target, std::ostream* out) { *out << target.name; }
};

#define X(name) FuzzTarget{#name, orrery_fuzz_##name},
const std::vector<FuzzTarget> kTargets{ORRERY_FUZZ_TARGETS};
#undef X

/// The files of the folders that `tools/soak` gives the target to begin with.
std::vector<std::filesystem::path> seeds_of(const std::string& target) {
  std::vector<std::filesystem::path> out;
  for (const std::string_view parent : {"/tests/system/fuzz/seeds/", "/tests/system/bad_input/"}) {
    const std::filesystem::path folder = std::string(ORRERY_SOURCE_ROOT).append(parent) + target;
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

class FuzzSeeds : public testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzSeeds, AreReadOrRefused) {
  constexpr std::size_t kPrefixes = 8;
  const std::vector<std::filesystem::path> seeds = seeds_of(GetParam().name);
  EXPECT_FALSE(seeds.empty()) << "seeds/" << GetParam().name << " has something to begin with";
  for (const std::filesystem::path& seed : seeds) {
    // A target ends the process where what it checks does not hold.
    std::cerr << "fuzz_" << GetParam().name << ": " << seed.string() << '\n';
    const std::string text = text_of_file(seed);
    for (std::size_t part = 1; part <= kPrefixes; ++part) {
      // A copy of just this size, so that a sanitizer sees what is read beyond it.
      const std::vector<std::uint8_t> bytes(
          text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.size() * part / kPrefixes));
      EXPECT_EQ(GetParam().give(bytes.data(), bytes.size()), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzSeeds, testing::ValuesIn(kTargets), [](const auto& each) {
  return each.param.name;
});

}  // namespace
}  // namespace orrery
