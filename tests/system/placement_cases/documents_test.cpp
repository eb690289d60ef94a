// Documents that place components on devices: forms, places of errors, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/language/placement/placement_document.hpp"

namespace orrery::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<PlacementFinding> findings_of(std::string_view text,
                                          PlacementMode mode = PlacementMode::AsWritten) {
  return resolve_placement_document(read_placement_document(text, mode)).findings;
}

/// "kind line:column" of each finding.
std::vector<std::string> kinds_of(std::string_view text) {
  std::vector<std::string> out;
  for (const PlacementFinding& finding : findings_of(text))
    out.push_back(finding.kind + (finding.in_yaml_text ? " yaml_text " : " ") +
                  std::to_string(finding.at.line) + ":" + std::to_string(finding.at.column));
  return out;
}

placement::Plan plan_of(std::string_view text, PlacementMode mode = PlacementMode::AsWritten) {
  const PlacementAnswer answer = resolve_placement_document(read_placement_document(text, mode));
  for (const PlacementFinding& finding : answer.findings) ADD_FAILURE() << finding.message;
  return answer.plan;
}

TEST(PlacementDocument, ReadsRlinfYaml) {
  const placement::Plan plan = plan_of(R"(
defaults: [{override hydra/job_logging: stdout}]
cluster:
  num_nodes: 2
  nodes:
    - {gpus: 8, gpu_model: A800, count: 2}
  component_placement:
    actor,rollout: 0-15
    env: {node_group: node, placement: "0-1:0-3"}
runner:
  task_type: embodied
  logger: {log_path: "${runner.output_dir}"}
)");
  EXPECT_EQ(plan.mode, placement::Mode::Hybrid);
  ASSERT_EQ(plan.components.size(), 3U);
  EXPECT_EQ(plan.components[1].name, "rollout");
  EXPECT_EQ(plan.components[1].processes.size(), 16U);
  EXPECT_EQ(plan.components[2].processes.size(), 4U);
}

constexpr std::string_view kReasoning = R"(
cluster:
  nodes: [{gpus: 4}]
  component_placement: {"actor,rollout,reward": all}
runner: {task_type: reasoning}
actor: {model: {tensor_model_parallel_size: 4}}
rollout: {tensor_parallel_size: "${actor.model.tensor_model_parallel_size}"}
)";

TEST(PlacementDocument, ChoosesTheModeAsRlinfsScriptsDo) {
  EXPECT_EQ(plan_of(kReasoning).mode, placement::Mode::Collocated);
  EXPECT_EQ(plan_of(kReasoning).components[1].processes.size(), 1U);
  EXPECT_EQ(plan_of(kReasoning, PlacementMode::Hybrid).components[1].processes.size(), 4U);
  const placement::Plan forced = plan_of(
      "cluster: {nodes: [{gpus: 2}]}\ncomponent_placement: {\"actor,rollout,reward\": all}\n",
      PlacementMode::ModelParallel);
  EXPECT_EQ(forced.mode, placement::Mode::Collocated);
}

TEST(PlacementDocument, TellsSizesThatAreNoNumbers) {
  const auto findings = findings_of(R"(
cluster: {nodes: [{gpus: 2}], component_placement: {"actor,rollout,reward": all}}
runner: {task_type: reasoning}
actor: {model: {tensor_model_parallel_size: "${oc.env:TP}"}}
rollout: {tensor_parallel_size: 0}
)");
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[0].message, HasSubstr("actor.model.tensor_model_parallel_size"));
  EXPECT_EQ(findings[1].at.line, 5);
  EXPECT_EQ(findings[1].kind, "document");
}

TEST(PlacementDocument, KeepsUnquotedColonsAsText) {
  const placement::Plan plan = plan_of(R"(
cluster: {nodes: [{gpus: 8}]}
component_placement:
  actor: 5:0
)");
  EXPECT_THAT(plan.components[0].processes[0].devices, ElementsAre(5));
}

TEST(PlacementDocument, PointsIntoTheText) {
  EXPECT_THAT(kinds_of("cluster: {nodes: [{gpus: 8}]}\n"
                       "component_placement:\n"
                       "  actor: \"0-3, 9\"\n"
                       "  rollout: 0-1,x\n"),
              ElementsAre("resource_out_of_range 3:16", "rank_format 4:16"));
}

