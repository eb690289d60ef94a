// Trees that are refused, each with what to do, and texts that are read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.hpp"
#include "core/queues/queue_text.hpp"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

QueueSpec queue(std::string name, std::string parent = "") {
  QueueSpec out;
  out.name = std::move(name);
  out.parent = std::move(parent);
  return out;
}

QueueAmount amount(std::string_view text) { return queue_amount(text).value(); }

std::vector<std::string> faults(const QueuesSpec& spec,
                                std::optional<std::int64_t> devices = std::nullopt) {
  std::vector<std::string> out;
  for (const QueueFault& fault : check_queues(spec, devices))
    out.push_back(fault_text(spec, fault));
  return out;
}

TEST(QueueCheck, TakesASoundTree) {
  QueuesSpec spec;
  spec.queues = {queue("research"), queue("vision", "research"), queue("product")};
  spec.queues[0].guarantee = amount("16");
  spec.queues[1].guarantee = amount("8");
  spec.queues[2].guarantee = amount("25%");
  EXPECT_THAT(faults(spec, 64), IsEmpty());
}

TEST(QueueCheck, RefusesCirclesAndUnknownParents) {
  QueuesSpec spec;
  spec.queues = {queue("a", "b"), queue("b", "a"), queue("c", "nosuch"), queue("d", "d")};
  EXPECT_THAT(faults(spec),
              ElementsAre(HasSubstr("queue a: parent is 'b', which is below 'a' itself"),
                          HasSubstr("queue b: parent is 'a', which is below 'b' itself"),
                          HasSubstr("queue c: parent is 'nosuch', which is no queue"),
                          HasSubstr("queue d: parent is 'd', which is below 'd' itself")));
}

TEST(QueueCheck, RefusesNamesThatAreNoneOrStandTwice) {
  QueuesSpec spec;
  spec.queues = {queue("a"), queue("a"), queue("No Name")};
  spec.queues[0].users = {{"bob", {}}, {"bob", {}}, {"B!", {}}};
  EXPECT_THAT(faults(spec),
              ElementsAre(HasSubstr("queue a: users has 'bob' twice"),
                          HasSubstr("queue a: users has 'B!', the namespace of jobs is needed"),
                          HasSubstr("queue a: name is 'a', which another queue has"),
                          HasSubstr("a DNS label")));
}

TEST(QueueCheck, RefusesWeightsBelowZero) {
  QueuesSpec spec;
  spec.queues = {queue("a")};
  spec.queues[0].weight = -1;
  EXPECT_THAT(faults(spec), ElementsAre(HasSubstr("weight is -1, 0 to 1000000 is needed")));
}

TEST(QueueCheck, RefusesMoreGuaranteesThanThereIs) {
  QueuesSpec spec;
  spec.queues = {queue("a"), queue("b")};
  spec.queues[0].guarantee = amount("60%");
  spec.queues[1].guarantee = amount("40.5%");
  EXPECT_THAT(faults(spec), ElementsAre(HasSubstr("guarantees 100.5% of the cluster in all")));
  spec.queues[1].guarantee = amount("30");
  EXPECT_THAT(faults(spec), IsEmpty()) << "of a cluster that is not known";
  EXPECT_THAT(faults(spec, 64),
              ElementsAre(HasSubstr("guarantees 68.4 devices in all, the cluster has 64")));
}

TEST(QueueCheck, RefusesMoreGuaranteesThanTheParentHas) {
  QueuesSpec spec;
  spec.queues = {queue("a"), queue("b", "a"), queue("c", "a")};
  spec.queues[0].guarantee = amount("16");
  spec.queues[1].guarantee = amount("9");
  spec.queues[2].guarantee = amount("8");
  EXPECT_THAT(faults(spec),
              ElementsAre(HasSubstr("queue a: guarantee is 16, but 17 are guaranteed to the queues "
                                    "below it")));
  spec.queues[2].guarantee = amount("25%");
  EXPECT_THAT(faults(spec), IsEmpty());
  EXPECT_THAT(faults(spec, 64), ElementsAre(HasSubstr("9 devices and 25%")));
  spec.queues[0].limit = amount("8");
  spec.queues[0].guarantee = {};
  EXPECT_THAT(faults(spec),
              ElementsAre(HasSubstr("queue b: guarantee is 9, more than the limit 8 of 'a'")));
}

