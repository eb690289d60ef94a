#include "core/base/plain_lines.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(PlainLines, TheMarkGoesAndLinesEndAsElsewhere) {
  EXPECT_EQ(plain_lines("a,b\r\n1,2\r\n"), "a,b\r\n1,2\r\n") << "readers know these";
  EXPECT_EQ(plain_lines("\xef\xbb\xbf"
                        "a\n\xef\xbb\xbf"
                        "b"),
            "a\n\xef\xbb\xbf"
            "b");
  EXPECT_EQ(plain_lines("\xef\xbb\xbf"
                        "a,b\r1,2\r"),
            "a,b\n1,2\n");
  EXPECT_EQ(plain_lines("a\rb\nc"), "a\rb\nc") << "part of a line";
  EXPECT_EQ(plain_lines(""), "");
}

}  // namespace
}  // namespace orrery
