#include "core/base/amount_text.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(BytesText, IsWholeInTheLargestUnitOfEitherKind) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(bytes_text(1'000), "1 kB");
  EXPECT_EQ(bytes_text(1'024), "1 KiB");
  EXPECT_EQ(bytes_text(1'025), "1025 bytes");
  EXPECT_EQ(bytes_text(4'000'000'000), "4 GB");
  EXPECT_EQ(bytes_text(5'500'000'000), "5500 MB");
  EXPECT_EQ(bytes_text(std::int64_t{16} << 30), "16 GiB");
  EXPECT_EQ(bytes_text(std::int64_t{3} << 20), "3 MiB");
  // Whole in both: 1,000 times 2^30.
  EXPECT_EQ(bytes_text(std::int64_t{1000} << 30), "1000 GiB");
}

}  // namespace
}  // namespace orrery
