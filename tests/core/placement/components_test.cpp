// Rules P1 to P19: devices of each component, and which groups and names are refused.
#include <gtest/gtest.h>

#include "tests/core/placement/placement_builders.hpp"

namespace orrery::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// The only component of a sound rule.
ComponentPlan place(const Inventory& inventory, const PlacementRule& rule) {
  PlacementErrors errors;
  auto plans = resolve_components(inventory, {rule}, errors);
  EXPECT_THAT(summary(errors), IsEmpty());
  return plans.size() == 1 ? plans.front() : ComponentPlan{};
}

std::vector<std::string> told(const Inventory& inventory, const std::vector<PlacementRule>& rules) {
  PlacementErrors errors;
  resolve_components(inventory, rules, errors);
  return summary(errors);
}

TEST(Components, EntriesSlicesAndBlocks) {
  const Inventory one = cluster_of({8});
  EXPECT_EQ(seats(place(one, rule("a", "0-1,5"))), "0@0:0 1@0:1 2@0:5");
  EXPECT_EQ(seats(place(one, rule("a", "0-3:0-1"))), "0@0:0,1 1@0:2,3");
  EXPECT_EQ(seats(place(one, rule("a", "6-7:0-3"))), "0@0:6 1@0:6 2@0:7 3@0:7");
  EXPECT_EQ(seats(place(one, rule("a", "0-1:0-3,3,7:5"))), "0@0:0 1@0:0 2@0:1 3@0:1 4@0:3 5@0:7");
  EXPECT_EQ(seats(place(one, rule("a", "aLl:0"))), "0@0:0,1,2,3,4,5,6,7");
}

TEST(Components, RanksInsideNodes) {
  const ComponentPlan plan = place(cluster_of({2, 0, 3}), rule("a", "all"));
  EXPECT_EQ(seats(plan), "0@0:0 1@0:1 2@2:0 3@2:1 4@2:2");
  EXPECT_EQ(node_ranks(plan), "0:0/2 0:1/2 1:0/3 1:1/3 1:2/3");
  EXPECT_THAT(plan.groups, ElementsAre("cluster"));
  EXPECT_THAT(plan.hardware_types, ElementsAre("Accelerator"));
}

TEST(Components, SeveralNamesHaveTheirOwnProcesses) {
  PlacementErrors errors;
  const auto plans =
      resolve_components(cluster_of({2}), {rule(" b , a ", "0-1"), rule("c", "0:0-2")}, errors);
  EXPECT_THAT(errors, IsEmpty());
  ASSERT_THAT(plans, SizeIs(3));
  EXPECT_EQ(plans[0].name, "b");
  EXPECT_EQ(plans[1].name, "a");
  EXPECT_EQ(plans[0].processes, plans[1].processes);
  EXPECT_EQ(plans[2].name, "c");
}

TEST(Components, NamesAreJudged) {
  const Inventory one = cluster_of({8});
  EXPECT_THAT(told(one, {rule("a,,b", "0")}), ElementsAre("parse component_name_empty@3:7"));
  EXPECT_THAT(told(one, {rule("", "0")}), ElementsAre("parse component_name_empty@3:5"));
  EXPECT_THAT(told(one, {rule("a, a", "0")}),
              ElementsAre("parse component_multiple_placements@3:8"));
  EXPECT_THAT(told(one, {rule("a", "0"), rule("b,a", "1"), rule("b", "2")}),
              ElementsAre("parse component_multiple_placements@3:7",
                          "parse component_multiple_placements@3:5"));
  // Names, groups and texts are judged independently.
  EXPECT_THAT(told(one, {rule("a,,a", "x", "nope")}),
              ElementsAre("parse component_name_empty@3:7",
                          "parse node_group_not_found@4:20",
                          "parse rank_format@5:20",
                          "parse component_multiple_placements@3:8"));
}

