// Parts of devices in the ledger: what is left of each device is known to a search for room.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/random.hpp"
#include "core/cluster/ledger.hpp"
#include "core/record/codec.hpp"
#include "core/record/plan.hpp"
#include "tests/support/placing.hpp"

namespace orrery {
namespace {

NodeGroup nodes_of(std::int32_t count, std::int32_t devices) {
  NodeGroup group;
  group.name = "hosts";
  group.count = count;
  group.cpu = MilliCpu{64'000};
  group.memory = Bytes{1 << 20};
  group.devices = devices;
  group.device_model = "h200";
  return group;
}

Demand part(std::int32_t thousandths) {
  Demand demand;
  demand.devices = 1;
  demand.share = Share{thousandths};
  return demand;
}

Demand whole(std::int32_t devices) {
  Demand demand;
  demand.devices = devices;
  return demand;
}

/// What a look at every lease says about each device: shares that fit in all.
std::int64_t fit_by_leases(const Ledger& ledger, std::int32_t thousandths) {
  std::int64_t sum = 0;
  for (std::uint32_t n = 0; n < ledger.node_count(); ++n) {
    const LedgerNode& node = ledger.node(NodeId{n});
    std::vector<std::int32_t> left(static_cast<std::size_t>(node.devices), 1000);
    for (LeaseId l = node.first; !l.is_none(); l = ledger.lease(l).next) {
      const Lease& lease = ledger.lease(l);
      if (lease.stage == LeaseStage::Releasing) continue;
      for (std::size_t d = 0; d < left.size(); ++d)
        if ((lease.devices >> d & 1) != 0)
          left[d] -= static_cast<std::int32_t>(lease.demand.thousandths() / lease.demand.devices);
    }
    for (const std::int32_t here : left) sum += here / thousandths;
  }
  return sum;
}

TEST(LedgerShares, AGangFitsOntoTwoHalfFreeDevicesOfOneNode) {
  Ledger ledger;
  ledger.add_node(nodes_of(1, 2), DeviceModelId{0});
  (void)claim_on(ledger, JobId{1}, NodeId{0}, part(600));
  (void)claim_on(ledger, JobId{1}, NodeId{0}, part(600));
  std::vector<NodeCount> nodes;
  EXPECT_TRUE(find_gang(ledger, part(400), 2, nodes));
  nodes.clear();
  ledger.count_parts(false);
  EXPECT_FALSE(find_gang(ledger, part(400), 2, nodes)) << "as journals from before have it";
  ledger.count_parts(true);
  EXPECT_TRUE(find_gang(ledger, part(400), 2, nodes));
}

TEST(LedgerShares, AGangFitsWhereTheLeasesLeaveRoomAndNowhereElse) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "ledger shares");
    Ledger ledger;
    const auto count = static_cast<std::int32_t>(random.between(1, 3));
    const auto devices = static_cast<std::int32_t>(random.between(1, 4));
    const NodeGroup group = nodes_of(1, devices);
    for (std::int32_t i = 0; i < count; ++i) ledger.add_node(group, DeviceModelId{0});
    std::vector<LeaseId> held;
    std::vector<JobId> ready;
    for (int step = 0; step < 60; ++step) {
      if (!held.empty() && random.chance(0.4)) {
        std::swap(held[random.below(held.size())], held.back());
        if (random.chance(0.5)) ledger.begin_release(held.back(), ready);
        if (!ledger.lease(held.back()).owner.is_none()) ledger.release(held.back(), ready);
        held.pop_back();
      } else {
        const auto thousandths = static_cast<std::int32_t>(random.between(1, 999));
        const auto replicas = static_cast<std::int32_t>(random.between(1, 5));
        const bool parts = random.chance(0.8);
        const Demand demand = parts ? part(thousandths) : whole(1);
        std::vector<NodeCount> nodes;
        const bool fits = find_gang(ledger, demand, replicas, nodes);
        ASSERT_EQ(fits, fit_by_leases(ledger, parts ? thousandths : 1000) >= replicas);
        for (const NodeCount& n : nodes)
          for (std::int32_t i = 0; i < n.replicas; ++i)
            held.push_back(claim_on(ledger, JobId{1}, n.node, demand));
      }
      ledger.check();
    }
  }
}

}  // namespace
}  // namespace orrery
