// What one node does in a round of the node check.
#include "runtime/devices/compute_check.hpp"

#include <gmock/gmock.h>

namespace orrery::runtime {
namespace {

using testing::HasSubstr;

constexpr ComputeWork kLittle{.threads = 2, .order = 24, .products = 2};

Error broken(std::string message) {
  return {ErrorCode::Unavailable, {}, 0, "device", std::move(message)};
}

TEST(ComputeCheck, TellsHowLongTheProcessorsTook) {
  const auto took = check_processors(kLittle, Duration::seconds(300));
  ASSERT_TRUE(took) << took.errors().front().text();
  EXPECT_GT(*took, Duration::zero());
  EXPECT_TRUE(check_processors({.threads = 0, .order = 8, .products = 1}, Duration::seconds(300)));
}

TEST(ComputeCheck, WorkThatIsNotDoneInTimeIsAnError) {
  const auto took = check_processors(kLittle, Duration::zero());
  ASSERT_FALSE(took);
  EXPECT_THAT(took.errors().front().text(), HasSubstr("was not done within 0 s"));
}

TEST(ComputeCheck, DevicesAndPeersAreAskedForTheirParts) {
  NodeCheckParts parts;
  parts.processors = kLittle;
  parts.devices = 2;
  std::vector<std::size_t> asked;
  parts.device = [&](std::size_t device, Duration) -> Result<Duration> {
    asked.push_back(device);
    return Duration::seconds(device == 0 ? 7 : 5);
  };
  parts.all_reduce = [](const CheckRequest& request) -> Result<Duration> {
    return Duration::seconds(static_cast<std::int64_t>(request.peers.size()));
  };
  CheckRequest request;
  request.request = 17;
  request.peers = {"a", "b"};
  const CheckResult result = run_node_check(request, parts);
  EXPECT_EQ(result.request, 17U);
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(asked, testing::ElementsAre(0, 1));
  EXPECT_GT(result.compute, Duration::seconds(7)) << "the slowest device, and the processors";
  EXPECT_EQ(result.all_reduce, Duration::seconds(2));
}

TEST(ComputeCheck, WhatFailsIsTold) {
  NodeCheckParts parts;
  parts.processors = kLittle;
  CheckRequest request;
  request.peers = {"a"};
  EXPECT_EQ(run_node_check(request, parts).error, "") << "alone there is nothing to reduce";
  request.peers = {"a", "b"};
  EXPECT_THAT(run_node_check(request, parts).error, HasSubstr("all-reduce"));
  parts.all_reduce = [](const CheckRequest&) -> Result<Duration> { return broken("no peer"); };
  EXPECT_EQ(run_node_check(request, parts).error, "device: no peer");
  parts.devices = 1;
  parts.device = [](std::size_t, Duration) -> Result<Duration> { return broken("wrong product"); };
  EXPECT_EQ(run_node_check(request, parts).error, "device: wrong product");
}

}  // namespace
}  // namespace orrery::runtime
