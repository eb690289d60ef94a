#include "core/base/json_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "core/base/random.hpp"

namespace orrery {
namespace {

std::string string_as_json(std::string_view text) {
  JsonText json;
  json.value(text);
  return json.take();
}

TEST(JsonText, FieldsKeepTheOrderOfTheCalls) {
  JsonText json;
  json.begin_object().field("b", 1).field("a", -2).key("list").begin_array();
  json.value(true).value("x").null().value(2.5).begin_object().end_object().end_array();
  json.key("empty").begin_array().end_array().end_object();
  EXPECT_EQ(json.take(), R"({"b":1,"a":-2,"list":[true,"x",null,2.5,{}],"empty":[]})");
  EXPECT_EQ(json.text(), "");
}

TEST(JsonText, IndentedLayoutIsForPeople) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("a", 1).key("b").begin_array().value(2).end_array();
  json.key("c").begin_object().end_object().end_object();
  EXPECT_EQ(json.text(), "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ],\n  \"c\": {}\n}");
}

TEST(JsonText, StringsAreEscaped) {
  using namespace std::string_literals;
  EXPECT_EQ(string_as_json("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(string_as_json("\n\t\r\x01\0"s), R"("\n\t\r\u0001\u0000")");
  EXPECT_EQ(string_as_json("M\xc3\xbcnchen \xf0\x9f\x9a\x80"),
            "\"M\xc3\xbcnchen \xf0\x9f\x9a\x80\"");
}

TEST(JsonText, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(string_as_json("a\xff"
                           "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(string_as_json("\xc3"), "\"\xef\xbf\xbd\"") << "cut";
  EXPECT_EQ(string_as_json("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"") << "overlong";
  EXPECT_EQ(string_as_json("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"")
      << "surrogate";
}

TEST(JsonText, NumbersAreShortestAndReadBack) {
  JsonText json;
  json.begin_array().value(0.1).value(1e300).value(3.0).value(-0.0);
  json.value(std::numeric_limits<std::uint64_t>::max());
  json.value(std::numeric_limits<std::int64_t>::min());
  json.value(std::numeric_limits<double>::infinity()).end_array();
  EXPECT_EQ(json.text(), "[0.1,1e+300,3,-0,18446744073709551615,-9223372036854775808,null]");
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const double number = random.lognormal(0.0, 50.0);
    JsonText one;
    one.value(number);
    ASSERT_EQ(std::strtod(one.text().c_str(), nullptr), number) << "seed 1";
  }
}

}  // namespace
}  // namespace orrery