TEST(PlacementDocument, PointsIntoYamlText) {
  EXPECT_THAT(kinds_of("cluster: {nodes: [{gpus: 8}]}\n"
                       "yaml_text: \"component_placement:\\n  actor: 0-8\\n\"\n"),
              ElementsAre("resource_out_of_range yaml_text 2:10"));
  EXPECT_THAT(kinds_of("cluster: {nodes: [{gpus: 8}]}\nyaml_text: |\n  actor: 1:5\n"),
              ElementsAre("process_not_from_zero yaml_text 1:10"));
  EXPECT_THAT(kinds_of("cluster: {nodes: [{gpus: 8}]}\nyaml_text: \"a: [\"\n"),
              ElementsAre(HasSubstr("document yaml_text")));
}

TEST(PlacementDocument, YamlTextReplacesParts) {
  const placement::Plan whole = plan_of(R"(
cluster: {nodes: [{gpus: 2}]}
component_placement: {actor: "0-7"}
yaml_text: |
  cluster:
    nodes: [{gpus: 4}]
    component_placement: {rollout: all}
)");
  ASSERT_EQ(whole.components.size(), 1U);
  EXPECT_EQ(whole.components[0].name, "rollout");
  EXPECT_EQ(whole.components[0].processes.size(), 4U);
  const placement::Plan scalar = plan_of(
      "cluster: {nodes: [{gpus: 4}]}\ncomponent_placement: {actor: \"\"}\nyaml_text: 0-1:0\n");
  EXPECT_EQ(scalar.components[0].processes.size(), 1U);
  const placement::Plan value = plan_of(
      "cluster: {nodes: [{gpus: 4}]}\ncomponent_placement: {actor: 0}\n"
      "yaml_text: \"node_group: cluster\\nplacement: 0-2\"\n");
  EXPECT_EQ(value.components[0].processes.size(), 3U);
}

TEST(PlacementDocument, MergesDefaults) {
  const placement::Plan plan = plan_of(R"(
defaults: &d {node_group: a, placement: 0-1}
cluster:
  nodes: [{gpus: 4}, {gpus: 4}]
  node_groups:
    - &group {label: a, node_ranks: 1}
    - {<<: *group, label: b}
component_placement:
  actor: *d
  rollout: {<<: *d, placement: 2-3}
  env: {<<: [{placement: 0}, *d], node_group: b}
)");
  ASSERT_EQ(plan.components.size(), 3U);
  EXPECT_THAT(plan.components[1].processes[0].devices, ElementsAre(2));
  EXPECT_EQ(plan.components[2].groups[0], "b");
  EXPECT_EQ(plan.components[2].processes.size(), 1U);
  EXPECT_FALSE(findings_of("<<: 3\ncomponent_placement: {a: 0}\n").empty());
}

TEST(PlacementDocument, HelpsWithQuotes) {
  const auto comma =
      findings_of("cluster: {nodes: [{gpus: 8}]}\ncomponent_placement: {actor: 0-3,5-7}\n");
  ASSERT_EQ(comma.size(), 1U);
  EXPECT_EQ(comma[0].kind, "placement_missing");
  EXPECT_THAT(comma[0].message, HasSubstr("in braces a comma ends it"));
  const auto colon =
      findings_of("cluster: {nodes: [{gpus: 8}]}\ncomponent_placement:\n  actor: 0-3:\n");
  ASSERT_EQ(colon.size(), 1U);
  EXPECT_THAT(colon[0].message, HasSubstr("a text that ends in a colon needs quotes"));
}

TEST(PlacementDocument, TellsAllErrorsOfAllGroupsInRlinfsOrder) {
  EXPECT_THAT(kinds_of(R"(cluster:
  num_nodes: 0
  nodes: [{gpus: 4}, {gpus: 4}]
  node_groups:
    - label: a
      node_ranks: 0-7
      env_configs:
        - {node_ranks: 0, env_vars: [{A: 1, B: 2}, oops]}
    - label: node
      node_ranks: 1
    - label: c
      node_rank: 1
    - label: d
      node_ranks: 0
      hardware: {type: Teleporter, configs: [oops]}
    - label: a
      node_ranks: 1
    - oops
component_placement: {}
)"),
              ElementsAre("unknown_field 12:7",
                          "missing_field 11:7",
                          "node_group_not_mapping 18:7",
                          "env_var_not_single_pair 8:38",
                          "env_var_not_mapping 8:52",
                          "reserved_label 9:14",
                          "hardware_type_unsupported 15:24",
                          "hardware_config_not_mapping 15:46",
                          "node_rank_out_of_range 6:19",
                          "num_nodes_not_positive 2:14",
                          "duplicate_label 16:14"));
}

