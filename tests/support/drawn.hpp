// The short form of a test of many files looks at some, drawn by the last commit's hash: other ones
// after each commit, the same ones in all processes of a run. The long form looks at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/long_form.hpp"

namespace orrery::tests {

/// The last commit's hash; 0 where there is none.
inline std::uint64_t drawing_seed() {
  static const std::uint64_t seed = [] {
    unsigned long long number = 0;
    if (FILE* git = popen("git rev-parse --short=15 HEAD 2>/dev/null", "r")) {
      if (std::fscanf(git, "%llx", &number) != 1) number = 0;
      pclose(git);
    }
    return number;
  }();
  return seed;
}

/// One of `every` of the files, in their order, and as many more as it takes for each kind of thing
/// that any of them holds.
template <class Kind>
std::vector<std::string> drawn(
    std::vector<std::string> files,
    std::size_t every,
    const std::function<std::vector<Kind>(const std::string&)>& kinds_in) {
  if (count_of(0, 1) == 1) return files;
  std::mt19937_64 random(drawing_seed());
  std::shuffle(files.begin(), files.end(), random);
  const std::size_t enough = (files.size() + every - 1) / every;
  std::set<Kind> seen;
  std::vector<std::string> out;
  std::vector<std::string> others;
  for (std::string& file : files) {
    bool is_new = false;
    for (const Kind& kind : kinds_in(file)) is_new = seen.insert(kind).second || is_new;
    (is_new ? out : others).push_back(std::move(file));
  }
  for (std::size_t i = 0; i < others.size() && out.size() < enough; ++i) out.push_back(others[i]);
  std::sort(out.begin(), out.end());
  std::printf("%zu of %zu files, drawn with seed %llx\n",
              out.size(),
              files.size(),
              static_cast<unsigned long long>(drawing_seed()));
  return out;
}

}  // namespace orrery::tests
