// What keeps a job from holding more.
#include "core/queues/queue_loads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/queues/queue_text.hpp"

namespace orrery {
namespace {

class QueueLoadsTest : public ::testing::Test {
 protected:
  QueueLoadsTest() { scale_.capacity.devices = 16'000; }

  QueueJob job(std::string_view queue, std::string user, std::int64_t held, bool fixed = false) {
    QueueJob out;
    out.queue = tree_.queue_of(queue);
    out.user = std::move(user);
    out.use.devices = out.want.devices = held * 1000;
    out.fixed = fixed;
    out.holds = held > 0;
    out.waits = held == 0;
    return out;
  }

  std::optional<QueueCause> cause(const QueueJob& job, std::int64_t more) const {
    const auto block = loads_.block(scale_, job, {more * 1000, 0, 0});
    return block ? std::optional(block->cause) : std::nullopt;
  }

  QueueTree tree_{parsed_queues("a limit=10; a1 parent=a user_limit=4 users=carol:6; "
                                "a2 parent=a; b guarantee=8")
                      .value()};
  QueueScale scale_;
  QueueLoads loads_{tree_};
};

TEST_F(QueueLoadsTest, LimitsOfQueuesAboveCount) {
  loads_.add(job("a1", "alice", 4));
  loads_.add(job("a2", "alice", 5));
  EXPECT_EQ(cause(job("a2", "bob", 0), 1), std::nullopt);
  EXPECT_EQ(cause(job("a2", "bob", 0), 2), QueueCause::Limit);
  EXPECT_EQ(loads_.use(tree_.node(tree_.queue_of("a1")).parent).devices, 9'000);
  loads_.remove(job("a2", "alice", 5));
  EXPECT_EQ(cause(job("a2", "bob", 0), 6), std::nullopt);
}

TEST_F(QueueLoadsTest, UsersHaveLimitsOfTheirOwn) {
  loads_.add(job("a1", "alice", 4));
  loads_.add(job("a1", "carol", 4));
  EXPECT_EQ(cause(job("a1", "alice", 0), 1), QueueCause::UserLimit);
  EXPECT_EQ(cause(job("a1", "carol", 0), 2), std::nullopt);
  EXPECT_EQ(cause(job("a2", "alice", 0), 1), std::nullopt) << "of that queue alone";
}

TEST_F(QueueLoadsTest, WhatIsGuaranteedToOthersIsBorrowedByJobsThatGiveItBack) {
  loads_.add(job("a2", "alice", 8, true));
  EXPECT_EQ(cause(job("a2", "bob", 0, true), 1), QueueCause::Guarantee);
  EXPECT_EQ(cause(job("a2", "bob", 0), 1), std::nullopt);
  EXPECT_EQ(cause(job("b", "bob", 0, true), 8), std::nullopt);
  EXPECT_EQ(cause(job("b", "bob", 0, true), 9), std::nullopt)
      << "there is no room for it beside the other, whatever is guaranteed";
}

TEST_F(QueueLoadsTest, AJobIsBarredByWhatNoOtherQueueCanChange) {
  loads_.add(job("a1", "alice", 4));
  loads_.add(job("a2", "alice", 5));
  const auto barred = [&](const QueueJob& job, std::int64_t gang) {
    return loads_.is_barred(scale_, job, {gang * 1000, 0, 0});
  };
  EXPECT_TRUE(barred(job("a1", "alice", 0), 1)) << "its user's limit in its own queue";
  EXPECT_FALSE(barred(job("a1", "carol", 0), 4)) << "a2 may give way below the limit of both";
  EXPECT_TRUE(barred(job("a2", "carol", 0), 11)) << "the limit above is less than it alone";
  EXPECT_TRUE(barred(job("b", "bob", 0), 17)) << "the cluster has 16 devices now";
  EXPECT_TRUE(barred(job("default", "bob", 0, true), 9))
      << "it may not borrow what is guaranteed to b";
}

TEST_F(QueueLoadsTest, WantsOfAUserEndAtItsLimit) {
  loads_.add(job("a1", "alice", 4));
  QueueJob waits = job("a1", "alice", 0);
  waits.want.devices = 9'000;
  loads_.add(waits);
  EXPECT_EQ(loads_.wants(scale_)[waits.queue].devices, 4'000);
  waits.want.devices = 7'000;
  EXPECT_EQ(loads_.wants(scale_, std::span(&waits, 1))[waits.queue].devices, 4'000)
      << "what it asks for in vain does not count, what is left is still too much";
  waits.want.devices = 9'000;
  loads_.remove(job("a1", "alice", 4));
  EXPECT_EQ(loads_.wants(scale_, std::span(&waits, 1))[waits.queue].devices, 0);
}

}  // namespace
}  // namespace orrery
