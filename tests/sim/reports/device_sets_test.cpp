#include "sim/reports/device_sets.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::sim {
namespace {

std::string set_of(const std::vector<DevicePart>& parts) {
  const std::vector<NodeGroup> groups{{.name = "a", .count = 2, .devices = 4},
                                      {.name = "b", .count = 2, .devices = 64}};
  std::string out;
  append_device_set(Timeline(groups), parts, out);
  return out;
}

TEST(DeviceSets, NumbersDevicesThroughTheClusterAndJoinsNeighbours) {
  EXPECT_EQ(set_of({{NodeId(0), 0b1100}, {NodeId(1), 0b11}, {NodeId(2), 0b10000001}}), "2-5 8 15");
  EXPECT_EQ(set_of({{NodeId(1), 0b1000}, {NodeId(2), ~std::uint64_t{0}}, {NodeId(3), 1}}), "7-72");
  EXPECT_EQ(set_of({{NodeId(2), ~std::uint64_t{0} << 63}}), "71");
  EXPECT_EQ(set_of({}), "");
}

TEST(DeviceSets, SharesOfOneDeviceCountAsThatDevice) {
  EXPECT_EQ(set_of({{NodeId(0), 0b10, 300}, {NodeId(0), 0b10, 500}, {NodeId(0), 0b1000}}), "1 3");
}

}  // namespace
}  // namespace orrery::sim
