#include "runtime/sdk/value_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/sdk/errors.hpp"

namespace orrery::sdk {
namespace {

struct Text {
  std::string text;
  std::vector<ByteView> buffers;
};

Text written(const Value& value) {
  Text out;
  write_value(value, "value", out.text, out.buffers);
  return out;
}

std::string why_not(std::string_view text) {
  std::string why;
  return read_header(text, why) ? "" : why;
}

std::string nested(int levels) {
  return R"({"args":)" + std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']') + "}";
}

TEST(ValueText, BuffersStandBesideTheText) {
  const Value value = {{"a", Value::binary({1, 2})}, {"b", {1, Value::binary({3})}}};
  const Text out = written(value);
  EXPECT_EQ(out.text, R"({"a":{"$buffer":0},"b":[1,{"$buffer":1}]})");
  ASSERT_EQ(out.buffers.size(), 2U);
  EXPECT_EQ(out.buffers[0].data(), value["a"].get_binary().data()) << "not copied";
  EXPECT_EQ(out.buffers[1].size(), 1U);
}

TEST(ValueText, WhatWasWrittenIsReadAgain) {
  const Value value = {{"text", "ä \" \n"},
                       {"least", std::numeric_limits<std::int64_t>::min()},
                       {"most", std::numeric_limits<std::uint64_t>::max()},
                       {"real", 0.1},
                       {"whole real", 2.0},
                       {"none", nullptr},
                       {"list", {true, false, Value::array(), Value::object()}},
                       {"bytes", Value::binary({9, 8, 7})}};
  std::string why;
  std::optional<Value> read = read_header(written(value).text, why);
  ASSERT_TRUE(read) << why;
  std::vector<std::vector<std::uint8_t>> buffers{{9, 8, 7}};
  std::vector<bool> placed(1);
  ASSERT_TRUE(place_buffers(*read, buffers, placed, why)) << why;
  EXPECT_EQ(*read, value);
  EXPECT_TRUE((*read)["whole real"].is_number_float());
}

TEST(ValueText, WhatDoesNotTravelIsRefused) {
  EXPECT_THROW(written({{"$a", 1}}), BadArguments);
  EXPECT_THROW(written(std::numeric_limits<double>::quiet_NaN()), BadArguments);
  EXPECT_THROW(written({std::numeric_limits<double>::infinity()}), BadArguments);
  EXPECT_THROW(written("\xff"), BadArguments);
  EXPECT_THROW(written({{"\xff", 1}}), BadArguments);
  Value deep;
  for (int i = 0; i <= kDepthMax; ++i) deep = Value::array({deep});
  EXPECT_THROW(written(deep), BadArguments);
}

TEST(ValueText, HeadersThatBreakRulesAreRefusedWithTheReason) {
  EXPECT_EQ(why_not(R"({"t":"call"})"), "");
  EXPECT_NE(why_not("[]"), "");
  EXPECT_NE(why_not(""), "");
  EXPECT_NE(why_not("{} "), " ");
  EXPECT_NE(why_not("{}x").find("no JSON"), std::string::npos);
  EXPECT_NE(why_not(R"({"a":18446744073709551616})").find("64 bits"), std::string::npos);
  EXPECT_NE(why_not(R"({"a":-9223372036854775809})").find("64 bits"), std::string::npos);
  EXPECT_NE(why_not(R"({"a":1e999})"), "");
  EXPECT_NE(why_not(R"({"a":NaN})"), "");
  EXPECT_NE(why_not("{\"a\":\"\xff\"}"), "");
  EXPECT_NE(why_not(R"({"a":1,"a":2})").find("twice"), std::string::npos);
  EXPECT_EQ(why_not(nested(kDepthMax)), "");
  EXPECT_NE(why_not(nested(500'000)).find("levels"), std::string::npos);
}

TEST(ValueText, BuffersAreNamedOnceAndExist) {
  const auto place = [](const char* text, std::size_t count) {
    std::string why;
    Value value = Value::parse(text);
    std::vector<std::vector<std::uint8_t>> buffers(count);
    std::vector<bool> placed(count);
    return place_buffers(value, buffers, placed, why) ? "" : why;
  };
  EXPECT_EQ(place(R"([{"$buffer":1},{"$buffer":0}])", 2), "");
  EXPECT_EQ(place(R"([])", 2), "");
  EXPECT_NE(place(R"([{"$buffer":1}])", 1), "");
  EXPECT_NE(place(R"([{"$buffer":-1}])", 1), "");
  EXPECT_NE(place(R"([{"$buffer":0.0}])", 1), "");
  EXPECT_NE(place(R"([{"$buffer":0,"a":1}])", 1), "");
  EXPECT_NE(place(R"([{"$buffer":0},{"$buffer":0}])", 1), "");
  EXPECT_NE(place(R"([{"$other":0}])", 1), "");
}

}  // namespace
}  // namespace orrery::sdk
