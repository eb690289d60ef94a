#include "runtime/link/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace orrery::runtime {
namespace {

using testing::HasSubstr;

LinkAddress parsed(const std::string& text) {
  Result<LinkAddress> address = parse_link_address(text);
  EXPECT_TRUE(address) << text << ": " << (address ? "" : address.errors().front().text());
  return address ? *address : LinkAddress{};
}

TEST(Address, ReadsItsThreeForms) {
  EXPECT_EQ(parsed("127.0.0.1:22101").text(), "127.0.0.1:22101");
  EXPECT_EQ(parsed("[::1]:0").text(), "[::1]:0");
  EXPECT_EQ(parsed("unix:/run/orrery/agents.sock").text(), "unix:/run/orrery/agents.sock");
  EXPECT_EQ(parsed("node-7.example:65535").text(), "node-7.example:65535");
  EXPECT_EQ(parsed("localhost:1").text(), "127.0.0.1:1");
}

TEST(Address, KnowsWhatOnlyThisMachineReaches) {
  for (const char* local : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "unix:/s", "localhost:1"})
    EXPECT_TRUE(parsed(local).is_local()) << local;
  for (const char* wide : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.example:1", "128.0.0.1:1"})
    EXPECT_FALSE(parsed(wide).is_local()) << wide;
}

TEST(Address, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no port"},
      {"127.0.0.1", "no port"},
      {"127.0.0.1:", "the port is no number"},
      {"127.0.0.1:65536", "the port is no number"},
      {"127.0.0.1:-1", "the port is no number"},
      {"127.0.0.1:1x", "the port is no number"},
      {":22101", "neither a name nor an address"},
      {"::1:22101", "neither a name nor an address"},
      {"a b:1", "neither a name nor an address"},
      {"[::g]:1", "no IPv6 address"},
      {"[]:1", "no IPv6 address"},
      {"unix:run/s", "relative"},
      {"unix:", "relative"},
  };
  for (const auto& [text, found] : cases) {
    const Result<LinkAddress> address = parse_link_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.errors().front().text(), HasSubstr(found)) << text;
    EXPECT_THAT(address.errors().front().text(), HasSubstr("write for example")) << text;
  }
  const Result<LinkAddress> long_one = parse_link_address("unix:/" + std::string(120, 'x'));
  ASSERT_FALSE(long_one);
  EXPECT_THAT(long_one.errors().front().text(), HasSubstr("more than a socket's may"));
}

}  // namespace
}  // namespace orrery::runtime
