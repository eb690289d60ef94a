#include "tools/client/server_address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;

std::string round_trip(std::string_view text) {
  const auto address = server_address(text);
  return address ? address->text() : "refused";
}

TEST(ServerAddress, EveryFormIsReadAndWritten) {
  EXPECT_EQ(round_trip("http://10.0.0.7:8080"), "http://10.0.0.7:8080");
  EXPECT_EQ(round_trip("https://ctl.example/"), "https://ctl.example:22100");
  EXPECT_EQ(round_trip("127.0.0.1:9"), "http://127.0.0.1:9");
  EXPECT_EQ(round_trip("https://[::1]:443"), "https://[::1]:443");
  EXPECT_EQ(round_trip("unix:/run/orrery.sock"), "unix:/run/orrery.sock");
}

TEST(ServerAddress, WhatIsNoneIsRefusedWithTheForms) {
  for (const char* text : {"",
                           "ftp://x",
                           "http://",
                           "http://x:0",
                           "http://x:70000",
                           "http://x:1a",
                           "http://x/api",
                           "unix:",
                           "unix:relative",
                           "http://[::1"}) {
    const auto address = server_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.errors().front().text(), HasSubstr("needed http://host:port")) << text;
  }
}

TEST(ServerAddress, OnlyLoopbackAndUnixSocketsAreLocal) {
  EXPECT_TRUE(server_address("127.0.0.1:1")->is_local());
  EXPECT_TRUE(server_address("http://localhost")->is_local());
  EXPECT_TRUE(server_address("http://[::1]")->is_local());
  EXPECT_TRUE(server_address("unix:/s")->is_local());
  EXPECT_FALSE(server_address("http://10.1.2.3")->is_local());
  EXPECT_FALSE(server_address("http://127.example")->is_local());
}

}  // namespace
}  // namespace orrery::cli
