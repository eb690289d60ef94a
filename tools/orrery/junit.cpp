#include "tools/orrery/junit.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "core/base/utf8.hpp"

namespace orrery::cli {
namespace {

/// Where the characters stand that XML reads otherwise.
enum class XmlPlace : std::uint8_t { Attribute, Text };

/// What stands for an ASCII character; empty: itself.
std::string_view xml_of(char c, XmlPlace place) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\r':
      return "&#13;";
    case '\n':
      return place == XmlPlace::Attribute ? "&#10;" : "";  // Else read as a blank.
    case '\t':
      return place == XmlPlace::Attribute ? "&#9;" : "";
    default:
      return static_cast<unsigned char>(c) < 0x20 ? "\xef\xbf\xbd" : "";
  }
}

std::string xml(std::string_view text, XmlPlace place) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(character.size());
    const bool is_none = length == 0 || character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
    const std::string_view instead = is_none       ? "\xef\xbf\xbd"
                                     : length == 1 ? xml_of(character[0], place)
                                                   : std::string_view();
    out += instead.empty() ? character : instead;
  }
  return out;
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + xml(value, XmlPlace::Attribute) + "\"";
}

std::string seconds(double wall_s) {
  char digits[400];
  return {digits,
          std::to_chars(digits, digits + sizeof digits, wall_s, std::chars_format::fixed, 3).ptr};
}

/// The folder of a path, as it is named; "." where it names none.
std::string folder_of_case(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  if (slash == file.npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

/// The attributes that count cases.
std::string totals(const std::vector<const TestCase*>& cases) {
  const auto count = [&](CaseResult result) {
    return std::to_string(
        std::ranges::count(cases, result, [](const TestCase* each) { return each->result; }));
  };
  double wall_s = 0;
  for (const TestCase* each : cases) wall_s += each->wall_s;
  return attribute("tests", std::to_string(cases.size())) +
         attribute("failures", count(CaseResult::Failed)) +
         attribute("errors", count(CaseResult::Broken)) + attribute("skipped", "0") +
         attribute("time", seconds(wall_s));
}

void put_failure(const TestCase& test, std::string& out) {
  const std::string element = test.result == CaseResult::Failed ? "failure" : "error";
  std::string message = test.findings.empty() ? test.kind : test.findings.front();
  if (test.findings.size() > 1)
    message += " (and " + std::to_string(test.findings.size() - 1) + " more)";
  out += "      <" + element + attribute("message", message) + attribute("type", test.kind) + ">";
  for (std::size_t i = 0; i < test.findings.size(); ++i)
    out += (i > 0 ? "\n" : "") + xml(test.findings[i], XmlPlace::Text);
  out += "</" + element + ">\n";
}

void put_case(const TestCase& test, std::string& out) {
  out += "    <testcase" + attribute("name", test.file) +
         attribute("classname", folder_of_case(test.file)) + attribute("file", test.file) +
         attribute("time", seconds(test.wall_s)) + ">\n";
  if (!test.properties.empty()) {
    out += "      <properties>\n";
    for (const auto& [name, value] : test.properties)
      out += "        <property" + attribute("name", name) + attribute("value", value) + "/>\n";
    out += "      </properties>\n";
  }
  if (test.result != CaseResult::Passed) put_failure(test, out);
  out += "    </testcase>\n";
}

/// The cases of one folder.
struct TestSuite {
  std::string folder;
  std::vector<const TestCase*> cases;
};

std::vector<TestSuite> suites_of(const std::vector<TestCase>& cases) {
  std::vector<TestSuite> suites;
  for (const TestCase& each : cases) {
    const std::string folder = folder_of_case(each.file);
    auto suite = std::ranges::find(suites, folder, &TestSuite::folder);
    if (suite == suites.end()) suite = suites.insert(suites.end(), {folder, {}});
    suite->cases.push_back(&each);
  }
  return suites;
}

}  // namespace

std::string junit_xml(const std::vector<TestCase>& cases, std::string_view at_utc) {
  std::vector<const TestCase*> all;
  for (const TestCase& each : cases) all.push_back(&each);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                    attribute("name", "orrery test") + totals(all) + ">\n";
  for (const TestSuite& suite : suites_of(cases)) {
    out += "  <testsuite" + attribute("name", suite.folder) + totals(suite.cases) +
           attribute("timestamp", at_utc) + ">\n";
    for (const TestCase* each : suite.cases) put_case(*each, out);
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace orrery::cli
