// The turn on devices: never two of a job on one device, each in its order, none for ever.
#include "runtime/agent/device_turns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "core/base/random.hpp"

namespace orrery::runtime {
namespace device_turns_tests {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Duration kLease = Duration::seconds(10);

WorkerName worker(std::uint32_t rank, std::uint32_t job = 1) {
  return {JobId{job}, Incarnation{1}, Rank{rank}};
}

Instant at(std::int64_t seconds) { return Instant{} + Duration::seconds(seconds); }

TEST(DeviceTurns, OneAfterTheOtherInTheOrderInWhichTheyAsked) {
  DeviceTurns turns;
  for (const std::uint32_t rank : {2u, 0u, 1u}) turns.ask(worker(rank), 0b1, kLease, at(0));
  EXPECT_THAT(turns.take_granted(at(0)), ElementsAre(worker(2)));
  EXPECT_THAT(turns.take_granted(at(1)), IsEmpty());
  turns.release(worker(2));
  EXPECT_THAT(turns.take_granted(at(2)), ElementsAre(worker(0)));
  turns.release(worker(1));  // It waits no longer.
  turns.release(worker(0));
  EXPECT_THAT(turns.take_granted(at(3)), IsEmpty());
}

TEST(DeviceTurns, WhatSharesNoDeviceOrNoJobIsNotHeldUp) {
  DeviceTurns turns;
  turns.ask(worker(0), 0b0011, kLease, at(0));
  turns.ask(worker(1), 0b0110, kLease, at(0));
  turns.ask(worker(2), 0b1000, kLease, at(0));
  turns.ask(worker(3), 0b0100, kLease, at(0));  // Behind worker 1, which asked earlier.
  turns.ask(worker(0, 2), 0b0011, kLease, at(0));
  EXPECT_THAT(turns.take_granted(at(0)), ElementsAre(worker(0), worker(2), worker(0, 2)));
  turns.release(worker(0));
  EXPECT_THAT(turns.take_granted(at(1)), ElementsAre(worker(1)));
}

TEST(DeviceTurns, ALeaseThatPassesIsToldOnceAndTheTurnIsHeldUntilTheWorkerHasEnded) {
  DeviceTurns turns;
  turns.ask(worker(0), 1, kLease, at(0));
  turns.ask(worker(1), 1, kLease, at(0));
  EXPECT_THAT(turns.take_granted(at(0)), ElementsAre(worker(0)));
  EXPECT_EQ(turns.next_deadline(), at(10));
  EXPECT_TRUE(turns.renew(worker(0), at(9)));
  EXPECT_FALSE(turns.renew(worker(1), at(9))) << "it waits";
  EXPECT_THAT(turns.take_overdue(at(18)), IsEmpty());
  EXPECT_THAT(turns.take_overdue(at(19)), ElementsAre(worker(0)));
  EXPECT_THAT(turns.take_overdue(at(20)), IsEmpty());
  EXPECT_THAT(turns.take_granted(at(20)), IsEmpty()) << "it may still run";
  turns.release(worker(0));  // As when it has ended.
  EXPECT_THAT(turns.take_granted(at(21)), ElementsAre(worker(1)));
}

TEST(DeviceTurns, ATurnOfAnEarlierLifeIsHeldStill) {
  DeviceTurns turns;
  turns.adopt(worker(0), 1, at(0));
  turns.ask(worker(1), 1, kLease, at(0));
  EXPECT_THAT(turns.take_granted(at(0)), IsEmpty());
  turns.ask(worker(0), 1, kLease, at(1));  // It asks again after its hello.
  EXPECT_TRUE(turns.has_turn(worker(0)));
  EXPECT_EQ(turns.next_deadline(), at(11));
}

// Random askers that renew, give back, stay silent and die: no device has two holders of a job,
// and once all have given back, every one that waits comes to have the turn.
TEST(DeviceTurns, NeverTwoOnADeviceAndNoneWaitsForEver) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    DeviceTurns turns;
    std::map<WorkerName, std::uint64_t> devices;
    std::map<WorkerName, std::uint64_t> holders;
    Instant now = at(0);
    const auto grant = [&] {
      for (const WorkerName& name : turns.take_granted(now)) {
        for (const auto& [other, mask] : holders)
          ASSERT_FALSE(other.job == name.job && (mask & devices[name]) != 0);
        holders[name] = devices[name];
      }
    };
    for (int step = 0; step < 300; ++step) {
      const WorkerName name = worker(static_cast<std::uint32_t>(random.below(6)),
                                     static_cast<std::uint32_t>(1 + random.below(2)));
      if (!devices.contains(name)) devices[name] = 1 + random.below(15);
      switch (random.below(4)) {
        case 0:
          turns.ask(name, devices[name], kLease, now);
          break;
        case 1:
          EXPECT_EQ(turns.renew(name, now), holders.contains(name));
          break;
        case 2:
          turns.release(name);
          holders.erase(name);
          break;
        default:
          now = now + Duration::seconds(static_cast<std::int64_t>(random.below(8)));
          for (const WorkerName& late : turns.take_overdue(now))
            EXPECT_TRUE(holders.contains(late));
      }
      grant();
    }
    std::map<WorkerName, bool> served;
    for (const auto& [name, mask] : devices) {
      if (holders.contains(name)) continue;
      turns.ask(name, mask, kLease, now);
      served[name] = false;
    }
    for (std::size_t round = 0; round <= devices.size(); ++round) {
      for (const auto& [name, mask] : std::exchange(holders, {})) turns.release(name);
      grant();
      for (const auto& [name, mask] : holders) served[name] = true;
    }
    for (const auto& [name, was] : served) EXPECT_TRUE(was) << name.birth_rank.value;
  }
}

}  // namespace device_turns_tests
}  // namespace orrery::runtime
