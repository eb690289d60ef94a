// Seats in the device ledger: exactly these devices, shared by declaration only, conserved.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <vector>

#include "core/base/random.hpp"
#include "core/cluster/ledger.hpp"
#include "core/record/plan.hpp"

namespace orrery {
namespace ledger_seats_tests {

constexpr JobId kJob{1};
constexpr JobId kOther{2};
constexpr DeviceModelId kModel{0};
constexpr TurnKey kNone{};

NodeGroup group_of(std::int32_t devices, std::int32_t robots) {
  NodeGroup group;
  group.name = "lab";
  group.count = 1;
  group.cpu = MilliCpu{8000};
  group.memory = Bytes{8000};
  group.devices = devices;
  group.device_model = "h100";
  if (robots > 0) group.hardware = {{"Franka", robots}};
  return group;
}

Demand demand(std::int64_t cpu) { return {MilliCpu{cpu}, Bytes{cpu}, 0, {}, {}}; }

Seat seat(std::uint64_t devices, std::uint64_t hardware = 0, std::int32_t thousandths = 1000) {
  Seat seat{NodeId{0}, devices, hardware, {}};
  seat.share.thousandths = thousandths;
  return seat;
}

class LedgerSeats : public testing::Test {
 protected:
  LedgerSeats() { ledger.add_node(group_of(4, 2), kModel); }

  bool fits(const Seat& where, JobId owner = kJob, TurnKey turns = kNone) const {
    return ledger.seat_fits(where, demand(1000), owner, turns);
  }

  LeaseId sit(const Seat& where, JobId owner = kJob, TurnKey turns = kNone) {
    const LeaseId lease = ledger.claim_seat(owner, demand(1000), where, turns);
    ledger.check();
    return lease;
  }