TEST(Components, ATextIsReadWhereItsGroupIsUnknown) {
  const Inventory one = cluster_of({8});
  // How many resources there are is not known: no range is checked, all has no count.
  EXPECT_THAT(told(one, {rule("a", "0-99,all,3-1,100:200", "nope")}),
              ElementsAre("parse node_group_not_found@4:20", "parse range_reversed@5:29"));
  PlacementRule missing = rule("a", "");
  missing.placement.reset();
  EXPECT_THAT(told(one, {missing}), ElementsAre("parse placement_missing@3:5"));
  missing.node_groups.push_back({"cluster", {4, 20}});
  EXPECT_THAT(told(one, {missing}), ElementsAre("parse placement_missing@4:20"));
}

TEST(Components, GroupsAreFoundByExactLabel) {
  Inventory inventory = cluster_of({2, 2, 2});
  add_group(inventory, "4090", {1});
  add_group(inventory, "A800", {2});
  EXPECT_EQ(seats(place(inventory, rule("a", "1", "4090"))), "0@1:1");
  EXPECT_EQ(seats(place(inventory, rule("a", "1-2", " A800 , 4090"))), "0@2:1 1@1:0");
  EXPECT_THAT(told(inventory, {rule("a", "0", "a800")}),
              ElementsAre("parse node_group_not_found@4:20"));
  EXPECT_THAT(told(inventory, {rule("a", "0", "4090,,x,x")}),
              ElementsAre("parse node_group_not_found@4:25", "parse node_group_not_found@4:26"));
  EXPECT_THAT(told(inventory, {rule("a", "0", "4090,4090, 4090")}),
              ElementsAre("parse node_group_repeated@4:25", "parse node_group_repeated@4:31"));
  PlacementRule list = rule("a", "1-2");
  list.node_groups = {{"4090", {4, 20}}, {"A800", {4, 30}}};
  EXPECT_EQ(seats(place(inventory, list)), "0@1:1 1@2:0");
  list.node_groups[1].text = "4090";
  EXPECT_THAT(told(inventory, {list}), ElementsAre("parse node_group_repeated@4:30"));
}

TEST(Components, ErrorsOfAGroupAreToldOnce) {
  Inventory inventory = cluster_of({2});
  inventory.unsound = {"broken"};
  EXPECT_THAT(told(inventory, {rule("a", "0-99", "broken")}), IsEmpty());
  EXPECT_THAT(told(inventory, {rule("a", "x", "broken")}), ElementsAre("parse rank_format@5:20"));
  // Without nodes nothing can be looked up.
  EXPECT_THAT(told(cluster_of({}), {rule("a", "0-99")}), IsEmpty());
}

TEST(Components, KindsOfGroups) {
  Inventory inventory = cluster_of({2, 0});
  add_group(inventory, "both", {0, 1});
  add_group(inventory, "cpu", {1});
  add_group(inventory, "blind", {0, 1}).ignore_hardware = true;
  add_robots(inventory, "arms", {0, 1}, {1, 1});
  EXPECT_EQ(seats(place(inventory, rule("a", "all", "both"))), "0@0:0 1@0:1");
  EXPECT_EQ(seats(place(inventory, rule("a", "all", "cpu"))), "0@1");
  EXPECT_EQ(seats(place(inventory, rule("a", "all", "blind"))), "0@0 1@1");
  EXPECT_EQ(seats(place(inventory, rule("a", "all", "node"))), "0@0 1@1");
  EXPECT_EQ(seats(place(inventory, rule("a", "all", "arms"))), "0@1:0 1@1:1");
  EXPECT_EQ(place(inventory, rule("a", "0", "arms")).processes[0].kind, ResourceKind::Custom);
  EXPECT_THAT(place(inventory, rule("a", "0", "arms")).hardware_types, ElementsAre("Franka"));
}

