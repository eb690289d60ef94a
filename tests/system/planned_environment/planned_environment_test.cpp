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
#include "core/workers/plan_environment.hpp"
#include "runtime/agent/worker_environment.hpp"
#include "scenarios/language/placement/placement_document.hpp"

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

/// What the component's processes are shown, by node. Each node is taken as its first process has
/// it.
ProcessSpec process_of(const placement::Inventory& inventory,
                       const Plan& plan,
                       const ComponentPlan& component) {
  ProcessSpec out;
  out.group_name = component.group_name;
  out.isolate_devices = plan.isolate_accelerators;
  for (const Process& process : component.processes) {
    if (out.on_node(process.node_rank) != nullptr) continue;
    NodeProgram& program = out.on_nodes.emplace_back();
    program.nodes = {process.node_rank};
    program.node_group = component.groups[static_cast<std::size_t>(process.group)];
    const auto* declared = placement::environment_of(inventory, component, process);
    if (declared == nullptr) continue;
    program.environment = declared->variables;
    program.interpreter = declared->interpreter;
  }
  return out;
}

PlannedJob job_of(const placement::Inventory& inventory, const Plan& plan) {
  PlannedJob out;
  out.spec.name = "default.placed";
  PortLedger ports;
  for (const ComponentPlan& component : plan.components) {
    RoleSpec role;
    role.name = component.name;
    role.command = {"true"};
    const bool is_grouped = component.groups != std::vector<std::string>{"cluster"};
    role.placements.push_back({static_cast<std::int32_t>(component.processes.size()),
                               is_grouped ? component.groups : std::vector<std::string>{},
                               "as planned"});
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

/// Whether a job can say all that the document says of the component: it is on no node by two
/// groups.
bool can_run(const ComponentPlan& component) {
  std::map<std::int32_t, std::int32_t> group_of_node;
  return std::ranges::all_of(component.processes, [&](const Process& process) {
    return group_of_node.emplace(process.node_rank, process.group).first->second == process.group;
  });
}

/// Returns how many environments were compared: of up to `most` of each component, first and last
/// ones.
std::size_t compare(const scenarios::PlacementDocument& document, const Plan& plan) {
  constexpr std::size_t kMost = 40;
  std::size_t compared = 0;
  PlannedJob job = job_of(document.inventory, plan);
  workers::PlanSurroundings surroundings;
  surroundings.sources.node = own_variables();
  std::size_t first = 0;
  for (const ComponentPlan& component : plan.components) {
    const std::size_t size = component.processes.size();
    const std::size_t begin = std::exchange(first, first + size);
    if (!can_run(component)) continue;
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
  for (const char* folder : {"docs/examples/placement", "scenarios/placement"})
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
