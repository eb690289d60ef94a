// What people see of a placement: tables of ranges, pictures of nodes and devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/language/placement/placement_document.hpp"
#include "tools/orrery/place_picture.hpp"
#include "tools/orrery/place_runs.hpp"
#include "tools/orrery/place_tables.hpp"

namespace orrery::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Placed {
  scenarios::PlacementDocument document;
  placement::Plan plan;
};

Placed placed(std::string_view text) {
  Placed out;
  out.document = scenarios::read_placement_document(text);
  scenarios::PlacementAnswer answer = scenarios::resolve_placement_document(out.document);
  for (const scenarios::PlacementFinding& finding : answer.findings)
    ADD_FAILURE() << finding.message;
  out.plan = std::move(answer.plan);
  return out;
}

std::string tables(std::string_view text) {
  const Placed p = placed(text);
  return placement_tables(p.plan, p.document.inventory, SIZE_MAX);
}

std::string picture(std::string_view text, const PictureStyle& style = {}) {
  const Placed p = placed(text);
  return placement_picture(p.plan, p.document.inventory, style);
}

/// Every process, told apart by what a run says of it.
std::size_t processes_in(const PlacedRun& run) {
  return static_cast<std::size_t>(run.last_rank - run.first_rank + 1);
}

TEST(PlacedRuns, CoverEveryProcessOnce) {
  const Placed p = placed(R"(
cluster: {nodes: [{gpus: 8, count: 3}, {gpus: 6}]}
component_placement:
  a: all
  b: "0-1:0-3,3-5,7-10:7-14"
  c: "1-4:0-1,6-7:2,8-11:3-4"
  d: {node_group: node, placement: "0-3:0-7"}
)");
  for (const placement::ComponentPlan& component : p.plan.components) {
    const auto runs = placed_runs(component, p.document.inventory, true);
    std::size_t covered = 0;
    for (const PlacedRun& run : runs) {
      EXPECT_EQ(run.first_rank, static_cast<std::int32_t>(covered)) << component.name;
      covered += processes_in(run);
      const auto& first = component.processes[static_cast<std::size_t>(run.first_rank)];
      const auto& last = component.processes[static_cast<std::size_t>(run.last_rank)];
      EXPECT_EQ(run.first_node, first.node_rank);
      EXPECT_EQ(run.last_node, last.node_rank);
      EXPECT_EQ(run.first_devices, first.devices);
      EXPECT_EQ(run.last_devices, last.devices);
      EXPECT_EQ(run.first_local_rank, first.local_rank);
      EXPECT_EQ(run.last_local_rank, last.local_rank);
    }
    EXPECT_EQ(covered, component.processes.size()) << component.name;
  }
}

TEST(PlacedRuns, TextOfRanges) {
  EXPECT_EQ(range_text(std::vector<std::int32_t>{0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(range_text(std::vector<std::int32_t>{}), "-");
}

TEST(PlacementTables, FoldEqualNodes) {
  EXPECT_EQ(tables("cluster: {nodes: [{gpus: 8, count: 128}]}\n"
                   "component_placement: {actor: \"all:0-511\"}\n"),
            "actor: 512 processes on 128 nodes\n"
            "ranks  nodes  group    hardware     devices      sees     local ranks\n"
            "0-511  0-127  cluster  Accelerator  0-7, 2 each  its own     0-3 of 4\n");
}

TEST(PlacementTables, SayWhoSharesAndSteps) {
  const std::string text = tables(R"(
cluster: {nodes: [{gpus: 4}]}
component_placement: {"actor,rollout,reward": 0-3}
config: {actor: {model: {tensor_model_parallel_size: 4}}, rollout: {tensor_parallel_size: 2}}
)");
  EXPECT_THAT(text, HasSubstr("0,2 to 1,3, step 1"));
  EXPECT_THAT(tables("cluster: {nodes: [{gpus: 2}]}\ncomponent_placement: {a: \"0-1:0-5\"}\n"),
              HasSubstr("0-1, 1 each, shared by 3"));
}

TEST(PlacementPicture, ShowsDevicesHardwareAndNodes) {
  EXPECT_EQ(picture(R"(
cluster:
  nodes: [{gpus: 4, gpu_model: A800, count: 2}, {gpus: 0}]
  node_groups:
    - label: arm
      node_ranks: 2
      hardware: {type: Franka, configs: [{node_rank: 2, robot_ip: 10.0.0.1}, {node_rank: 2, robot_ip: 10.0.0.2}]}
component_placement:
  actor: 0-5
  rollout: 4-6
  env: {node_group: arm, placement: 0}
  agent: {node_group: node, placement: "0:0-9"}
)"),
            "nodes        0  1  2  3\n"
            "    0  A800  a  a  a  a   node g x10\n"
            "    1  A800  ar ar r  .\n"
            "    2                     Franka e .\n"
            "\n"
            "a actor  r rollout  e env  g agent  . free\n"
            "actor and rollout share accelerators 0-1 of node 1\n"
            "1 of 8 accelerators are free\n");
}

TEST(PlacementPicture, FoldsEqualNodesAndWrapsWideOnes) {
  const std::string folded =
      picture("cluster: {nodes: [{gpus: 8, count: 1000}]}\ncomponent_placement: {actor: 0-799}\n");
  EXPECT_THAT(folded, HasSubstr("\n   0-99 "));
  EXPECT_THAT(folded, HasSubstr("\n100-999 "));
  EXPECT_THAT(folded, HasSubstr("7200 of 8000 accelerators are free"));
  const std::string wide =
      picture("cluster: {nodes: [{gpus: 64}]}\ncomponent_placement: {actor: all}\n", {false, 60});
  for (std::size_t at = 0; at < wide.size();) {
    const std::size_t end = wide.find('\n', at);
    EXPECT_LE(end - at, 60U);
    at = end + 1;
  }
  EXPECT_THAT(wide, HasSubstr("63"));
}

TEST(PlacementPicture, ColoursOnlyWhereAsked) {
  const std::string_view text = "cluster: {nodes: [{gpus: 1}]}\ncomponent_placement: {a: 0}\n";
  EXPECT_THAT(picture(text), Not(HasSubstr("\x1b[")));
  EXPECT_THAT(picture(text, {true, 80}), HasSubstr("\x1b[1;31ma\x1b[0m"));
}

TEST(ExplicitPlacement, IsADocumentThatResolvesToTheSame) {
  const std::string cluster =
      "cluster: {nodes: [{gpus: 8, count: 2}], node_groups: [{label: x, node_ranks: 1}]}\n";
  const Placed first = placed(cluster +
                              "component_placement:\n"
                              "  a: all\n"
                              "  b: \"0-1:0-3,3-5,7-10:7-14\"\n"
                              "  c: {node_group: x, placement: 2-5}\n");
  const std::string written = explicit_placement(first.plan, first.document.inventory);
  const Placed second = placed(cluster + written);
  EXPECT_EQ(first.plan.components, second.plan.components) << written;
  EXPECT_THAT(written, HasSubstr("\"a\": \"0-15:0-15\""));
}

}  // namespace
}  // namespace orrery::cli
