#include "core/base/number_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace orrery {
namespace {

TEST(NumberText, IsTheWholeTextOrNothing) {
  EXPECT_EQ(parsed_number<std::int32_t>("-17"), -17);
  EXPECT_EQ(parsed_number<double>("2.5e3"), 2500.0);
  for (const char* const text : {"", " 1", "1 ", "+1", "1x", "0x1", "1.5", "-"})
    EXPECT_FALSE(parsed_number<std::int32_t>(text)) << '"' << text << '"';
  for (const char* const text : {"", "1.5 ", "+1", "1,5", "nan", "inf", "-inf", "1e999"})
    EXPECT_FALSE(parsed_number<double>(text)) << '"' << text << '"';
}

TEST(NumberText, FitsItsType) {
  EXPECT_EQ(parsed_number<std::uint16_t>("65535"), 65535);
  EXPECT_FALSE(parsed_number<std::uint16_t>("65536"));
  EXPECT_FALSE(parsed_number<std::uint16_t>("-1"));
  EXPECT_EQ(parsed_number<std::int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_FALSE(parsed_number<std::int64_t>("9223372036854775808"));
}

TEST(NumberText, ReadsOtherBases) {
  EXPECT_EQ(parsed_number<std::uint64_t>("fF", 16), 255U);
  EXPECT_EQ(parsed_number<std::uint32_t>("644", 8), 0644U);
  EXPECT_FALSE(parsed_number<std::uint32_t>("8", 8));
}

}  // namespace
}  // namespace orrery
