// Jobs of a scenario as placement documents: roles with placements, and which roles take turns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scenarios/language/placement/placement_document.hpp"

namespace orrery::scenarios {
namespace {

using testing::HasSubstr;

PlacementAnswer answer_of(std::string_view text) {
  return resolve_placement_document(read_placement_document(text));
}

constexpr std::string_view kCluster = "cluster: {nodes: 2, gpus_per_node: 4, gpu: h100}\n";

TEST(PlacedJobs, RolesAreComponents) {
  const PlacementAnswer answer = answer_of(std::string(kCluster) + R"(
jobs:
  - name: train
    work: 100s
    roles:
      actor: {placement: 0-3}
      rollout: {placement: "4-7:0-1"}
      reward: {gpus: 0}
)");
  EXPECT_TRUE(answer.findings.empty());
  ASSERT_EQ(answer.plan.components.size(), 2U);
  EXPECT_EQ(answer.plan.components[0].name, "actor");
  EXPECT_EQ(answer.plan.components[1].processes.size(), 2U);
}

TEST(PlacedJobs, OverlapMustBeDeclared) {
  const std::string text = std::string(kCluster) + R"(
jobs:
  - name: train
    roles:
      actor: {placement: 0-3}
      rollout: {placement: 2-5}
)";
  const PlacementAnswer answer = answer_of(text);
  ASSERT_EQ(answer.findings.size(), 1U);
  EXPECT_EQ(answer.findings[0].kind, "undeclared_overlap");
  EXPECT_EQ(answer.findings[0].stage, placement::Stage::Resolve);
  EXPECT_EQ(answer.findings[0].at, (placement::TextPosition{7, 28}));
  EXPECT_THAT(answer.findings[0].message, HasSubstr("take_turns: [[actor, rollout]]"));
  EXPECT_TRUE(answer.plan.components.empty());
  EXPECT_TRUE(answer_of(text + "    take_turns: [[actor, rollout]]\n").findings.empty());
  EXPECT_TRUE(answer_of(text + "    take_turns: [actor, rollout]\n").findings.empty());
  EXPECT_FALSE(answer_of(text + "    take_turns: [[actor, reward]]\n").findings.empty());
}

TEST(PlacedJobs, OtherJobsAndOtherSizesMayOverlap) {
  const PlacementDocument document = read_placement_document(std::string(kCluster) + R"(
jobs:
  - {name: first, placement: 0-3}
  - name: second
    placements: {2: "0-1", 4: {node_group: nodes, placement: 0-3}}
)");
  EXPECT_THAT(document.remarks, testing::ElementsAre(HasSubstr("as if it ran alone")));
  const PlacementAnswer answer = resolve_placement_document(document);
  for (const PlacementFinding& finding : answer.findings) ADD_FAILURE() << finding.message;
  ASSERT_EQ(answer.plan.components.size(), 3U);
  EXPECT_EQ(answer.plan.components[0].name, "first/worker");
  EXPECT_EQ(answer.plan.components[2].name, "second/worker@4");
}

constexpr std::string_view kFormed = R"(
jobs:
  - name: train
    work: 100s
    virtual_clusters:
      train: {bundles_per_node: [2, 2], max_worker_groups: 2}
    roles:
      rollout: {placement: 0-1}
      actor: {virtual_cluster: train}
      critic: {virtual_cluster: train}
)";

TEST(PlacedJobs, VirtualClustersAreFormedBesidePlacements) {
  const PlacementAnswer answer = answer_of(std::string(kCluster) + std::string(kFormed));
  for (const PlacementFinding& finding : answer.findings) ADD_FAILURE() << finding.message;
  ASSERT_EQ(answer.plan.components.size(), 3U);
  const placement::ComponentPlan& actor = answer.plan.components[1];
  EXPECT_EQ(actor.name, "actor");
  ASSERT_EQ(actor.processes.size(), 4U);
  for (std::size_t i = 0; i < actor.processes.size(); ++i) {
    const placement::Process& process = actor.processes[i];
    EXPECT_EQ(process.rank, static_cast<std::int32_t>(i));
    ASSERT_EQ(process.devices.size(), 1U);
    EXPECT_FALSE(process.node_rank == 0 && process.devices[0] < 2) << "where rollout sits";
    EXPECT_EQ(process.devices, answer.plan.components[2].processes[i].devices);
  }
}

TEST(PlacedJobs, VirtualClustersThatCannotBeFormedSayWhy) {
  std::string text = std::string(kCluster) + std::string(kFormed);
  text.replace(text.find("[2, 2]"), 6, "[5, 2]");
  const PlacementAnswer answer = answer_of(text);
  ASSERT_EQ(answer.findings.size(), 1U);
  EXPECT_EQ(answer.findings[0].kind, "infeasible");
  EXPECT_EQ(answer.findings[0].at.line, 4);
  EXPECT_THAT(answer.findings[0].message, HasSubstr("virtual cluster train"));
}

TEST(PlacedJobs, WithoutPlacementsThereIsNothingToPlace) {
  const PlacementAnswer answer =
      answer_of(std::string(kCluster) + "jobs: [{name: a, gpus: 2, work: 3s}]\n");
  ASSERT_EQ(answer.findings.size(), 1U);
  EXPECT_THAT(answer.findings[0].message, HasSubstr("nothing to place"));
}

}  // namespace
}  // namespace orrery::scenarios
