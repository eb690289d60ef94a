// Documents of RLinf as jobs of ours: what is read from the text sits where the document says.
#include "scenarios/language/rlinf/as_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "scenarios/language/jobs/job_file.hpp"
#include "scenarios/language/loader.hpp"

namespace orrery::scenarios {
namespace as_job_tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kDocument = R"(
cluster:
  num_nodes: 3
  nodes: [{gpus: 4, gpu_model: H100, count: 2}, {gpus: 2, gpu_model: L40S}]
  node_groups:
    - label: train
      node_ranks: 0-1
    - label: generate
      node_ranks: 2
      env_configs: [{node_ranks: 2, env_vars: [{ENGINE: fast}], python_interpreter_path: /opt/bin/python}]
  component_placement:
    actor: {node_group: train, placement: 0-7}
    rollout: {node_group: generate, placement: "0-1:0-3"}
    reward_model: {node_group: train, placement: 0-3}
    agent: {node_group: node, placement: "0-2:0-5"}
actor: {group_name: ActorGroup}
)";

struct Read {
  PlacementDocument document;
  placement::Plan plan;
};

Read read(std::string_view text) {
  Read out;
  out.document = read_placement_document(text);
  PlacementAnswer answer = resolve_placement_document(out.document);
  EXPECT_THAT(answer.findings, IsEmpty());
  out.plan = std::move(answer.plan);
  return out;
}

std::string all_of(const Errors& errors) {
  std::string out;
  for (const Error& error : errors) out += error.text() + "\n";
  return out;
}

std::string component_of(std::string role) {
  std::replace(role.begin(), role.end(), '_', '-');
  return role;
}

using Places = std::multiset<std::tuple<std::string, int, int, std::vector<int>>>;

/// Every process: component, rank, node, devices.
Places places_of(const placement::Plan& plan) {
  Places out;
  for (const placement::ComponentPlan& component : plan.components)
    for (const placement::Process& process : component.processes)
      out.insert({component_of(component.name), process.rank, process.node_rank, process.devices});
  return out;
}

TEST(AsJob, ItsProcessesAreShownWhatTheDocumentSays) {
  const Read one = read(kDocument);
  const Result<std::string> text =
      job_of_plan(one.document, one.plan, {.name = "ppo", .command = "python3 main.py --fast"});
  ASSERT_TRUE(text) << all_of(text.errors());
  const Result<JobFile> file = parse_job_file(*text, "job.yaml");
  ASSERT_TRUE(file) << all_of(file.errors()) << *text;
  const JobSpec& job = file->jobs.at(0);
  EXPECT_EQ(job.name, "default.ppo");
  EXPECT_EQ(job.worker_family, WorkerFamily::RLinf);
  ASSERT_EQ(job.roles.size(), 4u);
  EXPECT_EQ(job.roles[0].process->group_name, "ActorGroup");
  EXPECT_THAT(job.roles[0].command, ElementsAre("python3", "main.py", "--fast"));
  const NodeProgram* program = job.roles[1].process->program_of(2, 0);
  ASSERT_NE(program, nullptr);
  EXPECT_THAT(program->environment, ElementsAre(KeyValue{"ENGINE", "fast"}));
  EXPECT_EQ(program->interpreter, "/opt/bin/python");
  EXPECT_EQ(program->node_group, "generate");
  EXPECT_EQ(job.roles[2].name, "reward-model");
  EXPECT_EQ(job.roles[2].process->group_name, "reward_model");
  ASSERT_EQ(job.take_turns.size(), 1u);
  EXPECT_THAT(job.take_turns[0].roles, ElementsAre("actor", "reward-model"));
}

TEST(AsJob, ProcessesOfOneNodeByTwoGroupsAreToldApart) {
  // Node 1 is of both groups: its first device is placed by the one, its second by the other.
  const Read one = read(R"(
cluster:
  nodes: [{gpus: 2}, {gpus: 2}]
  node_groups:
    - {label: a, node_ranks: 0-1}
    - {label: b, node_ranks: 1, env_configs: [{node_ranks: 1, env_vars: [{KIND: second}]}]}
  component_placement:
    env: {node_group: "a, b", placement: "0-2,5"}
)");
  const auto job = job_of_plan(one.document, one.plan, {.name = "twice"});
  ASSERT_TRUE(job) << all_of(job.errors());
  const auto role = nlohmann::json::parse(*job).at("roles").at("env");
  EXPECT_EQ(role.at("placement"), "0-3:0-3");
  EXPECT_EQ(role.at("on_nodes"), nlohmann::json::parse(R"([
    {"nodes": [0], "node_group": "a"},
    {"nodes": [1], "ranks": [2], "node_group": "a"},
    {"nodes": [1], "ranks": [3], "env": {"KIND": "second"}, "node_group": "b"}
  ])"));
}

