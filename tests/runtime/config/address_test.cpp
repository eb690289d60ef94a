#include "runtime/config/address.hpp"

#include <gmock/gmock.h>

namespace orrery::runtime {
namespace {

TEST(Address, HasThreeForms) {
  EXPECT_EQ(parse_address("127.0.0.1:22101"), (Address{"127.0.0.1", 22101, {}}));
  EXPECT_EQ(parse_address("a-1.example:0"), (Address{"a-1.example", 0, {}}));
  EXPECT_EQ(parse_address("[::1]:65535"), (Address{"::1", 65535, {}}));
  EXPECT_EQ(parse_address("unix:/run/x.sock"), (Address{{}, 0, "/run/x.sock"}));
}

TEST(Address, ReturnsToItsText) {
  for (const char* text : {"127.0.0.1:1", "host:2", "[fe80::1]:3", "unix:/x"})
    EXPECT_EQ(to_text(parse_address(text).value()), text);
}

TEST(Address, RefusesAnythingElse) {
  const std::string long_path = "unix:/" + std::string(200, 'x');
  for (const std::string_view text :
       {"",        ":",       "host",       "host:",          ":1",          "host:65536",
        "host:-1", "host: 1", "1.2.3:4",    "1.2.3.256:4",    "1.2.3.4.5:6", "::1:5",
        "[::1]",   "[]:1",    "[host]:1",   "[10.0.0.1:5]:1", "[::1%lo]:1",  "unix:",
        "unix:x",  "a/b:1",   "http://a:1", ".a:1",           "a b:1"})
    EXPECT_FALSE(parse_address(text)) << text;
  EXPECT_FALSE(parse_address(long_path));
}

TEST(Exposure, PlaintextStaysOnThisMachine) {
  for (const char* local : {"127.0.0.1:1",
                            "127.9.8.7:1",
                            "[::1]:1",
                            "[0:0:0:0:0:0:0:1]:1",
                            "localhost:1",
                            "unix:/run/orrery.sock"})
    EXPECT_TRUE(check_exposure(local, {}, "a").empty()) << local;
  for (const char* open : {"0.0.0.0:1",
                           "10.0.0.1:1",
                           "[::]:1",
                           "host:1",
                           "127.0.0.1.example:1",
                           "localhost.example:1",
                           "128.0.0.1:1"}) {
    EXPECT_EQ(check_exposure(open, {}, "a").size(), 1U) << open;
    EXPECT_TRUE(check_exposure(open, {"ca", "c", "k"}, "a").empty()) << open;
  }
}

TEST(Exposure, SaysWhatToDo) {
  const Errors errors = check_exposure("10.0.0.1:5", {}, "http_address");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].text(),
            "http_address: is 10.0.0.1:5, which other machines reach, and there are no "
            "certificates, mutual TLS is needed there; make them with `orrery certs init` and name "
            "them under tls, or use 127.0.0.1 or unix:/PATH");
}

}  // namespace
}  // namespace orrery::runtime
