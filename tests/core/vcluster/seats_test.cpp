#include "core/vcluster/seats.hpp"

#include <gtest/gtest.h>

#include "core/job/worker_count.hpp"
#include "tests/core/vcluster/builders.hpp"

namespace orrery::vcluster {
namespace {

std::vector<WorkerSeat> seats(const std::vector<NodeOffer>& offers,
                              const VirtualClusterSpec& spec,
                              const WorkerGroupSpec& group) {
  const Forming got = form_one(offers, spec);
  EXPECT_EQ(got.outcome, Outcome::Formed) << got.reason;
  std::vector<WorkerSeat> out = worker_seats(spec, group, got.clusters.front());
  EXPECT_EQ(static_cast<std::int32_t>(out.size()), workers_of(spec, group));
  return out;
}

WorkerGroupSpec group() {
  WorkerGroupSpec out;
  out.virtual_cluster = "train";
  return out;
}

std::vector<std::uint32_t> nodes_of_seats(const std::vector<WorkerSeat>& seats) {
  std::vector<std::uint32_t> out;
  for (const WorkerSeat& seat : seats) out.push_back(seat.seat.node.value);
  return out;
}

TEST(Seats, OneWorkerForEachBundle) {
  const auto got = seats(nodes(2, 2), cluster({2, 2}), group());
  ASSERT_EQ(got.size(), 4U);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(got[rank].seat.node.value, rank / 2);
    EXPECT_EQ(got[rank].seat.devices, std::uint64_t{1} << (rank % 2));
    EXPECT_TRUE(got[rank].seat.share.is_whole());
    EXPECT_EQ(got[rank].tied_group, static_cast<std::int32_t>(rank));
    EXPECT_TRUE(got[rank].leader) << "a worker that is not tied leads itself";
  }
}

TEST(Seats, WorkersPerNodeTakeTheFirstBundles) {
  WorkerGroupSpec some = group();
  some.workers_per_node = {1, 0, 2};
  const auto got = seats(nodes(3, 4), cluster({4, 4, 4}), some);
  EXPECT_EQ(nodes_of_seats(got), (std::vector<std::uint32_t>{0, 2, 2}));
  EXPECT_EQ(got[2].bundle, 1);
  EXPECT_EQ(got[2].logical_node, 2);
  some.workers_per_node = {1};
  EXPECT_EQ(nodes_of_seats(seats(nodes(3, 4), cluster({4, 4, 4}), some)),
            (std::vector<std::uint32_t>{0, 1, 2}))
      << "one value stands for all";
}

TEST(Seats, OfAUnifiedVirtualClusterCountThroughIt) {
  WorkerGroupSpec some = group();
  some.workers_per_node = {5};
  EXPECT_EQ(nodes_of_seats(seats(nodes(2, 4), unified(8), some)),
            (std::vector<std::uint32_t>{0, 0, 0, 0, 1}));
}

TEST(Seats, TiedGroupsHaveALeader) {
  WorkerGroupSpec tied = group();
  tied.tied = {{1, {2, 3}}, {0, {0, 1}}};
  const auto got = seats(nodes(2, 4), cluster({4, 4}), tied);
  EXPECT_EQ(nodes_of_seats(got), (std::vector<std::uint32_t>{1, 1, 0, 0}))
      << "ranks follow the list";
  EXPECT_EQ(got[0].seat.devices, 4U);
  EXPECT_EQ(got[0].tied_group, 0);
  EXPECT_EQ(got[3].tied_group, 1);
  EXPECT_TRUE(got[0].leader && !got[1].leader && got[2].leader && !got[3].leader);
}

TEST(Seats, ATiedGroupOfAUnifiedVirtualClusterMayCrossNodes) {
  WorkerGroupSpec tied = group();
  tied.tied = {{0, {0, 1, 2, 3}}};
  EXPECT_EQ(nodes_of_seats(seats(nodes(2, 2), unified(4), tied)),
            (std::vector<std::uint32_t>{0, 0, 1, 1}));
}

TEST(Seats, LogicalNodesThatShareANodeKeepTheirBundles) {
  // Ranks of logical nodes 0, 2 stand before 1, 3: bundles are found by name, not by rank.
  const VirtualClusterSpec spec = cluster({5, 4, 3, 4});
  WorkerGroupSpec tied = group();
  tied.tied = {{1, {3}}, {2, {0}}};
  const auto got = seats(nodes(2, 8), spec, tied);
  EXPECT_EQ(nodes_of_seats(got), (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(got[0].seat.devices, 1U << 3);
  EXPECT_EQ(got[1].seat.devices, 1U << 5);
}

TEST(Seats, GroupsThatTakeTurnsSitOnTheSameBundles) {
  VirtualClusterSpec spec = cluster({2});
  spec.max_worker_groups = 2;
  const auto first = seats(nodes(1, 2), spec, group());
  const auto second = seats(nodes(1, 2), spec, group());
  EXPECT_EQ(first, second) << "the ledger lets them take turns";
}

}  // namespace
}  // namespace orrery::vcluster
