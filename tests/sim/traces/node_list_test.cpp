#include "sim/traces/node_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/traces/shared_trace.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(NodeList, BothFormsGiveThousandthsAndMebibytes) {
  const auto openb =
      parse_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\n", "nodes.csv");
  ASSERT_TRUE(openb.has_value());
  ASSERT_THAT(openb->nodes, SizeIs(1));
  EXPECT_EQ(openb->nodes[0].cpu_milli, 64'000);
  EXPECT_EQ(openb->nodes[0].memory_mib, 262'144);
  EXPECT_EQ(openb->nodes[0].gpus, 2);
  EXPECT_EQ(openb->nodes[0].model, "P100");
  const auto pai = parse_pai_machines("m1,CPU,96,512,0\nm2,V100,96,512.5,8\n", "spec.csv");
  ASSERT_TRUE(pai.has_value());
  ASSERT_THAT(pai->nodes, SizeIs(2));
  EXPECT_EQ(pai->nodes[0].model, "");
  EXPECT_EQ(pai->nodes[1].cpu_milli, 96'000);
  EXPECT_EQ(pai->nodes[1].memory_mib, 524'800);
}

TEST(NodeList, ANameIsUsedOnce) {
  const auto list = parse_pai_machines("m1,T4,96,512,2\nm1,T4,96,512,2\n", "spec.csv");
  ASSERT_FALSE(list.has_value());
  EXPECT_THAT(list.errors()[0].text(), HasSubstr("spec.csv:2: machine: found 'm1'"));
}

TEST(NodeList, EqualNodesAreAGroupOfAScenario) {
  const auto list = parse_openb_nodes(
      "sn,cpu_milli,memory_mib,gpu,model\n"
      "a,64000,262144,0,\nb,96500,1024,2,T4\nc,64000,2048,8,3 G\nd,96500,1024,2,T4\n",
      "nodes.csv");
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(cluster_yaml(*list),
            "cluster:\n  groups:\n"
            "    - {name: group-0, nodes: 1, gpus_per_node: 8, gpu: \"3 G\", cpu: 64000m, memory: "
            "2048MiB}\n"
            "    - {name: group-1, nodes: 2, gpus_per_node: 2, gpu: T4, cpu: 96500m, memory: "
            "1024MiB}\n"
            "    - {name: group-2, nodes: 1, gpus_per_node: 0, cpu: 64000m, memory: "
            "262144MiB}\n");
}

TEST(NodeList, ThePublicListsHaveTheCountsOfTheirDescription) {
  const auto text = shared_trace("alibaba_openb_2023/openb_node_list_all_node.csv");
  if (!text) GTEST_SKIP() << "the lists are not at ../shared/traces";
  const auto all = parse_openb_nodes(*text, "all");
  ASSERT_TRUE(all.has_value()) << all.errors()[0].text();
  EXPECT_EQ(all->total().nodes, 1523);
  EXPECT_EQ(all->total().gpus, 6212);
  const std::map<std::string, std::pair<int, int>> wanted = {{"G2", {549, 4392}},
                                                             {"T4", {404, 842}},
                                                             {"G3", {39, 312}},
                                                             {"P100", {134, 265}},
                                                             {"V100M32", {30, 204}},
                                                             {"V100M16", {55, 195}},
                                                             {"A10", {2, 2}},
                                                             {"", {310, 0}}};
  for (const auto& [model, share] : all->by_model()) {
    ASSERT_TRUE(wanted.contains(model)) << model;
    EXPECT_EQ(share.nodes, wanted.at(model).first) << model;
    EXPECT_EQ(share.gpus, wanted.at(model).second) << model;
  }
  const std::map<int, std::int64_t> sizes = {{0, 310}, {1, 24}, {2, 518}, {4, 54}, {8, 617}};
  EXPECT_EQ(all->nodes_by_gpus(), sizes);

  const auto gpu_text = shared_trace("alibaba_openb_2023/openb_node_list_gpu_node.csv");
  const auto with_gpus = parse_openb_nodes(*gpu_text, "gpu");
  ASSERT_TRUE(with_gpus.has_value());
  EXPECT_EQ(with_gpus->total().nodes, 1213);
  std::int64_t cpu_milli = 0;
  for (const ListedNode& node : with_gpus->nodes) cpu_milli += node.cpu_milli;
  EXPECT_EQ(cpu_milli / 1000, 107'018);

  const auto pai_text = shared_trace("alibaba_pai_2020/pai_machine_spec.csv");
  const auto pai = parse_pai_machines(*pai_text, "pai");
  ASSERT_TRUE(pai.has_value()) << pai.errors()[0].text();
  EXPECT_EQ(pai->total().nodes, 1897);
  EXPECT_EQ(pai->total().gpus, 6742);
  EXPECT_EQ(pai->by_model().at("V100M32").nodes, 135);
}

}  // namespace
}  // namespace orrery::sim
