// What `orrery place --env` prints is what a process finds: each process of each example and of
// each conformance case is told of by the agent's own function, from the start that a controller
// would order, and both texts are compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/cluster/port_ledger.hpp"
#include "core/job/process_programs.hpp"
#include "core/workers/plan_environment.hpp"
#include "runtime/agent/worker_environment.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::runtime {
namespace planned_environment_tests {

using placement::ComponentPlan;
using placement::Plan;
using placement::Process;
using placement::ResourceKind;
using ::testing::ElementsAreArray;

constexpr WorkerFamily kFamilies[]{WorkerFamily::Native,
                                   WorkerFamily::Torch,
                                   WorkerFamily::RLinf,
                                   WorkerFamily::NemoRl,
                                   WorkerFamily::DLRover};

std::vector<KeyValue> own_variables() {
  std::vector<KeyValue> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos)
      out.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return out;
}

/// A plan as the members of one job: its components are the roles.
struct PlannedJob {
  JobSpec spec;
  std::vector<WorkerStart> members;
};

std::uint64_t mask_of(const std::vector<std::int32_t>& bits) {
  std::uint64_t out = 0;
  for (const std::int32_t bit : bits) out |= std::uint64_t{1} << bit;
  return out;
}

/// What the component's processes are shown.
ProcessSpec process_of(const placement::Inventory& inventory,
                       const Plan& plan,
                       const ComponentPlan& component) {
  std::vector<ProcessProgram> programs;
  for (const Process& process : component.processes) {
    ProcessProgram& here = programs.emplace_back();
    here.node = process.node_rank;
    here.rank = process.rank;
    here.program.node_group = component.groups[static_cast<std::size_t>(process.group)];
    const auto* declared = placement::environment_of(inventory, component, process);
    if (declared == nullptr) continue;
    here.program.environment = declared->variables;
    here.program.interpreter = declared->interpreter;
  }
  ProcessSpec out;
  out.group_name = component.group_name;
  out.isolate_devices = plan.isolate_accelerators;
  out.on_nodes = joined_programs(programs);
  return out;
}

/// The only job of the document, where it has virtual clusters; else null.
const JobSpec* spec_of(const scenarios::PlacementDocument& document) {
  if (document.scenario == nullptr || document.jobs.size() != 1) return nullptr;
  return &document.scenario->jobs.at(document.jobs.front().index).spec;
}

/// What the role is on a virtual cluster of the job; null where it is on none.
const RoleSpec* worker_group_of(const JobSpec* spec, const std::string& role) {
  if (spec == nullptr) return nullptr;
  for (const RoleSpec& one : spec->roles)
    if (one.name == role && one.workers.is_set()) return &one;
  return nullptr;
}

PlannedJob job_of(const placement::Inventory& inventory, const Plan& plan, const JobSpec* written) {
  PlannedJob out;
  out.spec.name = "default.placed";
  if (written != nullptr) out.spec.virtual_clusters = written->virtual_clusters;
  PortLedger ports;
  for (const ComponentPlan& component : plan.components) {
    RoleSpec role;
    role.name = component.name;
    role.command = {"true"};
    const bool is_grouped = component.groups != std::vector<std::string>{"cluster"};
    role.placements.push_back({static_cast<std::int32_t>(component.processes.size()),
                               is_grouped ? component.groups : std::vector<std::string>{},
                               "as planned"});
    if (const RoleSpec* const group = worker_group_of(written, component.name)) {
      role.placements.clear();
      role.workers = group->workers;
    }
    role.process = process_of(inventory, plan, component);
    for (const Process& process : component.processes) {
      WorkerStart start;
      start.rank = Rank{static_cast<std::uint32_t>(out.members.size())};
      start.role = RoleIndex{static_cast<std::uint16_t>(out.spec.roles.size())};
      start.local_rank = process.rank;
      start.node = NodeId{static_cast<std::uint32_t>(process.node_rank)};
      start.incarnation = Incarnation{1};
      if (process.kind == ResourceKind::Accelerator) start.devices = mask_of(process.devices);
      if (process.kind == ResourceKind::Custom) start.hardware = mask_of(process.devices);
      start.first_port = ports.take(start.node, 1).first;
      out.members.push_back(start);
    }
    out.spec.roles.push_back(std::move(role));
  }
  return out;
}

