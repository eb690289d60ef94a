// Jobs of a scenario as placement documents: roles with placements, and which roles take turns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/rlinf/inventory_words.hpp"

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

/// A document on other nodes than it says, with words of a command line.
PlacementAnswer answer_with(const std::string& text,
                            std::string_view nodes,
                            std::vector<std::string> words) {
  PlacementContext context;
  context.path = "job.yaml";
  context.sources.read = [&](const std::string& path) {
    return path == "job.yaml" ? std::optional(text) : std::nullopt;
  };
  context.sources.overrides = std::move(words);
  if (!nodes.empty()) context.nodes = inventory_of_words(nodes).value();
  return resolve_placement_document(
      read_placement_document(text, PlacementMode::AsWritten, context));
}

constexpr std::string_view kBeside = R"(
jobs:
  - name: train
    work: 100s
    virtual_clusters:
      train: {bundles_per_node: 1}
    roles:
      rollout: {placement: 0-7}
      actor: {virtual_cluster: train}
)";

TEST(PlacedJobs, VirtualClustersAreFormedOnTheNodesThatAreGivenInstead) {
  const std::string text =
      "cluster: {nodes: 1, gpus_per_node: 4, gpu: h100}" + std::string(kBeside);
  const PlacementAnswer given = answer_with(text, "4xH100:2,3xA100", {});
  for (const PlacementFinding& finding : given.findings) ADD_FAILURE() << finding.message;
  ASSERT_EQ(given.plan.components.size(), 2U);
  ASSERT_EQ(given.plan.components[1].processes.size(), 1U);
  EXPECT_EQ(given.plan.components[1].processes[0].node_rank, 2) << "where rollout does not sit";
  const PlacementAnswer said = answer_with(text, "", {"cluster.nodes=3"});
  for (const PlacementFinding& finding : said.findings) ADD_FAILURE() << finding.message;
  EXPECT_EQ(said.plan.components.at(1).processes.at(0).node_rank, 2);
  const PlacementAnswer full = answer_with(text, "4xH100:2", {});
  ASSERT_EQ(full.findings.size(), 1U);
  EXPECT_THAT(full.findings[0].message, HasSubstr("virtual cluster train"));
}

TEST(PlacedJobs, VirtualClustersAreThoseThatWordsMake) {
  const std::string text = std::string(kCluster) + std::string(kBeside);
  const PlacementAnswer answer = answer_with(text,
                                             "",
                                             {"jobs[0].virtual_clusters.train.bundles_per_node=2",
                                              "cluster.nodes=3",
                                              "+jobs[1]={name: other, placement: all}"});
  for (const PlacementFinding& finding : answer.findings) ADD_FAILURE() << finding.message;
  ASSERT_EQ(answer.plan.components.size(), 3U);
  EXPECT_EQ(answer.plan.components[2].name, "train/actor");
  EXPECT_EQ(answer.plan.components[2].processes.size(), 2U);
}

TEST(PlacedJobs, AWordThatIsWrongIsNamed) {
  const std::string text = std::string(kCluster) + std::string(kBeside);
  for (const std::string word :
       {"cluster.nodes=x", "jobs[0].virtual_clusters.train.bundles_per_node=x"}) {
    const PlacementDocument document = [&] {
      PlacementContext context;
      context.path = "job.yaml";
      context.sources.read = [&](const std::string&) { return std::optional(text); };
      context.sources.overrides = {word};
      return read_placement_document(text, PlacementMode::AsWritten, context);
    }();
    ASSERT_EQ(document.findings.size(), 1U) << word;
    EXPECT_EQ(document.files.at(document.findings[0].file), word);
    EXPECT_THAT(document.findings[0].message, HasSubstr("'x'"));
  }
}

TEST(PlacedPrograms, ToolsOfTooManyNodesAreRefused) {
  const auto on = [](const std::string& nodes) {
    return answer_of(
        "runner: {task_type: reasoning_eval}\nagentloop: {workflow: x}\ncluster:\n"
        "  nodes: [{count: " +
        nodes + ", gpus: 1}]\n  component_placement: {\"rollout,reward\": 0-0}\n");
  };
  EXPECT_TRUE(on("100").findings.empty());
  const PlacementAnswer many = on("131072");
  ASSERT_EQ(many.findings.size(), 1U);
  EXPECT_THAT(many.findings[0].message, HasSubstr("8388608 processes"));
  EXPECT_THAT(many.findings[0].message, HasSubstr("at most 1000000"));
}

TEST(PlacedPrograms, AnExampleOfLargeSizesIsOne) {
  const PlacementAnswer answer = answer_of(R"(
runner: {task_type: reasoning_eval}
agentloop: {workflow: x}
cluster:
  nodes: [{count: 17, gpus: 241}]
  component_placement: {"rollout,reward": all}
rollout: {tensor_parallel_size: 4097, use_fixed_worker: true}
rollout_fixed_worker: {tensor_parallel_size: 1048575}
)");
  ASSERT_EQ(answer.findings.size(), 1U);
  const std::string example = std::to_string(2LL * 4097 * 1048575);
  EXPECT_THAT(answer.findings[0].message, HasSubstr("for example " + example));
}

TEST(PlacedJobs, WithoutPlacementsThereIsNothingToPlace) {
  const PlacementAnswer answer =
      answer_of(std::string(kCluster) + "jobs: [{name: a, gpus: 2, work: 3s}]\n");
  ASSERT_EQ(answer.findings.size(), 1U);
  EXPECT_THAT(answer.findings[0].message, HasSubstr("nothing to place"));
}

}  // namespace
}  // namespace orrery::scenarios
