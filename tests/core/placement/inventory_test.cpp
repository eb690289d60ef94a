// Rules C1, C2, C4 and C5: declarations of node groups.
#include "core/placement/inventory.hpp"

#include <gtest/gtest.h>

#include "tests/core/placement/placement_builders.hpp"

namespace orrery::placement {
namespace inventory_tests {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A group whose label is at line 1, node_ranks at line 2, hardware at line 3, column 3.
GroupDeclaration group(std::string label, std::string nodes) {
  GroupDeclaration out;
  out.label = {std::move(label), {1, 10}};
  out.node_ranks = {std::move(nodes), {2, 15}};
  return out;
}

/// The entry of index i is at line 10 + i.
GroupDeclaration robots(std::string label,
                        std::string nodes,
                        const std::vector<HardwareEntry>& entries) {
  GroupDeclaration out = group(std::move(label), std::move(nodes));
  out.hardware = GroupHardware{{"Franka", {3, 3}}, entries};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    out.hardware->entries[i].at = {10 + static_cast<int>(i), 1};
  }
  return out;
}

GroupEnvironment environment(std::string nodes, std::vector<KeyValue> variables) {
  GroupEnvironment out;
  out.node_ranks = {std::move(nodes), {20, 15}};
  for (std::size_t i = 0; i < variables.size(); ++i) {
    out.variables_at.push_back({30 + static_cast<int>(i), 1});
  }
  out.variables = std::move(variables);
  out.at = {19, 1};
  return out;
}

struct Made {
  Inventory inventory;
  PlacementErrors errors;
};

Made make(const std::vector<GroupDeclaration>& groups, std::size_t nodes = 4) {
  Made made;
  made.inventory = make_inventory(
      std::vector<InventoryNode>(nodes), groups, built_in_hardware_types(), made.errors);
  return made;
}

std::vector<std::string> told(const std::vector<GroupDeclaration>& groups) {
  const Made made = make(groups);
  // Whatever is told about, its group is not used.
  EXPECT_EQ(made.errors.empty(), made.inventory.groups.size() == groups.size());
  return summary(made.errors);
}

TEST(MakeInventory, SoundGroups) {
  GroupDeclaration arms =
      robots("arms", "3,0-1", {{3, {{"robot_ip", "b"}}, {}}, {0, {}, {}}, {3, {}, {}}});
  arms.environments = {environment("3", {{"A", "1"}}), environment("0-1", {{"A", "2"}})};
  const Made made = make({arms, group("4090", " all ")});
  EXPECT_THAT(made.errors, IsEmpty());
  ASSERT_THAT(made.inventory.groups, SizeIs(2));
  const InventoryGroup& first = made.inventory.groups[0];
  EXPECT_THAT(first.node_ranks, ElementsAre(0, 1, 3));
  ASSERT_THAT(first.hardware, SizeIs(3));
  EXPECT_EQ(first.hardware[0].node_rank, 0);
  EXPECT_THAT(first.hardware[1].fields, SizeIs(1)) << "in order of declaration on a node";
  ASSERT_THAT(first.environments, SizeIs(3));
  EXPECT_EQ(first.environments[2].node_rank, 3);
  EXPECT_EQ(first.environments[2].variables[0].value, "1");
  EXPECT_EQ(made.inventory.find("4090")->node_ranks.size(), 4U);
  EXPECT_EQ(made.inventory.find("cluster"), nullptr);
}

TEST(MakeInventory, NodeRanks) {
  EXPECT_THAT(told({group("a", "one-two")}), ElementsAre("config rank_format@2:15"));
  EXPECT_THAT(told({group("a", "")}), ElementsAre("config rank_format@2:15"));
  EXPECT_THAT(told({group("a", "0,3-1")}), ElementsAre("config range_reversed@2:17"));
  EXPECT_THAT(told({group("a", "4")}), ElementsAre("config node_rank_out_of_range@2:15"));
  EXPECT_THAT(
      told({group("a", "0, 2-4000000000,9")}),
      ElementsAre("config node_rank_out_of_range@2:18", "config node_rank_out_of_range@2:31"));
}

TEST(MakeInventory, Labels) {
  EXPECT_THAT(told({group("cluster", "0")}), ElementsAre("config reserved_label@1:10"));
  EXPECT_THAT(told({group("node", "0")}), ElementsAre("config reserved_label@1:10"));
  EXPECT_THAT(told({group("a", "0"), group("a", "1"), group("A", "1"), group("a", "2")}),
              ElementsAre("config duplicate_label@1:10", "config duplicate_label@1:10"));
  const Made made = make({group("a", "0"), group("a", "1"), group("cluster", "0")});
  EXPECT_THAT(made.inventory.groups, IsEmpty());
  // Reserved labels stay usable.
  EXPECT_THAT(made.inventory.unsound, ElementsAre("a"));
}

TEST(MakeInventory, Hardware) {
  GroupDeclaration unknown = robots("a", "0", {{0, {}, {}}});
  unknown.hardware->type.text = "Teleporter";
  EXPECT_THAT(told({unknown}), ElementsAre("config hardware_type_unsupported@3:3"));
  EXPECT_THAT(told({robots("a", "0", {{0, {{"colour", "1"}, {"shape", "2"}}, {}}})}),
              ElementsAre("config unknown_field@10:1"));
  EXPECT_THAT(
      told({robots("a", "0", {{0, {{"robot_ip", "x"}}, {}}, {0, {{"robot_ip", "x"}}, {}}})}),
      ElementsAre("config hardware_config_duplicate@11:1"));
  EXPECT_THAT(told({robots("a", "0-1", {{1, {}, {}}, {2, {}, {}}, {-1, {}, {}}})}),
              ElementsAre("config hardware_node_rank_outside_group@11:1",
                          "config hardware_node_rank_outside_group@12:1"));
  GroupDeclaration both = robots("a", "0", {});
  both.ignore_hardware = true;
  EXPECT_THAT(told({both}), ElementsAre("config hardware_with_ignore_hardware@3:3"));
}

TEST(MakeInventory, OneGroupForATypeOnANode) {
  const std::vector<KeyValue> other{{"robot_ip", "x"}};
  EXPECT_THAT(told({robots("a", "0", {{0, {}, {}}, {0, other, {}}}),
                    robots("b", "0-1", {{1, {}, {}}, {0, {}, {}}, {0, other, {}}})}),
              ElementsAre("config hardware_type_twice_on_node@11:1"));
  GroupDeclaration turtle = robots("b", "0", {{0, {}, {}}});
  turtle.hardware->type.text = "Turtle2";
  EXPECT_THAT(told({robots("a", "0", {{0, {}, {}}}), turtle}), IsEmpty());
}

TEST(MakeInventory, CustomTypes) {
  GroupDeclaration group = robots("lidars", "0", {{0, {{"port", "1"}}, {}}});
  group.hardware->type.text = "Lidar";
  PlacementErrors errors;
  const HardwareType open{.name = "Lidar", .fields = {}, .required = {}, .any_field = true};
  make_inventory(std::vector<InventoryNode>(1), {group}, {open}, errors);
  EXPECT_THAT(errors, IsEmpty());
  const HardwareType strict{
      .name = "Lidar", .fields = {"host", "port"}, .required = {"host"}, .any_field = false};
  make_inventory(std::vector<InventoryNode>(1), {group}, {strict}, errors);
  EXPECT_THAT(summary(errors), ElementsAre("config missing_field@10:1"));
  EXPECT_THAT(errors[0].message(), HasSubstr("found no host"));
}

TEST(MakeInventory, Environments) {
  GroupDeclaration a = group("a", "0-2");
  a.environments = {environment("3", {}), environment("0-4000000000", {})};
  EXPECT_THAT(told({a}),
              ElementsAre("config env_node_rank_outside_group@20:15",
                          "config env_node_rank_outside_group@20:15"));
  a.environments = {environment("0-1", {}), environment("2", {}), environment("1", {})};
  EXPECT_THAT(told({a}), ElementsAre("config env_duplicate@20:15"));
  a.environments = {environment("0", {{"K", "1"}, {"L", "1"}, {"K", "2"}}),
                    environment("1", {{"K", "1"}})};
  EXPECT_THAT(told({a}), ElementsAre("config env_duplicate@32:1"));
  a.environments = {environment("x", {})};
  EXPECT_THAT(told({a}), ElementsAre("config rank_format@20:15"));
}

TEST(MakeInventory, NoCascades) {
  // Where the nodes of a group are not known, nothing that needs them is judged.
  GroupDeclaration a = robots("a", "x", {{9, {}, {}}});
  a.environments = {environment("9", {}), environment("9", {})};
  EXPECT_THAT(told({a}), ElementsAre("config rank_format@2:15"));
  const Made none = make({group("a", "0-9"), robots("b", "all", {{7, {}, {}}})}, 0);
  EXPECT_THAT(none.errors, IsEmpty());
  EXPECT_THAT(none.inventory.unsound, ElementsAre("a", "b"));
}

TEST(MakeInventory, AllAtOnceInOrder) {
  GroupDeclaration a = robots("node", "9", {{0, {{"colour", "1"}}, {}}});
  a.ignore_hardware = true;
  EXPECT_THAT(told({a, group("b", "0"), group("b", "1-")}),
              ElementsAre("config unknown_field@10:1",
                          "config hardware_with_ignore_hardware@3:3",
                          "config reserved_label@1:10",
                          "config node_rank_out_of_range@2:15",
                          "config rank_format@2:15",
                          "config duplicate_label@1:10"));
}

TEST(HardwareTypes, TheRobotsOfRlinf) {
  std::vector<std::string> names;
  for (const HardwareType& type : built_in_hardware_types()) names.push_back(type.name);
  EXPECT_THAT(names, ElementsAre("Franka", "DualFranka", "DOSW1", "GimArm", "Turtle2"));
}

}  // namespace inventory_tests
}  // namespace orrery::placement