TEST(QueueCheck, RefusesQueuesThatCouldNeverRunAJob) {
  QueuesSpec spec;
  spec.queues = {queue("a"), queue("b"), queue("c")};
  spec.queues[0].limit = amount("0");
  spec.queues[1].borrow = amount("0");
  spec.queues[2].limit = amount("4");
  spec.queues[2].guarantee = amount("5");
  EXPECT_THAT(faults(spec),
              ElementsAre(HasSubstr("queue a: limit is 0"),
                          HasSubstr("queue b: borrow is 0 and nothing is guaranteed"),
                          HasSubstr("queue c: guarantee is 5, more than the limit 4")));
}

TEST(QueueCheck, RefusesAnUnknownDefaultAndTimesOutOfRange) {
  QueuesSpec spec;
  spec.queues = {queue("a"), queue("b", "a")};
  spec.otherwise = "nosuch";
  spec.period = Duration::milliseconds(10);
  spec.half_life = Duration::seconds(10);
  spec.patience = Duration::zero();
  EXPECT_THAT(faults(spec),
              ElementsAre(HasSubstr("period is shorter than 1s"),
                          HasSubstr("half_life is not 0s"),
                          HasSubstr("patience is shorter than 1s"),
                          HasSubstr("default is 'nosuch', which is no queue")));
  spec = {};
  EXPECT_THAT(faults(spec), ElementsAre(HasSubstr("tree has no queue")));
  spec.queues = {queue("a"), queue("b", "a")};
  spec.otherwise = "a";
  EXPECT_THAT(faults(spec), ElementsAre(HasSubstr("has queues below it")));
}

TEST(QueueText, IsReadBack) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random = Random::stream(seed, "text");
    QueuesSpec spec;
    spec.period = Duration::seconds(random.between(1, 100));
    if (random.below(2) == 0) spec.half_life = Duration::seconds(random.between(60, 1'000'000));
    spec.cpu = random.below(2) == 0;
    spec.memory = random.below(2) == 0;
    for (std::int64_t i = 0, n = random.between(1, 6); i < n; ++i) {
      QueueSpec q = queue("q" + std::to_string(i));
      if (i > 0 && random.below(2) == 0) q.parent = "q" + std::to_string(random.below(i));
      q.weight = random.between(0, 5);
      q.priority = static_cast<std::int32_t>(random.between(-1, 1));
      q.guarantee = {random.between(1, 20), true};
      if (random.below(2) == 0) q.limit = QueueAmount{random.between(20, 1000), true};
      if (random.below(3) == 0) q.borrow = QueueAmount{random.between(1, 9999), false};
      q.reclaim = random.below(4) != 0;
      if (random.below(3) == 0) q.user_limit = QueueAmount{random.between(1, 9999), false};
      for (const char* user : {"alice", "bob", "carol"})
        if (random.below(3) == 0) q.users.push_back({user, {random.between(1, 5000), false}});
      spec.queues.push_back(std::move(q));
    }
    if (!check_queues(spec, std::nullopt).empty()) continue;
    const Result<QueuesSpec> read = parsed_queues(queues_text(spec));
    ASSERT_TRUE(read) << queues_text(spec) << ": " << read.errors().front().text();
    EXPECT_EQ(*read, spec) << queues_text(spec);
  }
}

TEST(QueueText, IsRefusedWhole) {
  const auto bad = parsed_queues("half_life=soon; a weight=x; b limit=-4; c color=red");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.errors().size(), 4U);
  EXPECT_THAT(bad.errors()[1].text(),
              HasSubstr("policy.queues: has 'weight=x' of queue a, which is no key of a queue"));
  EXPECT_FALSE(parsed_queues("a parent=b"));
}

TEST(QueueAmounts, AreReadExactly) {
  EXPECT_EQ(amount("16"), (QueueAmount{16'000, false}));
  EXPECT_EQ(amount("0.5"), (QueueAmount{500, false}));
  EXPECT_EQ(amount("12.5%"), (QueueAmount{125, true}));
  EXPECT_EQ(amount("12.5%").text(), "12.5%");
  EXPECT_EQ(amount("100%").of(64'000), 64'000);
  for (const char* text : {"", "%", "-1", "1.2345", "101%", "1.25%", "x", "1.", ".5", "2000000"})
    EXPECT_FALSE(queue_amount(text)) << text;
}

}  // namespace
}  // namespace orrery
