// Which variables show which devices.
#include "core/workers/visibility.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.hpp"

namespace orrery::workers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DeviceView, NamesDevicesAsAssignedVisibleAndInProcess) {
  const DeviceView own = device_view(0b1010, 4, Sight::Own);
  EXPECT_THAT(own.assigned, ElementsAre(1, 3));
  EXPECT_THAT(own.visible, ElementsAre(1, 3));
  EXPECT_THAT(own.in_process, ElementsAre(0, 1));
  EXPECT_EQ(own.first(), 1);

  const DeviceView node = device_view(0b1010, 4, Sight::Node);
  EXPECT_THAT(node.assigned, ElementsAre(1, 3));
  EXPECT_THAT(node.visible, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(node.in_process, ElementsAre(1, 3));
  EXPECT_EQ(node.first(), 1);
}

TEST(DeviceView, AProcessWithoutDevicesSeesNoneUnlessItAskedForTheNode) {
  EXPECT_THAT(device_view(0, 4, Sight::Own).visible, IsEmpty());
  EXPECT_EQ(device_view(0, 4, Sight::Own).first(), -1);
  EXPECT_THAT(device_view(0, 4, Sight::Node).visible, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(device_view(0, 4, Sight::Node).first(), 0);
  EXPECT_THAT(device_view(0, 0, Sight::Node).visible, IsEmpty());
}

struct Case {
  DeviceVendor vendor;
  std::uint64_t assigned;
  Sight sight;
  std::vector<KeyValue> computed;
  std::vector<KeyValue> suggested;
  std::vector<std::string_view> reserved;
};

TEST(Visibility, FollowsTheVendor) {
  const std::vector<std::string_view> amd{
      "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES"};
  const KeyValue by_bus{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"};
  const std::vector<Case> cases{
      {DeviceVendor::Nvidia,
       0b0110,
       Sight::Own,
       {by_bus, {"CUDA_VISIBLE_DEVICES", "1,2"}},
       {{"MUJOCO_EGL_DEVICE_ID", "1"}},
       {}},
      {DeviceVendor::Nvidia,
       0b0100,
       Sight::Node,
       {by_bus, {"CUDA_VISIBLE_DEVICES", "0,1,2,3"}},
       {{"MUJOCO_EGL_DEVICE_ID", "2"}},
       {}},
      {DeviceVendor::Nvidia, 0, Sight::Own, {by_bus, {"CUDA_VISIBLE_DEVICES", ""}}, {}, {}},
      {DeviceVendor::Amd, 0b1000, Sight::Own, {{"HIP_VISIBLE_DEVICES", "3"}}, {}, amd},
      {DeviceVendor::Amd, 0, Sight::Own, {{"HIP_VISIBLE_DEVICES", "-1"}}, {}, amd},
      {DeviceVendor::Amd, 0, Sight::Node, {{"HIP_VISIBLE_DEVICES", "0,1,2,3"}}, {}, amd},
      {DeviceVendor::Ascend, 0b0011, Sight::Own, {{"ASCEND_RT_VISIBLE_DEVICES", "0,1"}}, {}, {}},
      {DeviceVendor::Ascend, 0, Sight::Own, {{"ASCEND_RT_VISIBLE_DEVICES", ""}}, {}, {}},
      {DeviceVendor::Custom, 0b0001, Sight::Own, {{"ORRERY_VISIBLE_DEVICES", "0"}}, {}, {}},
  };
  for (const Case& one : cases) {
    const Visibility found = visibility_of(one.vendor, device_view(one.assigned, 4, one.sight));
    EXPECT_EQ(found.computed, one.computed) << to_string(one.vendor);
    EXPECT_EQ(found.suggested, one.suggested) << to_string(one.vendor);
    EXPECT_EQ(found.reserved, one.reserved) << to_string(one.vendor);
  }
}

TEST(Visibility, OfCustomDevicesHasTheNameChosen) {
  const Visibility found =
      visibility_of(DeviceVendor::Custom, device_view(0b10, 2, Sight::Own), "MACA_VISIBLE_DEVICES");
  EXPECT_EQ(found.computed, (std::vector<KeyValue>{{"MACA_VISIBLE_DEVICES", "1"}}));
}

void expect_shown(DeviceVendor vendor, const DeviceView& view) {
  const Visibility found = visibility_of(vendor, view);
  int showing = 0;
  for (const KeyValue& variable : found.computed) {
    if (variable.key != visibility_variable(vendor)) continue;
    ++showing;
    const bool is_none = variable.value.empty() || variable.value == "-1";
    EXPECT_EQ(is_none, view.visible.empty());
    if (!is_none) {
      EXPECT_EQ(variable.value, number_list(view.visible));
    }
  }
  EXPECT_EQ(showing, 1);
}

TEST(VisibilityProperty, ShowsDevicesOfTheNodeAndOnlyItsOwnWhereIsolated) {
  const std::uint64_t seed = 99;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 500; ++round) {
    const auto on_node = static_cast<std::int32_t>(random.between(0, 64));
    const std::uint64_t all = on_node == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << on_node) - 1;
    const Sight sight = random.chance(0.5) ? Sight::Own : Sight::Node;
    const DeviceView view = device_view(random.bits() & all, on_node, sight);
    EXPECT_TRUE(std::ranges::is_sorted(view.visible));
    EXPECT_TRUE(std::ranges::includes(view.visible, view.assigned));
    for (const std::int32_t device : view.visible) EXPECT_LT(device, on_node);
    if (sight == Sight::Own) {
      EXPECT_EQ(view.visible, view.assigned);
    }
    ASSERT_EQ(view.in_process.size(), view.assigned.size());
    for (std::size_t i = 0; i < view.assigned.size(); ++i)
      EXPECT_EQ(view.visible[static_cast<std::size_t>(view.in_process[i])], view.assigned[i]);
    for (const DeviceVendor vendor :
         {DeviceVendor::Nvidia, DeviceVendor::Amd, DeviceVendor::Ascend, DeviceVendor::Custom})
      expect_shown(vendor, view);
  }
}

}  // namespace
}  // namespace orrery::workers