TEST(PlacementDocument, AcceptsLabelsAsTextAndAsList) {
  for (const std::string_view labels : {"\"a, b\"", "[a, b]", "a,b"}) {
    const placement::Plan plan = plan_of(
        "cluster:\n"
        "  nodes: [{gpus: 2}, {gpus: 2}]\n"
        "  node_groups: [{label: a, node_ranks: 0}, {label: b, node_ranks: [1]}]\n"
        "component_placement:\n"
        "  actor: {node_group: " +
        (labels == "a,b" ? "\"a,b\"" : std::string(labels)) + ", placement: 1-2}\n");
    EXPECT_EQ(plan.components[0].processes[1].node_rank, 1);
  }
}

TEST(PlacementDocument, CountsNodes) {
  EXPECT_THAT(kinds_of("cluster: {nodes: [{gpus: 8}], num_nodes: 2}\n"
                       "component_placement: {actor: 0-7}\n"),
              ElementsAre("document 1:42"));
  for (const std::string_view count : {"0", "-1", "1.5", "two", "\"1\"", "true", "", "[1]"})
    EXPECT_THAT(kinds_of("cluster:\n  num_nodes: " + std::string(count) +
                         "\n  nodes: [{gpus: 8}]\ncomponent_placement: {actor: 0-7}\n"),
                ElementsAre(HasSubstr("num_nodes_not_positive 2:")))
        << count;
  const PlacementDocument fewer = read_placement_document(
      "cluster: {num_nodes: 1, nodes: [{gpus: 8}, {gpus: 8}]}\ncomponent_placement: {a: all}\n");
  EXPECT_EQ(fewer.inventory.nodes.size(), 1U);
  ASSERT_EQ(fewer.remarks.size(), 1U);
  EXPECT_THAT(kinds_of("cluster: {nodes: []}\ncomponent_placement: {actor: 0-7}\n"),
              ElementsAre("num_nodes_not_positive 1:18"));
}

TEST(PlacementDocument, RefusesNodesThatCannotBe) {
  const auto findings = findings_of(R"(
cluster:
  nodes:
    - {gpu: 8}
    - {gpus: -1}
    - {gpus: 4, vendor: acme}
    - 8
    - {gpus: 8, count: 0}
component_placement: {actor: 0-7}
)");
  ASSERT_EQ(findings.size(), 5U);
  EXPECT_EQ(findings[0].kind, "unknown_field");
  EXPECT_THAT(findings[0].message, HasSubstr("write gpus"));
  EXPECT_THAT(findings[1].message, HasSubstr("gpus '-1'"));
  EXPECT_THAT(findings[2].message, HasSubstr("nvidia, amd, ascend or custom"));
  EXPECT_THAT(findings[3].message, HasSubstr("write for example - {gpus: 8}"));
}

TEST(PlacementDocument, NeedsNodesAndSomethingToPlace) {
  const auto no_nodes = findings_of("cluster: {num_nodes: 2}\ncomponent_placement: {actor: 0-7}\n");
  ASSERT_EQ(no_nodes.size(), 1U);
  EXPECT_THAT(no_nodes[0].message, HasSubstr("cluster.nodes: found nothing"));
  for (const std::string_view text : {"cluster: {nodes: [{gpus: 8}]}\n",
                                      "cluster: {nodes: [{gpus: 8}]}\ncomponent_placement: {}\n"})
    EXPECT_THAT(findings_of(text)[0].message, HasSubstr("nothing to place")) << text;
}

TEST(PlacementDocument, RefusesWhatIsNoDocument) {
  for (const std::string_view text : {"", "hello", "[1, 2]", "a: [", "a: 1\n---\nb: 2\n", "\t{"}) {
    const auto findings = findings_of(text);
    ASSERT_EQ(findings.size(), 1U) << text;
    EXPECT_EQ(findings[0].kind, "document");
    EXPECT_EQ(findings[0].stage, placement::Stage::Config);
  }
}

TEST(PlacementDocument, RefusesPlacementsThatAreNoText) {
  EXPECT_THAT(kinds_of(R"(
cluster: {nodes: [{gpus: 8}]}
component_placement:
  a: [0, 1]
  b:
  c: {node_group: cluster}
  d: {placement: {x: 1}}
  e: {placment: 0-3}
)"),
              testing::UnorderedElementsAre("rank_format 4:6",
                                            HasSubstr("placement_missing 5"),
                                            HasSubstr("placement_missing 6"),
                                            "rank_format 7:18",
                                            "unknown_field 8:7",
                                            HasSubstr("placement_missing 8")));
}

