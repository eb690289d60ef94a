// Every reason names what binds and by how much.

#include <gtest/gtest.h>

#include <array>

#include "tests/core/vcluster/builders.hpp"

namespace orrery::vcluster {
namespace {

void expect(const Forming& got, Outcome outcome, const std::string& reason) {
  EXPECT_EQ(got.outcome, outcome);
  EXPECT_EQ(got.reason, reason);
}

VirtualClusterSpec in_one_domain(std::int32_t nodes) {
  VirtualClusterSpec spec = cluster(std::vector<std::int32_t>(static_cast<std::size_t>(nodes), 8),
                                    BundleStrategy::StrictSpread);
  spec.segment_by = SegmentBy::NvlinkDomain;
  return spec;
}

TEST(Reasons, TheBestDomain) {
  std::vector<NodeOffer> offers = nodes(8, 8, 4);
  leave_free(offers[0], 7);
  leave_free(offers[5], 7);
  expect(form_one(offers, in_one_domain(4)),
         Outcome::Waiting,
         "virtual cluster train: needs 4 nodes with 8 free devices each in one NVLink domain; the "
         "best NVLink domain has 3");
  expect(form_one(offers, in_one_domain(5)),
         Outcome::Infeasible,
         "virtual cluster train: needs 5 nodes with 8 devices each in one NVLink domain; the best "
         "NVLink domain has 4");
}

TEST(Reasons, Segments) {
  std::vector<NodeOffer> offers = nodes(8, 8, 4);
  offers[0].usable = false;
  VirtualClusterSpec spec = in_one_domain(8);
  spec.segment_size = 2;
  expect(form_one(offers, spec),
         Outcome::Waiting,
         "virtual cluster train: needs 4 segments of 2 nodes with 8 free devices each, every "
         "segment in one NVLink domain; there is room for 3");
}

TEST(Reasons, NoDomainDeclared) {
  expect(form_one(nodes(8, 8), in_one_domain(2)),
         Outcome::Infeasible,
         "virtual cluster train: needs nodes with a declared NVLink domain; no declared node that "
         "could serve has one");
}

TEST(Reasons, NoSuchModel) {
  VirtualClusterSpec spec = cluster({8});
  spec.device_model = "b200";
  expect(form_one(nodes(8, 8), spec, DeviceModelId{5}),
         Outcome::Infeasible,
         "virtual cluster train: needs 8 b200 devices; no declared node has such devices");
  std::vector<NodeOffer> offers = nodes(1, 8);
  offers[0].usable = false;
  expect(form_one(offers, spec, DeviceModelId{0}),
         Outcome::Waiting,
         "virtual cluster train: needs 8 free b200 devices; no usable node has such devices");
}

TEST(Reasons, OneModelForAVirtualCluster) {
  std::vector<NodeOffer> offers = nodes(2, 4);
  add_nodes(offers, 2, 4, 0, 1);
  expect(form_one(offers, cluster({4, 4, 4})),
         Outcome::Infeasible,
         "virtual cluster train: needs 3 logical nodes with 4 devices each; the declared nodes "
         "have room for 2 on "
         "devices of one model, and all devices of a virtual cluster are of one; of all models "
         "together the declared nodes have room for 4");
  expect(form_one(offers, cluster({1, 4, 4})),
         Outcome::Infeasible,
         "virtual cluster train: needs 9 bundles with 1 device each; the declared nodes have room "
         "for 8 on "
         "devices of one model, and all devices of a virtual cluster are of one; of all models "
         "together the declared nodes have room for 16 bundles");
}

TEST(Reasons, TooFewOfOneModelForSeveralVirtualClusters) {
  std::vector<NodeOffer> offers = nodes(2, 4);
  add_nodes(offers, 2, 4, 0, 1);
  VirtualClusterSpec one = cluster({4, 4});
  one.device_model = "h100";
  VirtualClusterSpec two = cluster({4});
  two.name = "generate";
  two.device_model = "h100";
  const std::array<BundleRequest, 2> requests{BundleRequest{&one, DeviceModelId{0}},
                                              BundleRequest{&two, DeviceModelId{0}}};
  expect(form(offers, requests),
         Outcome::Infeasible,
         "virtual clusters train and generate: each finds a place by itself, not side by side; "
         "together they need 12 h100 devices, 8 are declared");
}

TEST(Reasons, NoNodeIsLargeEnough) {
  std::vector<NodeOffer> offers = nodes(2, 8);
  leave_free(offers[0], 6);
  leave_free(offers[1], 5);
  expect(form_one(offers, cluster({8, 8})),
         Outcome::Waiting,
         "virtual cluster train: needs a node with 8 free devices; the most on one node is 6");
  expect(form_one(offers, cluster({16})),
         Outcome::Infeasible,
         "virtual cluster train: needs a node with 16 devices; the most on one node is 8");
}

TEST(Reasons, CoresAndMemory) {
  VirtualClusterSpec spec = cluster({8});
  spec.cpu_per_bundle = MilliCpu{8500};
  spec.memory_per_bundle = Bytes{std::int64_t{16} << 30};
  expect(form_one(nodes(3, 8), spec),
         Outcome::Infeasible,
         "virtual cluster train: needs a node with 8 devices, 68 cores and 128 GiB of memory; of 3 "
         "nodes with the devices none has the cores");
  spec.cpu_per_bundle = MilliCpu{1000};
  std::vector<NodeOffer> offers = nodes(3, 8);
  for (NodeOffer& offer : offers) offer.memory_free = Bytes{1};
  expect(form_one(offers, spec),
         Outcome::Waiting,
         "virtual cluster train: needs a node with 8 free devices, 8 cores and 128 GiB of memory; "
         "of 3 nodes with the devices none has the memory");
}

TEST(Reasons, TooFewNodes) {
  std::vector<NodeOffer> offers = nodes(4, 8);
  offers[3].cpu_free = MilliCpu{1000};
  VirtualClusterSpec spec = cluster({8, 8, 8, 8});
  spec.cpu_per_bundle = MilliCpu{1000};
  expect(form_one(offers, spec),
         Outcome::Waiting,
         "virtual cluster train: needs 4 logical nodes with 8 free devices and 8 cores each; there "
         "is room for 3 (4 nodes have the devices and 3 also the cores)");
  expect(form_one(offers, cluster({8, 8, 8, 8, 8}, BundleStrategy::StrictSpread)),
         Outcome::Infeasible,
         "virtual cluster train: needs 5 nodes with 8 devices each; the declared nodes have room "
         "for 4");
}

TEST(Reasons, TooFewBundles) {
  expect(form_one(nodes(2, 8), unified(17)),
         Outcome::Infeasible,
         "virtual cluster train: needs 17 bundles with 1 device each; the declared nodes have room "
         "for 16");
}

TEST(Reasons, SizesThatDoNotGoTogether) {
  expect(form_one(nodes(2, 8), cluster({5, 5, 4})),
         Outcome::Infeasible,
         "virtual cluster train: logical nodes of 5, 5 and 4 bundles with 1 device each find no "
         "place together though the declared nodes have room for 16 bundles");
  expect(form_one(nodes(2, 8), cluster({8, 8, 4})),
         Outcome::Infeasible,
         "virtual cluster train: needs 20 bundles with 1 device each; the declared nodes have room "
         "for 16");
}

TEST(Reasons, NotSideBySide) {
  const std::vector<NodeOffer> offers = nodes(3, 8);
  const VirtualClusterSpec train = cluster({8, 8});
  VirtualClusterSpec gen = cluster({8, 8});
  gen.name = "gen";
  const std::vector<BundleRequest> requests{{&train, {}}, {&gen, {}}};
  expect(form(offers, requests),
         Outcome::Infeasible,
         "virtual clusters train and gen: each finds a place by itself, not side by side; together "
         "they need 32 devices, 24 are declared");
}

TEST(Reasons, OfTheOneThatDoesNotFitByItself) {
  const std::vector<NodeOffer> offers = nodes(3, 8);
  const VirtualClusterSpec train = cluster({8});
  VirtualClusterSpec gen = cluster({8, 8, 8, 8});
  gen.name = "gen";
  const std::vector<BundleRequest> requests{{&train, {}}, {&gen, {}}};
  expect(form(offers, requests),
         Outcome::Infeasible,
         "virtual cluster gen: needs 4 logical nodes with 8 devices each; the declared nodes have "
         "room for 3");
}

TEST(Reasons, ATrialGivesNone) {
  const VirtualClusterSpec spec = cluster({9});
  const BundleRequest request{&spec, {}};
  const Forming got = try_form(nodes(1, 8), {&request, 1});
  expect(got, Outcome::Waiting, "");
}

TEST(Reasons, AnUnusableNodeCountsForEver) {
  std::vector<NodeOffer> offers = nodes(2, 8);
  offers[1].usable = false;
  expect(form_one(offers, cluster({8, 8})),
         Outcome::Waiting,
         "virtual cluster train: needs 2 logical nodes with 8 free devices each; there is room for "
         "1");
}

}  // namespace
}  // namespace orrery::vcluster
