#include "core/base/stream_text.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace orrery {
namespace {

TEST(RestOf, IsWhatIsLeft) {
  std::istringstream in("first\nsecond\n");
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(rest_of(in), "second\n");
}

TEST(RestOf, AnEmptyStreamHasAnEmptyRest) {
  std::istringstream in;
  EXPECT_EQ(rest_of(in), "");
}

TEST(RestOf, IsWholeAtAnyLengthAndWithAnyBytes) {
  for (const std::size_t length : {1u, (1u << 14) - 1, 1u << 14, (1u << 14) + 1, 100'000u}) {
    std::string text(length, '\0');
    for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>(i * 31);
    std::istringstream in(text);
    EXPECT_EQ(rest_of(in), text) << length;
  }
}

// A folder opens well and cannot be read, as a file of a process that ends in between.
TEST(RestOf, IsNothingWhereReadingFails) {
  std::ifstream in(".");
  ASSERT_TRUE(in.is_open());
  EXPECT_EQ(rest_of(in), std::nullopt);
}

TEST(RestOf, IsNothingWhereTheFileIsAbsent) {
  std::ifstream in("there is no such file");
  EXPECT_EQ(rest_of(in), std::nullopt);
}

}  // namespace
}  // namespace orrery
