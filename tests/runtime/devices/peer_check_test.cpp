// Peers of a node check sum floats with each other.
#include "runtime/devices/peers/peer_check.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace orrery::runtime {
namespace peer_check_tests {

using testing::HasSubstr;

constexpr AllReduceWork kLittle{.floats = 1000, .times = 2};

/// A port that was free a moment ago.
std::int32_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  ::close(socket);
  EXPECT_TRUE(bound);
  return ntohs(address.sin_port);
}

CheckRequest request_of(std::int32_t ranks, std::int32_t port) {
  CheckRequest request;
  request.request = 5;
  request.peers.assign(static_cast<std::size_t>(ranks), "127.0.0.1");
  request.port = port;
  request.deadline = Duration::seconds(60);
  return request;
}

/// What every rank gets, each on a thread of its own.
std::vector<Result<Duration>> all_ranks(std::int32_t ranks) {
  const std::int32_t port = free_port();
  std::vector<Result<Duration>> results(static_cast<std::size_t>(ranks), Duration::zero());
  {
    std::vector<std::jthread> threads;
    for (std::int32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&results, rank, ranks, port] {
        CheckRequest request = request_of(ranks, port);
        request.rank = rank;
        results[static_cast<std::size_t>(rank)] = all_reduce_with_peers(request, kLittle);
      });
  }
  return results;
}

TEST(PeerCheck, TwoAndThreePeersTellHowLongTheirSumsTook) {
  for (const std::int32_t ranks : {2, 3})
    for (const Result<Duration>& result : all_ranks(ranks)) {
      ASSERT_TRUE(result) << result.errors().front().text();
      EXPECT_GT(*result, Duration::zero());
    }
}

TEST(PeerCheck, APeerThatDoesNotComeIsAnErrorAtTheDeadline) {
  CheckRequest request = request_of(2, free_port());
  request.deadline = Duration::milliseconds(200);
  const auto result = all_reduce_with_peers(request, kLittle);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.errors().front().subject, "all-reduce");
}

TEST(PeerCheck, AddressesAreNumeric) {
  CheckRequest request = request_of(2, 1);
  request.peers = {"node-a", "node-b"};
  const auto result = all_reduce_with_peers(request, kLittle);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.errors().front().text(), HasSubstr("is 'node-a', a numeric one is needed"));
  request.rank = 2;
  EXPECT_FALSE(all_reduce_with_peers(request, kLittle));
}

TEST(PeerCheck, AWholeCheckHasBothTimes) {
  const std::int32_t port = free_port();
  std::vector<CheckResult> results(2);
  {
    std::vector<std::jthread> threads;
    for (std::int32_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&results, rank, port] {
        CheckRequest request = request_of(2, port);
        request.rank = rank;
        NodeCheckParts parts;
        parts.processors = {.threads = 1, .order = 16, .products = 1};
        results[static_cast<std::size_t>(rank)] = check_node_with_peers(request, parts);
      });
  }
  for (const CheckResult& result : results) {
    EXPECT_EQ(result.error, "");
    EXPECT_GT(result.compute, Duration::zero());
    EXPECT_GT(result.all_reduce, Duration::zero());
  }
}

}  // namespace peer_check_tests
}  // namespace orrery::runtime