TEST(PlacementDocument, AGroupThatIsWrongTakesNoOtherErrorsAlong) {
  EXPECT_THAT(kinds_of(R"(
cluster:
  nodes: [{gpus: 8}]
  node_groups: [{label: a, node_rank: 0}]
component_placement:
  actor: {node_group: a, placement: 0-3}
  rollout: {node_group: b, placement: 0-3}
)"),
              ElementsAre("unknown_field 4:28", "missing_field 4:17", "node_group_not_found 7:25"));
}

TEST(PlacementDocument, CallsStrategies) {
  const placement::Plan plan = plan_of(R"(
cluster: {nodes: [{gpus: 4}]}
strategy: {type: packed, start_hardware_rank: 0, end_hardware_rank: 3, num_hardware_per_process: 2}
)");
  ASSERT_EQ(plan.components.size(), 1U);
  EXPECT_EQ(plan.components[0].name, "_");
  EXPECT_EQ(plan.components[0].processes.size(), 2U);
  for (const std::string_view strategy : {"{}",
                                          "{type: spread}",
                                          "{type: packed, start: 0}",
                                          "{type: packed, start_hardware_rank: 0}",
                                          "{type: packed, start_hardware_rank: a, "
                                          "end_hardware_rank: 1}",
                                          "{type: flexible, hardware_ranks_list: 7}",
                                          "{type: node, node_ranks: {a: 1}}",
                                          "7"})
    EXPECT_FALSE(
        findings_of("cluster: {nodes: [{gpus: 4}]}\nstrategy: " + std::string(strategy) + "\n")
            .empty())
        << strategy;
}

TEST(PlacementDocument, KnowsCustomHardwareByName) {
  const std::string text = R"(
cluster:
  nodes: [{gpus: 0}]
  hardware_types:
    - {name: Conveyor, fields: [address], required: [address]}
    - Lathe
  node_groups:
    - label: belts
      node_ranks: 0
      hardware: {type: Conveyor, configs: [{node_rank: 0, address: a}]}
    - label: lathes
      node_ranks: 0
      hardware: {type: Lathe, configs: [{node_rank: 0, speed: 3}, {node_rank: 0, speed: 4}]}
component_placement:
  env: {node_group: belts, placement: 0}
  cutter: {node_group: lathes, placement: all}
)";
  const placement::Plan plan = plan_of(text);
  ASSERT_EQ(plan.components.size(), 2U);
  EXPECT_EQ(plan.components[0].hardware_types[0], "Conveyor");
  EXPECT_EQ(plan.components[1].processes.size(), 2U);
  std::string broken = text;
  broken.replace(broken.find("address: a"), 10, "speed: 3");
  EXPECT_THAT(kinds_of(broken),
              ElementsAre(HasSubstr("unknown_field 10"), HasSubstr("missing_field 10")));
}

TEST(PlacementDocument, TakesAScenariosCluster) {
  const placement::Plan plan = plan_of(R"(
cluster:
  groups:
    - {name: a800, nodes: 2, gpus_per_node: 4, gpu: a800}
    - {name: cpu, nodes: 1, gpus_per_node: 0}
  component_placement:
    actor: {node_group: a800, placement: 0-7}
    agent: {node_group: cpu, placement: "0:0-3"}
)");
  EXPECT_EQ(plan.components[0].processes.size(), 8U);
  EXPECT_EQ(plan.components[1].processes[0].node_rank, 2);
  EXPECT_THAT(kinds_of("cluster: {nodes: 2, gpu_per_node: 8}\ncomponent_placement: {a: all}\n"),
              ElementsAre("document 1:1"));
}

TEST(PlacementDocument, RefusesMoreThanItCanHold) {
  EXPECT_FALSE(findings_of("cluster: {nodes: [{gpus: 1024, count: 1000000}]}\n"
                           "component_placement: {a: all}\n")
                   .empty());
  EXPECT_FALSE(findings_of("cluster: {nodes: [{gpus: 0, count: 1000000}, {count: 1000000}]}\n"
                           "component_placement: {a: all}\n")
                   .empty());
  EXPECT_FALSE(findings_of("cluster: {nodes: [{gpus: 1}]}\n"
                           "component_placement: {a: \"0:0-2000000000\"}\n")
                   .empty());
}

}  // namespace
}  // namespace orrery::scenarios
