// DI-engine jobs as real processes under a real controller: which workers are told to listen and
// connect where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/run.hpp"
#include "tools/local_run/local_run.hpp"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

/// A folder into which workers write; it goes with this object.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("orrery-discovery-" + std::to_string(getpid()))) {
    fs::create_directory(path_);
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  ~Folder() { fs::remove_all(path_); }

  std::string path() const { return path_.string(); }

  std::vector<std::string> lines(const std::string& name) const {
    std::ifstream in(path_ / name);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }

 private:
  fs::path path_;
};

/// Each worker writes what it was told and goes when all five of the two jobs have: so they all
/// hold their ports together.
std::string scenario_in(const Folder& folder) {
  const std::string script =
      R"(set -- $DI_PORTS_ARG $DI_NODE_IDS_ARG $DI_ATTACHED_NODES_ARG $DI_NODES $DI_NODE_PORTS; )"
      R"(printf '%s\\n' $DI_JOB_ID $MASTER_PORT \"$@\" > )" +
      folder.path() + R"(/$ORRERY_ROLE.$RANK.tmp; mv )" + folder.path() +
      R"(/$ORRERY_ROLE.$RANK.tmp )" + folder.path() + R"(/$ORRERY_ROLE.$RANK; )" +
      R"(until [ $(ls )" + folder.path() + R"( | grep -vc tmp) -ge 5 ]; do :; done)";
  const auto container = [&] {
    return "template: {spec: {containers: [{name: di-container, image: di, command: [/bin/sh, -c, "
           "\"" +
           script + "\"]}]}}";
  };
  return "cluster: {nodes: 1, gpus_per_node: 0, cpu: 16}\n"
         "world: cluster\n"
         "jobs:\n"
         "  - manifest:\n"
         "      apiVersion: diengine.opendilab.org/v2alpha1\n"
         "      kind: DIJob\n"
         "      metadata: {name: pong}\n"
         "      spec:\n"
         "        minReplicas: 3\n"
         "        maxReplicas: 3\n"
         "        engineFields: {topology: star, parallelWorkers: 2}\n"
         "        " +
         container() +
         "\n"
         "  - manifest:\n"
         "      apiVersion: diengine.opendilab.org/v2alpha1\n"
         "      kind: DIJob\n"
         "      metadata: {name: dqn}\n"
         "      spec:\n"
         "        tasks:\n"
         "          - {type: learner, replicas: 1, " +
         container() +
         "}\n"
         "          - {type: collector, replicas: 1, " +
         container() + "}\n";
}

void run(const std::string& text) {
  const auto scenario = scenarios::parse_scenario(text, "discovery.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.errors()[0].text();
  const auto workload = sim::LoadedWorkload::load(*scenario);
  ASSERT_TRUE(workload.has_value());
  auto policy = policies::make_policy("fifo", {});
  ASSERT_TRUE(policy.has_value());
  const auto ran = cli::run_local(*scenario, *workload, **policy, {});
  ASSERT_TRUE(ran.has_value()) << ran.errors()[0].text();
  EXPECT_THAT(ran->report.warnings, IsEmpty());
}

TEST(Discovery, WorkersOfTwoJobsOnOneMachineListenApart) {
  const Folder folder;
  run(scenario_in(folder));
  EXPECT_THAT(folder.lines("worker.0"),
              ElementsAre("default/pong", "22272", "--ports=22270,22271", "--node-ids=0,1"));
  EXPECT_THAT(folder.lines("worker.1"),
              ElementsAre("default/pong",
                          "22272",
                          "--ports=22273,22274",
                          "--node-ids=2,3",
                          "--attach-to=tcp://127.0.0.1:22270"));
  EXPECT_THAT(folder.lines("worker.2"),
              ElementsAre("default/pong",
                          "22272",
                          "--ports=22276,22277",
                          "--node-ids=4,5",
                          "--attach-to=tcp://127.0.0.1:22270"));
  for (const std::string task : {"learner.0", "collector.1"})
    EXPECT_THAT(folder.lines(task),
                ElementsAre("default/dqn", "22280", "127.0.0.1,127.0.0.1", "22279,22281"));
}

}  // namespace
}  // namespace orrery