TEST(Components, AGroupWithoutHardwareTurnsAllIntoNodes) {
  Inventory inventory = cluster_of({4, 0, 0});
  add_group(inventory, "gpu", {0});
  add_group(inventory, "cpu", {1, 2});
  const ComponentPlan plan = place(inventory, rule("a", "all", "gpu,cpu"));
  EXPECT_EQ(seats(plan), "0@0 1@1 2@2");
  EXPECT_THAT(plan.hardware_types, ElementsAre("Node", "Node"));
  EXPECT_EQ(plan.processes[2].group, 1);
  EXPECT_THAT(told(inventory, {rule("a", "3", "gpu,cpu")}),
              ElementsAre("parse resource_out_of_range@5:20"));
}

TEST(Components, NodesOfGroupsMayNotOverlap) {
  Inventory inventory = cluster_of({4, 0});
  add_group(inventory, "gpu", {0, 1});
  add_group(inventory, "cpu", {1});
  EXPECT_THAT(told(inventory, {rule("a", "0", "gpu,cpu")}),
              ElementsAre("resolve node_groups_overlap@4:24"));
  // As devices they may.
  add_group(inventory, "again", {0});
  EXPECT_EQ(seats(place(inventory, rule("a", "3-4", "gpu,again"))), "0@0:3 1@0:0");
}

TEST(Components, ZeroResources) {
  Inventory inventory = cluster_of({4});
  add_robots(inventory, "arms", {0}, {});
  EXPECT_THAT(told(inventory, {rule("a", "0", "arms")}),
              ElementsAre("parse resource_out_of_range@5:20"));
  EXPECT_THAT(told(inventory, {rule("a", "all", "arms")}),
              ElementsAre("parse resource_empty@5:20"));
}

TEST(Components, AProcessStaysOnOneNode) {
  const Inventory two = cluster_of({8, 8});
  EXPECT_EQ(seats(place(two, rule("a", "5-10:0-1"))), "0@0:5,6,7 1@1:0,1,2");
  PlacementErrors errors;
  resolve_components(two, {rule("a", "0-1, 2-13:0-2,14-15:3")}, errors);
  // The second entry continues the first one's processes wrongly; nothing is resolved.
  EXPECT_THAT(summary(errors), ElementsAre("parse process_duplicate@5:30"));
  errors.clear();
  const auto plans = resolve_components(two, {rule("a", "0-1, 2-13:2-4,14-15:5")}, errors);
  EXPECT_THAT(plans, IsEmpty());
  EXPECT_THAT(summary(errors), ElementsAre("resolve process_spans_nodes@5:25"));
  EXPECT_THAT(errors[0].message(),
              HasSubstr("found resource 6 (Accelerator 6 of node 0) and resource 8 (Accelerator 0 "
                        "of node 1) for process 3"));
}

TEST(Components, FaultsAreToldOncePerEntry) {
  PlacementErrors errors;
  resolve_components(cluster_of({3, 3, 3}), {rule("a", "0-3:0-1,4-7:2,8")}, errors);
  EXPECT_THAT(summary(errors),
              ElementsAre("resolve process_spans_nodes@5:20", "resolve process_spans_nodes@5:28"));
  errors.clear();
  resolve_components(cluster_of({1, 1, 1, 1}), {rule("a", "all:0-1")}, errors);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(errors[0].found, HasSubstr("and likewise 1 further process"));
}

TEST(Components, AProcessHasOneTypeOfHardware) {
  Inventory inventory = cluster_of({2, 2});
  add_group(inventory, "gpu", {0});
  add_group(inventory, "again", {0});
  add_robots(inventory, "arms", {0, 1}, {0, 1});
  EXPECT_THAT(told(inventory, {rule("a", "1-2:0", "gpu,arms")}),
              ElementsAre("resolve process_mixed_hardware@5:20"));
  EXPECT_THAT(told(inventory, {rule("a", "1-3:0", "gpu,arms")}),
              ElementsAre("resolve process_spans_nodes@5:20"));
  // One device under two ranks.
  EXPECT_THAT(told(inventory, {rule("a", "0-2:0", "gpu,again")}),
              ElementsAre("resolve process_resource_duplicate@5:20"));
  EXPECT_EQ(seats(place(inventory, rule("a", "1-2:0", "gpu,again"))), "0@0:1,0");
}

