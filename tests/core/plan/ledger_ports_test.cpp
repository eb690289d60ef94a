// Ports of leases: a worker's own from grant to exit, whatever becomes of its lease meanwhile.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/random.hpp"
#include "core/cluster/ledger.hpp"
#include "core/record/codec.hpp"
#include "tests/support/placing.hpp"

namespace orrery {
namespace {

constexpr JobId kJob{1};

NodeGroup node_of(std::int64_t cores) {
  NodeGroup group;
  group.name = "hosts";
  group.count = 1;
  group.cpu = MilliCpu{1000 * cores};
  group.memory = Bytes{cores};
  return group;
}

const Demand kCore{MilliCpu{1000}, Bytes{1}, 0, {}, {}};

class LedgerPorts : public testing::Test {
 protected:
  LedgerPorts() {
    ledger.add_node(node_of(4), {});
    ledger.add_node(node_of(4), {});
  }

  LeaseId claim(std::uint32_t node, std::int32_t ports) {
    const LeaseId lease = claim_on(ledger, kJob, NodeId{node}, kCore);
    EXPECT_TRUE(ledger.take_ports(lease, ports));
    ledger.check();
    return lease;
  }

  Ledger ledger;
  std::vector<JobId> ready;
};

TEST_F(LedgerPorts, EveryNodeCountsFromTheFirstPort) {
  EXPECT_EQ(ledger.lease(claim(0, 3)).ports, (PortRange{22270, 3}));
  EXPECT_EQ(ledger.lease(claim(0, 2)).ports, (PortRange{22273, 2}));
  EXPECT_EQ(ledger.lease(claim(1, 2)).ports, (PortRange{22270, 2}));
}

TEST_F(LedgerPorts, PortsAreKeptUntilTheWorkerIsGone) {
  const LeaseId first = claim(0, 2);
  ledger.begin_release(first, ready);
  const LeaseId second = claim(0, 2);
  EXPECT_EQ(ledger.lease(second).ports.first, 22272) << "the process before may still listen";
  ledger.release(first, ready);
  ledger.check();
  EXPECT_EQ(ledger.lease(claim(0, 2)).ports.first, 22270);
}

TEST_F(LedgerPorts, AClaimThatIsGivenUpGivesItsPortsBackAtOnce) {
  std::vector<LeaseId> held;
  for (int i = 0; i < 4; ++i) held.push_back(claim(0, 1));
  ledger.begin_release(held[0], ready);
  const LeaseId waits = claim(0, 1);
  ASSERT_EQ(ledger.lease(waits).stage, LeaseStage::Claimed);
  EXPECT_EQ(ledger.lease(waits).ports.first, 22274);
  ledger.begin_release(waits, ready);
  ledger.check();
  EXPECT_EQ(ledger.ports().taken(NodeId{0}).size(), 4U);
}

TEST_F(LedgerPorts, ANodeWithoutAGapRefusesAndNothingChanges) {
  claim(0, kPortsPerNode - 1);
  const LeaseId lease = claim_on(ledger, kJob, NodeId{0}, kCore);
  EXPECT_FALSE(ledger.take_ports(lease, 2));
  EXPECT_EQ(ledger.lease(lease).ports, PortRange{});
  ledger.check();
  EXPECT_TRUE(ledger.take_ports(lease, 1)) << "it has taken none yet";
  ledger.check();
}

TEST(LedgerPortsProperty, PortsOfLivingLeasesNeverMeetAndSurviveARestart) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "ports of leases");
    Ledger ledger;
    for (int n = 0; n < 3; ++n) ledger.add_node(node_of(6), {});
    std::vector<LeaseId> held;
    std::vector<JobId> ready;
    for (int step = 0; step < 200; ++step) {
      const NodeId node{static_cast<std::uint32_t>(random.below(3))};
      if (random.chance(0.5) && ledger.free().at(node).cpu >= kCore.cpu) {
        held.push_back(claim_on(ledger, kJob, node, kCore));
        if (random.chance(0.8)) {
          ASSERT_TRUE(
              ledger.take_ports(held.back(), static_cast<std::int32_t>(1 + random.below(9))));
        }
      } else if (!held.empty()) {
        const auto at = held.begin() + static_cast<std::ptrdiff_t>(random.below(held.size()));
        const bool ends = ledger.lease(*at).stage != LeaseStage::Held || random.chance(0.5);
        if (ends)
          ledger.release(*at, ready);
        else
          ledger.begin_release(*at, ready);
        if (ends) held.erase(at);
      }
      ledger.check();
    }
    ByteWriter out;
    Encoder encoder(out);
    encoder.put(ledger);
    ByteReader in{std::span<const std::byte>(out.bytes())};
    Decoder decoder(in);
    Ledger again;
    decoder.get(again);
    ASSERT_TRUE(decoder.ok() && in.finished());
    again.rebuild();
    again.check();
    EXPECT_EQ(again.ports(), ledger.ports());
    for (const LeaseId lease : held) again.release(lease, ready);
    EXPECT_EQ(again.ports().free(NodeId{0}), kPortsPerNode);
  }
}

}  // namespace
}  // namespace orrery
