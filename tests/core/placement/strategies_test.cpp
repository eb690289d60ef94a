// Rules S1 to S3.
#include <gtest/gtest.h>

#include "tests/core/placement/placement_builders.hpp"

namespace orrery::placement {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<PlacedText> kWhole;

template <class Strategy>
ComponentPlan place(const Inventory& inventory,
                    const Strategy& strategy,
                    const std::vector<PlacedText>& labels = kWhole) {
  PlacementErrors errors;
  ComponentPlan plan = resolve_strategy(inventory, strategy, labels, errors);
  EXPECT_THAT(summary(errors), IsEmpty());
  EXPECT_EQ(plan.name, "_");
  return plan;
}

template <class Strategy>
std::vector<std::string> told(const Inventory& inventory,
                              const Strategy& strategy,
                              const std::vector<PlacedText>& labels = kWhole) {
  PlacementErrors errors;
  const ComponentPlan plan = resolve_strategy(inventory, strategy, labels, errors);
  EXPECT_THAT(plan.processes, IsEmpty());
  return summary(errors);
}

TEST(PackedStrategy, FillsFromTheLowestFreeResource) {
  const Inventory one = cluster_of({8});
  EXPECT_EQ(seats(place(one, PackedStrategy{2, 4})), "0@0:2 1@0:3 2@0:4");
  EXPECT_EQ(seats(place(one, PackedStrategy{0, 7, 4, 1})), "0@0:0,1,2,3 1@0:4,5,6,7");
  EXPECT_EQ(seats(place(one, PackedStrategy{0, 7, 2, 2})), "0@0:0,2 1@0:1,3 2@0:4,6 3@0:5,7");
  EXPECT_EQ(seats(place(one, PackedStrategy{1, 6, 2, 3})), "0@0:1,4 1@0:2,5 2@0:3,6");
}

TEST(PackedStrategy, StaysOnNodes) {
  EXPECT_EQ(seats(place(cluster_of({2, 2}), PackedStrategy{1, 2})), "0@0:1 1@1:0");
  EXPECT_THAT(told(cluster_of({3, 3}), PackedStrategy{0, 5, 2, 1}),
              ElementsAre("resolve process_spans_nodes@0:0"));
  EXPECT_THAT(told(cluster_of({8, 8}), PackedStrategy{7, 8, 2, 1}),
              ElementsAre("resolve process_spans_nodes@0:0"));
}

TEST(PackedStrategy, ArgumentsAreJudged) {
  const Inventory one = cluster_of({4});
  EXPECT_THAT(told(one, PackedStrategy{0, 3, 1, 5}), ElementsAre("parse not_divisible@0:0"));
  EXPECT_THAT(told(one, PackedStrategy{0, 2, 4, 1}), ElementsAre("parse not_divisible@0:0"));
  EXPECT_THAT(told(one, PackedStrategy{0, 3, 0, 1}), ElementsAre("parse not_divisible@0:0"));
  EXPECT_THAT(told(one, PackedStrategy{0, 3, 1, -1}), ElementsAre("parse not_divisible@0:0"));
  EXPECT_THAT(told(one, PackedStrategy{-1, 3}), ElementsAre("parse resource_out_of_range@0:0"));
  EXPECT_THAT(told(one, PackedStrategy{3, 1}), ElementsAre("parse range_reversed@0:0"));
  EXPECT_THAT(told(one, PackedStrategy{4, 7}), ElementsAre("resolve resource_out_of_range@0:0"));
  EXPECT_THAT(told(one, PackedStrategy{0, 2147483647, 2147483647, 2147483647}),
              ElementsAre("parse not_divisible@0:0"));
  EXPECT_THAT(told(one, PackedStrategy{0, 2147483647}),
              ElementsAre("resolve resource_out_of_range@0:0"));
}

TEST(Strategies, GroupsAreJudged) {
  Inventory inventory = cluster_of({2, 0});
  add_group(inventory, "cpu", {1});
  const PackedStrategy packed{0, 0};
  EXPECT_THAT(told(inventory, packed, {{"node", {4, 2}}}), ElementsAre("resolve no_hardware@4:2"));
  EXPECT_THAT(told(inventory, packed, {{"cluster,cpu", {4, 2}}}),
              ElementsAre("resolve no_hardware@4:2"));
  EXPECT_THAT(told(inventory, FlexibleStrategy{{{0}}}, {{"cpu", {4, 2}}}),
              ElementsAre("resolve no_hardware@4:2"));
  EXPECT_THAT(told(inventory, packed, {{"nope", {4, 2}}}),
              ElementsAre("parse node_group_not_found@4:2"));
  EXPECT_THAT(told(inventory, PackedStrategy{3, 1}, {{"cpu,cpu", {4, 2}}}),
              ElementsAre("parse range_reversed@4:2", "parse node_group_repeated@4:6"));
}

TEST(FlexibleStrategy, SortsInsideAndAmongProcesses) {
  const Inventory two = cluster_of({4, 4});
  EXPECT_EQ(seats(place(two, FlexibleStrategy{{{5}, {1}, {2, 0}, {1}}})),
            "0@0:0,2 1@0:1 2@0:1 3@1:1");
}

TEST(FlexibleStrategy, ListsAreJudged) {
  const Inventory two = cluster_of({4, 4});
  EXPECT_THAT(told(two, FlexibleStrategy{}), ElementsAre("parse placement_empty@0:0"));
  EXPECT_THAT(told(two, FlexibleStrategy{{{0}, {}}}), ElementsAre("parse resource_empty@0:0"));
  EXPECT_THAT(told(two, FlexibleStrategy{{{-1}, {}, {0, -2}}}),
              ElementsAre("parse resource_out_of_range@0:0",
                          "parse resource_empty@0:0",
                          "parse resource_out_of_range@0:0"));
  EXPECT_THAT(told(two, FlexibleStrategy{{{0, 4}, {8}, {2, 2}}}),
              ElementsAre("resolve process_spans_nodes@0:0",
                          "resolve process_resource_duplicate@0:0",
                          "resolve resource_out_of_range@0:0"));
  Inventory robots = cluster_of({2});
  add_robots(robots, "arms", {0}, {0});
  EXPECT_THAT(told(robots, FlexibleStrategy{{{0, 2}}}, {{"cluster,arms", {1, 1}}}),
              ElementsAre("resolve process_mixed_hardware@1:1"));
}

TEST(NodeStrategy, OneProcessForEachNodeNamed) {
  Inventory inventory = cluster_of({2, 0, 1});
  add_group(inventory, "tail", {1, 2});
  add_robots(inventory, "arms", {0}, {0});
  const ComponentPlan plan = place(inventory, NodeStrategy{{1, 0, 1}});
  EXPECT_EQ(seats(plan), "0@0 1@1 2@1");
  EXPECT_EQ(node_ranks(plan), "0:0/1 1:0/2 1:1/2");
  EXPECT_THAT(plan.groups, ElementsAre("cluster"));
  EXPECT_THAT(plan.hardware_types, ElementsAre("Node"));
  EXPECT_EQ(seats(place(inventory, NodeStrategy{{1}}, {{"tail", {}}})), "0@2");
  EXPECT_EQ(seats(place(inventory, NodeStrategy{{0, 1}}, {{"arms,tail", {}}})), "0@0 1@1");
}

TEST(NodeStrategy, ListsAreJudged) {
  Inventory inventory = cluster_of({2, 0});
  add_group(inventory, "a", {0, 1});
  EXPECT_THAT(told(inventory, NodeStrategy{}), ElementsAre("parse placement_empty@0:0"));
  EXPECT_THAT(told(inventory, NodeStrategy{{2, 0, -1, 2}}),
              ElementsAre("resolve node_out_of_range@0:0", "resolve node_out_of_range@0:0"));
  EXPECT_THAT(told(inventory, NodeStrategy{{0}}, {{"cluster", {1, 1}}, {"a", {1, 9}}}),
              ElementsAre("resolve node_groups_overlap@1:9"));
}

}  // namespace
}  // namespace orrery::placement