TEST(Components, NodesMayComeInAnyOrderAndAgain) {
  Inventory inventory = cluster_of({2, 2});
  add_group(inventory, "gpu", {0, 1});
  add_robots(inventory, "arms", {0, 1}, {0, 1});
  const ComponentPlan plan = place(inventory, rule("env", "all", "gpu,arms"));
  EXPECT_EQ(seats(plan), "0@0:0 1@0:1 2@1:0 3@1:1 4@0:0 5@1:0");
  EXPECT_EQ(node_ranks(plan), "0:0/3 0:1/3 1:0/3 1:1/3 0:2/3 1:2/3");
}

TEST(Components, SoundComponentsAreResolvedBesideOthers) {
  PlacementErrors errors;
  const auto plans =
      resolve_components(cluster_of({8, 8}),
                         {rule("a", "6-9:0"), rule("b", "x"), rule("c", "0-1"), rule("d", "7-8:0")},
                         errors);
  ASSERT_THAT(plans, SizeIs(1));
  EXPECT_EQ(plans[0].name, "c");
  EXPECT_THAT(summary(errors),
              ElementsAre("parse rank_format@5:20",
                          "resolve process_spans_nodes@5:20",
                          "resolve process_spans_nodes@5:20"));
}

TEST(Components, ProcessesOfADocumentAreBounded) {
  const Inventory one = cluster_of({8});
  EXPECT_THAT(told(one, {rule("a,b,c", "0:0-333332")}), IsEmpty());
  EXPECT_THAT(told(one, {rule("a,b,c", "0:0-333333"), rule("d", "x")}),
              ElementsAre("parse rank_format@5:20", "parse rank_format@5:20"));
  EXPECT_THAT(told(one, {rule("a", "0:0-999999"), rule("b", "0")}),
              ElementsAre("parse rank_format@5:20"));
}

TEST(Components, WhatAProcessSees) {
  Inventory inventory = cluster_of({4, 0});
  add_robots(inventory, "arms", {0}, {0});
  add_group(inventory, "again", {0});
  const auto first = [&](const PlacementRule& r) { return place(inventory, r).processes.at(0); };
  const Process gpus = first(rule("a", "1-2:0"));
  EXPECT_THAT(visible_devices(inventory, gpus, true), ElementsAre(1, 2));
  EXPECT_THAT(visible_devices(inventory, gpus, false), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(local_accelerator_rank(inventory, gpus), 1);
  const Process robot = first(rule("a", "0", "arms"));
  EXPECT_THAT(visible_devices(inventory, robot, true), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(local_accelerator_rank(inventory, robot), 0);
  const Process cpu = first(rule("a", "1", "node"));
  EXPECT_THAT(visible_devices(inventory, cpu, true), IsEmpty());
  EXPECT_EQ(local_accelerator_rank(inventory, cpu), -1);
  const Process twice = first(rule("a", "3-4:0", "cluster,again"));
  EXPECT_THAT(visible_devices(inventory, twice, true), ElementsAre(0, 3));
  EXPECT_EQ(local_accelerator_rank(inventory, twice), 3);
}

TEST(Components, EnvironmentOfTheGroup) {
  Inventory inventory = cluster_of({1, 1});
  add_group(inventory, "a", {0, 1}).environments = {{1, {{"KEY", "1"}}, "/opt/python"}};
  const ComponentPlan plan = place(inventory, rule("x", "all", "a"));
  EXPECT_EQ(environment_of(inventory, plan, plan.processes[0]), nullptr);
  const NodeEnvironment* environment = environment_of(inventory, plan, plan.processes[1]);
  ASSERT_NE(environment, nullptr);
  EXPECT_EQ(environment->interpreter, "/opt/python");
  const ComponentPlan whole = place(inventory, rule("x", "all"));
  EXPECT_EQ(environment_of(inventory, whole, whole.processes[1]), nullptr);
}

}  // namespace
}  // namespace orrery::placement
