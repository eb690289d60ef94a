#include "tools/orrery/junit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

using testing::HasSubstr;

constexpr std::string_view kAt = "2024-05-01T12:00:00";

std::string of_file(const std::string& file) { return junit_xml({{.file = file}}, kAt); }

TEST(Junit, ADocumentHasASuiteForEachFolderAndACaseForEachFile) {
  const TestCase good{
      .file = "suite/good.yaml", .properties = {{"seed", "7"}, {"world", "model"}}, .wall_s = 0.25};
  const TestCase unmet{.file = "suite/unmet.yaml",
                       .result = CaseResult::Failed,
                       .kind = "unmet expectation",
                       .findings = {"first", "second"},
                       .wall_s = 1.5};
  const TestCase broken{.file = "alone.yaml",
                        .result = CaseResult::Broken,
                        .kind = "bad input",
                        .findings = {"a finding"}};
  EXPECT_EQ(
      junit_xml({good, broken, unmet}, kAt),
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"orrery test\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\" "
      "time=\"1.750\">\n"
      "  <testsuite name=\"suite\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" "
      "time=\"1.750\" timestamp=\"2024-05-01T12:00:00\">\n"
      "    <testcase name=\"suite/good.yaml\" classname=\"suite\" file=\"suite/good.yaml\" "
      "time=\"0.250\">\n"
      "      <properties>\n"
      "        <property name=\"seed\" value=\"7\"/>\n"
      "        <property name=\"world\" value=\"model\"/>\n"
      "      </properties>\n"
      "    </testcase>\n"
      "    <testcase name=\"suite/unmet.yaml\" classname=\"suite\" file=\"suite/unmet.yaml\" "
      "time=\"1.500\">\n"
      "      <failure message=\"first (and 1 more)\" type=\"unmet expectation\">first\n"
      "second</failure>\n"
      "    </testcase>\n"
      "  </testsuite>\n"
      "  <testsuite name=\".\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" "
      "time=\"0.000\" timestamp=\"2024-05-01T12:00:00\">\n"
      "    <testcase name=\"alone.yaml\" classname=\".\" file=\"alone.yaml\" time=\"0.000\">\n"
      "      <error message=\"a finding\" type=\"bad input\">a finding</error>\n"
      "    </testcase>\n"
      "  </testsuite>\n"
      "</testsuites>\n");
}

TEST(Junit, WhatXmlReadsOtherwiseIsEscaped) {
  EXPECT_THAT(of_file("a<b>&\"c\"'.yaml"),
              HasSubstr("name=\"a&lt;b&gt;&amp;&quot;c&quot;'.yaml\""));
  EXPECT_THAT(of_file("a\tb\nc\rd"), HasSubstr("name=\"a&#9;b&#10;c&#13;d\""));
  const TestCase failed{
      .file = "f", .result = CaseResult::Failed, .kind = "k", .findings = {"a\tb\r]]>"}};
  EXPECT_THAT(junit_xml({failed}, kAt), HasSubstr(">a\tb&#13;]]&gt;</failure>"));
}

TEST(Junit, WhatXmlHasNoPlaceForBecomesOneMark) {
  const std::string mark = "\xef\xbf\xbd";
  for (const std::string& bytes : {std::string(1, '\0'),
                                   std::string("\x01"),
                                   std::string("\x1b"),
                                   std::string("\xff"),
                                   std::string("\x80"),
                                   std::string("\xef\xbf\xbe"),
                                   std::string("\xef\xbf\xbf")})
    EXPECT_THAT(of_file("a" + bytes + "b"), HasSubstr("name=\"a" + mark + "b\""));
  EXPECT_THAT(of_file("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xad\x7f"),
              HasSubstr("name=\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xad\x7f\""));
}

TEST(Junit, NoCasesAreADocumentToo) {
  EXPECT_THAT(junit_xml({}, kAt), HasSubstr("tests=\"0\" failures=\"0\" errors=\"0\""));
}

}  // namespace
}  // namespace orrery::cli
