// The inputs that fuzzing begins with, and those that once failed, given to each fuzz target as it
// is compiled by every build: so targets keep compiling, and what was mended stays so. The same
// with parts exchanged, as fuzzing does, by a seed that is printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/long_form.hpp"
#include "tests/support/text_of_file.hpp"
#include "tests/system/fuzz/text_mutator.hpp"

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
  const std::size_t prefixes = tests::count_of(3, 8);
  const std::vector<std::filesystem::path> seeds = seeds_of(GetParam().name);
  EXPECT_FALSE(seeds.empty()) << "seeds/" << GetParam().name << " has something to begin with";
  for (const std::filesystem::path& seed : seeds) {
    // A target ends the process where what it checks does not hold.
    std::cerr << "fuzz_" << GetParam().name << ": " << seed.string() << '\n';
    const std::string text = text_of_file(seed);
    for (std::size_t part = 1; part <= prefixes; ++part) {
      // A copy of just this size, so that a sanitizer sees what is read beyond it.
      const std::vector<std::uint8_t> bytes(
          text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.size() * part / prefixes));
      EXPECT_EQ(GetParam().give(bytes.data(), bytes.size()), 0);
    }
  }
}

TEST_P(FuzzSeeds, AreReadOrRefusedWithOtherParts) {
  const std::uint64_t each = tests::count_of(2, 6);
  constexpr std::size_t kBytesMax = 4096;
  tests::TextMutator mutator;
  const std::vector<std::filesystem::path> seeds = seeds_of(GetParam().name);
  for (const std::filesystem::path& seed : seeds) mutator.learn(text_of_file(seed));
  for (const std::filesystem::path& path : seeds) {
    std::string text = text_of_file(path).substr(0, kBytesMax);
    for (std::uint64_t seed = 1; seed <= each; ++seed) {
      std::cerr << "fuzz_" << GetParam().name << ": " << path.string() << ", seed " << seed << '\n';
      text = mutator.mutated(text, kBytesMax, seed);
      ASSERT_LE(text.size(), kBytesMax);
      const std::vector<std::uint8_t> bytes(text.begin(), text.end());
      EXPECT_EQ(GetParam().give(bytes.data(), bytes.size()), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzSeeds, testing::ValuesIn(kTargets), [](const auto& each) {
  return each.param.name;
});

std::vector<std::string> texts_of(std::string_view text) {
  std::vector<std::string> out;
  for (const tests::TextPart& part : tests::parts_of(text))
    out.push_back(part.parent + "/" + part.key + "=" +
                  std::string(text.substr(part.value, part.end - part.value)));
  return out;
}

TEST(FuzzParts, AreEntriesItemsAndWhatStandsInBrackets) {
  EXPECT_EQ(texts_of("a: 1\nb:\n  - c: 2\n    d: {e: 3, f: [4, 5]}\n"),
            (std::vector<std::string>{"/a=1\n",
                                      "/b=\n  - c: 2\n    d: {e: 3, f: [4, 5]}\n",
                                      "b/=c: 2\n    d: {e: 3, f: [4, 5]}\n",
                                      "b/c=2\n",
                                      "b/d={e: 3, f: [4, 5]}\n",
                                      "d/e=3",
                                      "f/=4",
                                      "f/=5",
                                      "d/f=[4, 5]"}));
}

TEST(FuzzParts, LieWithinAnyBytes) {
  constexpr std::uint64_t kTexts = 2'000;
  constexpr std::string_view kBytes = "ab:- \n\n{}[],\"'#\t1\x80";
  for (std::uint64_t seed = 1; seed <= kTexts; ++seed) {
    Random random(seed);
    std::string text;
    for (std::uint64_t left = random.below(60); left > 0; --left)
      text += kBytes[random.below(kBytes.size())];
    for (const tests::TextPart& part : tests::parts_of(text)) {
      ASSERT_LE(part.begin, part.value) << "seed " << seed << ": " << text;
      ASSERT_LE(part.value, part.end) << "seed " << seed << ": " << text;
      ASSERT_LE(part.end, text.size()) << "seed " << seed << ": " << text;
    }
  }
}

}  // namespace
}  // namespace orrery
