// What became of many scenarios as JUnit's XML, which CI systems read: GitHub, GitLab, Jenkins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::cli {

enum class CaseResult : std::uint8_t {
  Passed,
  Failed,  ///< It ran, and not as expected.
  Broken,  ///< It could not run, or the program has a fault.
};

/// One scenario.
struct TestCase {
  std::string file;  ///< The path as it was named; its folder is the suite.
  CaseResult result = CaseResult::Passed;
  std::string kind;                   ///< What went wrong, in a word or two; empty where passed.
  std::vector<std::string> findings;  ///< In words, a line each; may be empty.
  std::vector<std::pair<std::string, std::string>> properties;  ///< Name and value.
  double wall_s = 0;                                            ///< How long it took.
};

/// A document: a suite for each folder, in the order in which the folders first come, with a case
/// for each file below. `at_utc` is when the tests began, as `2024-05-01T12:00:00`. Whatever bytes
/// the texts hold, the document is well-formed: what XML 1.0 has no place for, and bytes that are
/// no UTF-8, become U+FFFD.
std::string junit_xml(const std::vector<TestCase>& cases, std::string_view at_utc);

}  // namespace orrery::cli
