// Plans written out as text, and back.
#include <gtest/gtest.h>

#include "tests/core/placement/placement_builders.hpp"

namespace orrery::placement {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The explicit text of a rule's plan, after checking that it gives the plan again.
std::string written(const Inventory& inventory, const PlacementRule& rule) {
  PlacementErrors errors;
  const auto plans = resolve_components(inventory, {rule}, errors);
  if (plans.size() != 1) return "no plan";
  const PlacementRule again = explicit_rule(plans[0], inventory);
  if (!again.placement) return "cannot be said";
  EXPECT_EQ(resolve_components(inventory, {again}, errors), plans) << again.placement->text;
  EXPECT_THAT(summary(errors), IsEmpty());
  return again.placement->text;
}

template <class Strategy>
std::string written_strategy(const Inventory& inventory, const Strategy& strategy) {
  PlacementErrors errors;
  const ComponentPlan plan = resolve_strategy(inventory, strategy, {}, errors);
  const PlacementRule again = explicit_rule(plan, inventory);
  if (!again.placement) return "cannot be said";
  EXPECT_THAT(resolve_components(inventory, {again}, errors), ElementsAre(plan));
  return again.placement->text;
}

TEST(ExplicitRule, ProcessRanksAreWrittenOut) {
  const Inventory two = cluster_of({8, 8});
  EXPECT_EQ(written(two, rule("a", "0-3")), "0-3:0-3");
  EXPECT_EQ(written(two, rule("a", "all")), "0-15:0-15");
  EXPECT_EQ(written(two, rule("a", "0-1,2-3,6")), "0-3:0-3,6:4");
  EXPECT_EQ(written(two, rule("a", "0-1:0-3,3-5,7-10:7-14")), "0-1:0-3,3-5:4-6,7-10:7-14");
  EXPECT_EQ(written(two, rule("a", "all:0-3")), "0-15:0-3");
  EXPECT_EQ(written(two, rule("a", "0:0-5,1,2-7:7-9")), "0:0-5,1:6,2-7:7-9");
}

TEST(ExplicitRule, GroupsAreKept) {
  Inventory inventory = cluster_of({2, 2, 0});
  add_group(inventory, "b", {1});
  add_group(inventory, "cpu", {2});
  add_robots(inventory, "arms", {0, 2}, {0, 2, 2});
  EXPECT_EQ(written(inventory, rule("a", "1", "b")), "1:0");
  EXPECT_EQ(written(inventory, rule("a", "all", "b,cluster")), "0-5:0-5");
  EXPECT_EQ(written(inventory, rule("a", "all", "b,cpu")), "0-1:0-1");
  EXPECT_EQ(written(inventory, rule("a", "2-4:0-5", "b,arms")), "2-4:0-5");
  EXPECT_EQ(written(inventory, rule("a", "all:0-8", "node")), "0-2:0-8");
  PlacementErrors errors;
  const auto plans = resolve_components(inventory, {rule("a", "0", "b,arms")}, errors);
  const PlacementRule again = explicit_rule(plans.at(0), inventory);
  EXPECT_THAT(again.node_groups, ElementsAre(PlacedText{"b", {}}, PlacedText{"arms", {}}));
}

TEST(ExplicitRule, Strategies) {
  const Inventory two = cluster_of({4, 4});
  EXPECT_EQ(written_strategy(two, PackedStrategy{1, 6, 1, 1}), "1-6:0-5");
  EXPECT_EQ(written_strategy(two, PackedStrategy{0, 7, 4, 1}), "0-7:0-1");
  EXPECT_EQ(written_strategy(two, PackedStrategy{0, 3, 2, 2}), "cannot be said");
  EXPECT_EQ(written_strategy(two, FlexibleStrategy{{{5}, {1}, {1}, {2, 3}}}), "1:0-1,2-3:2,5:3");
  EXPECT_EQ(written_strategy(two, FlexibleStrategy{{{0, 1}, {0, 1}}}), "cannot be said");
  EXPECT_EQ(written_strategy(two, FlexibleStrategy{{{0, 1}, {1}}}), "cannot be said");
  // As nodes "cluster" cannot be said: as a text it means accelerators.
  EXPECT_EQ(written_strategy(two, NodeStrategy{{0, 1}}), "cannot be said");
  EXPECT_EQ(written_strategy(cluster_of({0, 0}), NodeStrategy{{1, 0, 1}}), "0:0,1:1-2");
  EXPECT_EQ(written_strategy(two, FlexibleStrategy{}), "cannot be said");
}

}  // namespace
}  // namespace orrery::placement
