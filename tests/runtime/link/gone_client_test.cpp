// A client that is killed is seen at once: the system closes its connection.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/runtime/link/listening.hpp"

extern char** environ;

namespace orrery::runtime {
namespace {

constexpr const char* kAddress = "ORRERY_TEST_LINK_ADDRESS";

/// The other process of the test below: opens a stream and waits to be killed.
TEST(GoneClient, DISABLED_Child) {
  const char* const address = std::getenv(kAddress);
  ASSERT_NE(address, nullptr) << "runs as the child of GoneClient.IsSeen";
  const auto dialer = std::move(dial_links({}).value());
  ClientSide side;
  const auto client = dialer->open(address, Duration::seconds(30), side);
  side.wait_closed();
}

TEST(GoneClient, IsSeen) {
  ServerSide at_server;
  const auto server = std::move(serve_links("127.0.0.1:0", {}, {}, at_server).value());
  ASSERT_EQ(setenv(kAddress, server->address().c_str(), 1), 0);
  std::string program = "/proc/self/exe";
  std::string filter = "--gtest_filter=GoneClient.DISABLED_Child";
  std::string disabled = "--gtest_also_run_disabled_tests";
  char* arguments[] = {program.data(), filter.data(), disabled.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  unsetenv(kAddress);
  EXPECT_TRUE(at_server.wait([&] { return !at_server.heard.empty(); }));
  kill(child, SIGKILL);
  EXPECT_TRUE(at_server.wait([&] { return at_server.heard[at_server.last()].closed; }));
  EXPECT_EQ(at_server.heard[at_server.last()].why, "the agent or its connection went away");
  int status = 0;
  waitpid(child, &status, 0);
}

}  // namespace
}  // namespace orrery::runtime
