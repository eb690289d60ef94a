// What sets the placers apart.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "core/placer/registry.hpp"

namespace orrery {
namespace {

using Nodes = std::vector<NodeCount>;

FreeIndex with_devices(std::initializer_list<std::int32_t> devices) {
  FreeIndex index;
  for (const std::int32_t n : devices)
    index.add({MilliCpu{64'000}, Bytes{1 << 20}, n, 0, DeviceModelId{0}, true});
  return index;
}

Nodes placed(std::string_view placer, const FreeIndex& index, const PlacementRequest& request) {
  CapacityTrial trial;
  trial.sync(index);
  Nodes nodes;
  EXPECT_TRUE(placers::find(placer)->place(request, trial, nodes));
  return nodes;
}

PlacementRequest one_device_each(std::int32_t replicas) {
  PlacementRequest request;
  request.demand.devices = 1;
  request.replicas = replicas;
  return request;
}

TEST(Placers, BestFitTakesTheTightestNodeAndMostFreeTheEmptiest) {
  const FreeIndex index = with_devices({8, 2, 4});
  EXPECT_EQ(placed("best_fit", index, one_device_each(2)), (Nodes{{NodeId{1}, 2}}));
  EXPECT_EQ(placed("most_free", index, one_device_each(2)), (Nodes{{NodeId{0}, 2}}));
}

TEST(Placers, MostFreeGoesOnWithTheNextEmptiestAndTheLowerIdOfEqualOnes) {
  const FreeIndex index = with_devices({3, 4, 4});
  EXPECT_EQ(placed("most_free", index, one_device_each(9)),
            (Nodes{{NodeId{1}, 4}, {NodeId{2}, 4}, {NodeId{0}, 1}}));
}

TEST(Placers, ANodeToAvoidGetsNone) {
  const FreeIndex index = with_devices({8, 2, 4});
  PlacementRequest request = one_device_each(2);
  request.avoid = NodeId{1};
  EXPECT_EQ(placed("best_fit", index, request), (Nodes{{NodeId{2}, 2}}));
  request.avoid = NodeId{0};
  EXPECT_EQ(placed("most_free", index, request), (Nodes{{NodeId{2}, 2}}));
}

TEST(Placers, SettingsNameThemWithOrWithoutAVersionOrNotAtAll) {
  EXPECT_EQ(placers::named("").name(), placers::initial().name());
  for (const placers::PlacerRow& row : placers::rows()) {
    EXPECT_EQ(&placers::named(row.name), &row.placer);
    EXPECT_EQ(&placers::named(row.placer.name()), &row.placer);
    EXPECT_NE(placers::names_text().find(row.placer.name()), std::string::npos);
  }
  EXPECT_FALSE(placers::is_known("worst_fit"));
}

}  // namespace
}  // namespace orrery