TEST(AsJob, AShellRunsWhatIsMoreThanWords) {
  const Read one = read("cluster: {nodes: [{gpus: 2}], component_placement: {actor: 0-1}}");
  const Result<std::string> text =
      job_of_plan(one.document, one.plan, {.name = "a", .command = "exec ./a > out"});
  const Result<JobFile> file = parse_job_file(*text, "job.yaml");
  ASSERT_TRUE(file) << all_of(file.errors());
  EXPECT_THAT(file->jobs[0].roles[0].command, ElementsAre("/bin/sh", "-c", "exec ./a > out"));
}

TEST(AsJob, WhatNoRoleCanSayIsRefusedByName) {
  const Read one = read(R"(
cluster:
  nodes: [{gpus: 2, count: 2}]
  node_groups:
    - {label: last, node_ranks: 1}
    - {label: first, node_ranks: 0}
  component_placement:
    actor: {node_group: "last,first", placement: 0-3}
    rollout: 0-1
)");
  const Result<std::string> text = job_of_plan(one.document, one.plan, {.name = "a"});
  ASSERT_FALSE(text);
  EXPECT_THAT(all_of(text.errors()),
              HasSubstr("component actor: found processes that do not rise"));
}

TEST(AsJob, AFilesNameBecomesOneOfAJob) {
  EXPECT_EQ(job_name_of_file("config/Maze_PPO.v2.yaml"), "maze-ppo");
  EXPECT_EQ(job_name_of_file("-"), "rlinf");
  EXPECT_EQ(job_name_of_file("x/__.yaml"), "rlinf");
  EXPECT_EQ(job_name_of_file(std::string(100, 'a')).size(), 63u);
}

/// Whether the scenario that a document is places each process as the document does.
bool is_kept(std::string_view text, std::string& refused) {
  const PlacementDocument document = read_placement_document(text);
  const PlacementAnswer answer = resolve_placement_document(document);
  if (!answer.findings.empty() || !is_rlinf_document(document)) return false;
  const Result<std::string> scenario =
      scenario_of_plan(document, answer.plan, {.name = "kept", .command = "python3 main.py"});
  if (!scenario) {
    refused = all_of(scenario.errors());
    return false;
  }
  const PlacementDocument again = read_placement_document(*scenario);
  const PlacementAnswer found = resolve_placement_document(again);
  std::string findings;
  for (const PlacementFinding& finding : found.findings) findings += finding.message + "\n";
  EXPECT_EQ(findings, "") << *scenario;
  EXPECT_EQ(places_of(found.plan), places_of(answer.plan)) << *scenario;
  const Result<Scenario> loaded = parse_scenario(*scenario, "kept.yaml");
  EXPECT_TRUE(loaded) << (loaded ? "" : all_of(loaded.errors())) << *scenario;
  return true;
}

TEST(AsJob, TheExampleIsKept) {
  std::string refused;
  EXPECT_TRUE(is_kept(kDocument, refused)) << refused;
}

TEST(AsJob, EachConformanceCaseThatARoleCanSayIsKept) {
  const auto path =
      std::filesystem::path(ORRERY_SOURCE_ROOT) / "../shared/cases/placement_cases.json";
  std::ifstream in(path, std::ios::binary);
  if (!in) GTEST_SKIP() << "no ../shared/cases/placement_cases.json";
  std::size_t kept = 0;
  std::size_t refusals = 0;
  const auto document = nlohmann::ordered_json::parse(in);
  for (const auto& each : document.at("cases")) {
    SCOPED_TRACE(each.at("name").get<std::string>());
    std::string refused;
    if (is_kept(each.dump(1), refused)) ++kept;
    if (!refused.empty()) {
      ++refusals;
      EXPECT_THAT(refused,
                  ::testing::AnyOf(HasSubstr("several kinds of hardware"),
                                   HasSubstr("do not rise with the devices")));
    }
  }
  EXPECT_GT(kept, refusals);
  RecordProperty("kept", static_cast<int>(kept));
  RecordProperty("refused", static_cast<int>(refusals));
}

}  // namespace as_job_tests
}  // namespace orrery::scenarios