std::vector<std::string> run_environment(const PlannedJob& job,
                                         const WorkerStart& member,
                                         const placement::Inventory& inventory) {
  const placement::InventoryNode& node = inventory.nodes[member.node.index()];
  Surroundings around;
  for (std::size_t n = 0; n < inventory.nodes.size(); ++n)
    around.addresses[NodeId{static_cast<std::uint32_t>(n)}] = "node-" + std::to_string(n);
  around.vendor = node.vendor;
  around.device_model = node.accelerator_model;
  around.devices = node.accelerators;
  SpawnWorker order;
  order.worker = {JobId{0}, member.incarnation, member.rank};
  order.slot = {member.role, member.local_rank};
  order.generation = Generation{1};
  order.rank = member.rank;
  order.world_size = static_cast<std::uint32_t>(job.members.size());
  order.devices = member.devices;
  return environment_of(order, job.spec, job.members, around).value();
}

/// Returns how many environments were compared: of up to `most` of each component, first and last
/// ones.
std::size_t compare(const scenarios::PlacementDocument& document, const Plan& plan) {
  constexpr std::size_t kMost = 40;
  std::size_t compared = 0;
  const JobSpec* const written = spec_of(document);
  PlannedJob job = job_of(document.inventory, plan, written);
  workers::PlanSurroundings surroundings;
  surroundings.sources.node = own_variables();
  std::size_t first = 0;
  for (const ComponentPlan& component : plan.components) {
    const std::size_t size = component.processes.size();
    const std::size_t begin = std::exchange(first, first + size);
    surroundings.worker_group.reset();
    if (const RoleSpec* const group = worker_group_of(written, component.name))
      for (const VirtualClusterSpec& cluster : written->virtual_clusters)
        if (cluster.name == group->workers.virtual_cluster)
          surroundings.worker_group =
              workers::lay_out(component.name, cluster, group->workers).value();
    for (const WorkerFamily family : kFamilies) {
      job.spec.worker_family = family;
      const auto planned =
          workers::environments_of(document.inventory, plan, component.name, family, surroundings);
      for (std::size_t i = 0; i < size; ++i) {
        if (i >= kMost / 2 && i + kMost / 2 < size) continue;
        std::vector<std::string> lines;
        for (const KeyValue& variable : planned.value()[i].variables)
          lines.push_back(variable.key + "=" + variable.value);
        EXPECT_THAT(run_environment(job, job.members[begin + i], document.inventory),
                    ElementsAreArray(lines))
            << component.name << ":" << i << " of " << to_string(family);
        ++compared;
      }
    }
  }
  return compared;
}

/// Returns how many environments of the document were compared.
std::size_t compare(const std::string& text) {
  const scenarios::PlacementDocument document = scenarios::read_placement_document(text);
  const scenarios::PlacementAnswer answer = scenarios::resolve_placement_document(document);
  return answer.findings.empty() ? compare(document, answer.plan) : 0;
}

TEST(PlannedEnvironment, OfEachExampleIsWhatTheProcessFinds) {
  std::size_t compared = 0;
  for (const char* folder :
       {"docs/examples/placement", "docs/examples/virtual_clusters", "scenarios/placement"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(ORRERY_SOURCE_ROOT) / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      SCOPED_TRACE(entry.path().filename().string());
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      compared += compare(text.str());
    }
  EXPECT_GT(compared, 500u);
  RecordProperty("environments", static_cast<int>(compared));
}

/// A robot's node that has devices too: processes of one component are on it by both groups.
constexpr std::string_view kOneNodeTwice = R"(
cluster:
  nodes: [{gpus: 2, gpu_model: L40S}, {gpus: 2, gpu_model: L40S}]
  node_groups:
    - label: devices
      node_ranks: 0-1
      env_configs: [{node_ranks: 1, env_vars: [{KIND: device}]}]
    - label: others
      node_ranks: 1
      env_configs: [{node_ranks: 1, env_vars: [{KIND: other}]}]
  component_placement:
    actor: {node_group: "devices, others", placement: 0-5}
)";