  Ledger ledger;
  std::vector<JobId> ready;
};

TEST_F(LedgerSeats, ExactlyTheNamedDevicesAreTaken) {
  const LeaseId lease = sit(seat(0b1010));
  EXPECT_EQ(ledger.lease(lease).devices, 0b1010U);
  EXPECT_EQ(ledger.lease(lease).stage, LeaseStage::Held);
  EXPECT_EQ(ledger.free().at(NodeId{0}).devices, 2);
  EXPECT_TRUE(fits(seat(0b0101)));
  EXPECT_FALSE(fits(seat(0b0011)));
}

TEST_F(LedgerSeats, WhatANodeLacksNeverFits) {
  EXPECT_FALSE(fits(seat(0b10000)));
  EXPECT_FALSE(fits(seat(0, 0b100)));
  EXPECT_FALSE(ledger.seat_fits({NodeId{1}, 0, 0, {}}, demand(0), kJob, kNone));
  EXPECT_FALSE(ledger.seat_fits(seat(1), demand(9000), kJob, kNone));
}

TEST_F(LedgerSeats, DevicesOfAnotherModelDoNotFitAndNoDevicesDo) {
  Demand other = demand(1000);
  other.model = DeviceModelId{1};
  EXPECT_FALSE(ledger.seat_fits(seat(1), other, kJob, kNone));
  EXPECT_TRUE(ledger.seat_fits(seat(0), other, kJob, kNone));
  other.model = kModel;
  EXPECT_TRUE(ledger.seat_fits(seat(1), other, kJob, kNone));
}

TEST_F(LedgerSeats, ASeatOnANodeOutOfUseDoesNotFit) {
  ledger.set_usable(NodeId{0}, false);
  EXPECT_FALSE(fits(seat(1)));
}

TEST_F(LedgerSeats, ALedgerThatIsBuiltAnewCountsTheSameDevices) {
  ledger.add_node(group_of(2, 0), kModel);
  sit(seat(0b1));
  ledger.set_usable(NodeId{1}, false);
  ledger.rebuild();
  ledger.check();
  EXPECT_EQ(ledger.devices_total(), 6);
  EXPECT_EQ(ledger.devices_usable(), 4);
  EXPECT_EQ(ledger.free().free_devices(), 3);
}

TEST_F(LedgerSeats, MembersOfATurnGroupSitOnTheSameDevices) {
  sit(seat(0b0011), kJob, {1, 0});
  EXPECT_TRUE(fits(seat(0b0011), kJob, {1, 1})) << "another member of the group";
  EXPECT_FALSE(fits(seat(0b0001), kJob, {1, 0})) << "the same member again";
  EXPECT_FALSE(fits(seat(0b0011), kJob, {2, 1})) << "another group";
  EXPECT_FALSE(fits(seat(0b0011), kOther, {1, 1})) << "another job";
  EXPECT_FALSE(fits(seat(0b0011), kJob)) << "no group that takes turns";
}

TEST_F(LedgerSeats, TurnsCountOnceAndFreeOnlyWithTheLast) {
  const LeaseId one = sit(seat(0b0011), kJob, {1, 0});
  const LeaseId other = sit(seat(0b0111), kJob, {1, 1});
  EXPECT_EQ(ledger.free().at(NodeId{0}).devices, 1);
  ledger.release(other, ready);
  ledger.check();
  EXPECT_EQ(ledger.free().at(NodeId{0}).devices, 2);
  ledger.release(one, ready);
  ledger.check();
  EXPECT_EQ(ledger.free().at(NodeId{0}).devices, 4);
}

TEST_F(LedgerSeats, ProcessesOfOneRoleShareADeviceInParts) {
  sit(seat(1, 0, 333));
  sit(seat(1, 0, 333));
  EXPECT_TRUE(fits(seat(1, 0, 333)));
  EXPECT_FALSE(fits(seat(1, 0, 500)));
}

TEST_F(LedgerSeats, CustomHardwareIsTakenPieceByPiece) {
  sit(seat(0, 0b01));
  EXPECT_FALSE(fits(seat(0, 0b01), kOther));
  EXPECT_TRUE(fits(seat(0, 0b10), kOther));
  EXPECT_EQ(ledger.free().at(NodeId{0}).devices, 4) << "robots are no accelerators";
}

TEST_F(LedgerSeats, ANewSeatWaitsForTheOldProcess) {
  const LeaseId old = sit(seat(0b0011));
  ledger.begin_release(old, ready);
  const LeaseId next = sit(seat(0b0001), kOther);
  EXPECT_EQ(ledger.lease(next).stage, LeaseStage::Claimed);
  ledger.release(old, ready);
  ledger.check();
  EXPECT_EQ(ledger.lease(next).stage, LeaseStage::Held);
  EXPECT_EQ(ready, std::vector<JobId>{kOther});
}

TEST_F(LedgerSeats, WhatAJobHoldsCanBeLeftOutOfTheQuestion) {
  sit(seat(0b0011), kJob);
  EXPECT_FALSE(fits(seat(0b0001), kJob));
  EXPECT_TRUE(ledger.seat_fits(seat(0b0001), demand(8000), kJob, kNone, kJob));
  EXPECT_FALSE(ledger.seat_fits(seat(0b0001), demand(1000), kOther, kNone, kOther));
}

// Random claims, releases and seats of several jobs: what the ledger allows is conserved, and what
// it says about a seat agrees with a model that counts parts of units one by one.
struct Sat {
  LeaseId lease;
  JobId owner;
  Seat where;
  TurnKey turns;
  bool releasing = false;
};

std::int32_t promised(const std::vector<Sat>& all, const Sat& more, int unit, bool hardware) {
  std::int32_t alone = 0;
  std::map<std::pair<JobId, std::uint16_t>, std::map<std::uint16_t, std::int32_t>> groups;
  const auto add = [&](const Sat& sat) {
    const std::uint64_t mask = hardware ? sat.where.hardware : sat.where.devices;
    if ((mask >> unit & 1) == 0) return;
    const std::int32_t amount =
        hardware || std::popcount(sat.where.devices) == 1 ? sat.where.share.thousandths : 1000;
    if (sat.turns.group == 0) {
      alone += amount;
    } else {
      groups[{sat.owner, sat.turns.group}][sat.turns.member] += amount;
    }
  };
  for (const Sat& sat : all)
    if (!sat.releasing) add(sat);
  add(more);
  for (const auto& [group, members] : groups) {
    std::int32_t most = 0;
    for (const auto& [member, amount] : members) most = std::max(most, amount);
    alone += most;
  }
  return alone;
}

bool allowed(const std::vector<Sat>& all, const Sat& more) {
  for (int unit = 0; unit < 4; ++unit)
    if ((more.where.devices >> unit & 1) != 0 && promised(all, more, unit, false) > 1000)
      return false;
  for (int unit = 0; unit < 2; ++unit)
    if ((more.where.hardware >> unit & 1) != 0 && promised(all, more, unit, true) > 1000)
      return false;
  return all.size() < 8;  // A thousandth of the CPU each, eight in all.
}

TEST(LedgerSeatsProperty, AgreesWithCountingPartsOneByOne) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "seats");
    Ledger ledger;
    ledger.add_node(group_of(4, 2), kModel);
    std::vector<Sat> all;
    std::vector<JobId> ready;
    for (int round = 0; round < 300; ++round) {
      if (!all.empty() && random.below(3) == 0) {
        Sat& sat = all[random.below(all.size())];
        if (!sat.releasing && ledger.lease(sat.lease).stage == LeaseStage::Held &&
            random.below(2) == 0) {
          ledger.begin_release(sat.lease, ready);
          sat.releasing = true;
        } else {
          ledger.release(sat.lease, ready);
          sat = all.back();
          all.pop_back();
        }
      } else {
        Sat more{{}, JobId{static_cast<std::uint32_t>(random.below(2))}, {}, {}};
        more.where = seat(random.below(16), random.below(4), random.below(2) == 0 ? 1000 : 500);
        more.turns.group = static_cast<std::uint16_t>(random.below(3));
        more.turns.member = static_cast<std::uint16_t>(random.below(2));
        std::size_t taking = 0;
        for (const Sat& sat : all) taking += sat.releasing ? 0 : 1;
        std::vector<Sat> counted = all;
        std::erase_if(counted, [](const Sat& sat) { return sat.releasing; });
        const bool fits = ledger.seat_fits(more.where, demand(1000), more.owner, more.turns);
        ASSERT_EQ(fits, taking < 8 && allowed(counted, more)) << "round " << round;
        if (!fits) continue;
        more.lease = ledger.claim_seat(more.owner, demand(1000), more.where, more.turns);
        all.push_back(more);
      }
      ledger.check();
    }
  }
}

}  // namespace ledger_seats_tests
}  // namespace orrery