TEST(PlannedEnvironment, OfProcessesThatAreOnOneNodeByTwoGroups) {
  const std::string text(kOneNodeTwice);
  EXPECT_EQ(compare(text), 6u * std::size(kFamilies));
  const scenarios::PlacementDocument document = scenarios::read_placement_document(text);
  const Plan plan = scenarios::resolve_placement_document(document).plan;
  const PlannedJob job = job_of(document.inventory, plan, nullptr);
  const ProcessSpec& process = *job.spec.roles.at(0).process;
  // Ranks 2 and 3 are on node 1 by the first group, 4 and 5 by the second.
  EXPECT_EQ(process.program_of(0, 0)->node_group, "devices");
  EXPECT_EQ(process.program_of(1, 3)->node_group, "devices");
  EXPECT_EQ(process.program_of(1, 4)->node_group, "others");
  EXPECT_EQ(process.program_of(1, 4)->environment, (std::vector<KeyValue>{{"KIND", "other"}}));
  EXPECT_EQ(process.program_of(1, 6), nullptr);
}

TEST(PlannedEnvironment, OfALeaderSaysWhatIsTiedToIt) {
  const std::string text = R"(
name: tied
cluster: {nodes: 2, gpus_per_node: 4, gpu: h100}
jobs:
  - name: engines
    virtual_clusters: {engines: {nodes: 2, bundles_per_node: 4, strategy: strict_spread}}
    roles:
      generation:
        workers:
          virtual_cluster: engines
          tied: [{node: 0, bundles: [0, 1, 2, 3]}, {node: 1, bundles: [0, 1]}, {node: 1, bundles: [2, 3]}]
    work: 100s
)";
  EXPECT_EQ(compare(text), 8u * std::size(kFamilies));
  const scenarios::PlacementDocument document = scenarios::read_placement_document(text);
  const scenarios::PlacementAnswer answer = scenarios::resolve_placement_document(document);
  const JobSpec* const written = spec_of(document);
  ASSERT_NE(written, nullptr);
  workers::PlanSurroundings surroundings;
  surroundings.worker_group =
      workers::lay_out("generation", written->virtual_clusters.at(0), written->roles.at(0).workers)
          .value();
  const auto value = [&](std::int32_t rank, std::string_view name) -> std::string {
    const auto environment = workers::environment_of(
        document.inventory, answer.plan, "generation", rank, WorkerFamily::NemoRl, surroundings);
    for (const KeyValue& variable : environment.value().variables)
      if (variable.key == name) return variable.value;
    return "(none)";
  };
  EXPECT_EQ(value(4, "ORRERY_BUNDLES"), "0,1");
  EXPECT_EQ(value(4, "CUDA_VISIBLE_DEVICES"), "0,1") << "its own, and that of who is tied to it";
  EXPECT_EQ(value(5, "ORRERY_BUNDLES"), "(none)");
  EXPECT_EQ(value(5, "CUDA_VISIBLE_DEVICES"), "1");
  EXPECT_EQ(value(6, "NODE_RANK"), "1");
}

TEST(PlannedEnvironment, OfEachConformanceCaseIsWhatTheProcessFinds) {
  const auto path =
      std::filesystem::path(ORRERY_SOURCE_ROOT) / "../shared/cases/placement_cases.json";
  std::ifstream in(path, std::ios::binary);
  if (!in) GTEST_SKIP() << "no ../shared/cases/placement_cases.json";
  std::size_t compared = 0;
  const auto document = nlohmann::ordered_json::parse(in);
  for (const auto& each : document.at("cases")) {
    SCOPED_TRACE(each.at("name").get<std::string>());
    compared += compare(each.dump(1));
  }
  EXPECT_GT(compared, 1000u);
  RecordProperty("environments", static_cast<int>(compared));
}

}  // namespace planned_environment_tests
}  // namespace orrery::runtime
