#include "scenarios/language/rlinf/as_job.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/job/process_programs.hpp"
#include "core/placement/cluster_inventory.hpp"

namespace orrery::scenarios {
namespace {

using placement::ComponentPlan;
using placement::Inventory;
using placement::Plan;
using placement::Process;
using placement::ResourceKind;

std::string role_name(std::string component) {
  std::replace(component.begin(), component.end(), '_', '-');
  return component;
}

/// Pieces of custom hardware by type, of one node.
using Hardware = std::vector<std::pair<std::string, std::int32_t>>;

std::vector<Hardware> hardware_by_node(const Inventory& inventory) {
  std::vector<Hardware> out(inventory.nodes.size());
  for (const placement::InventoryGroup& group : inventory.groups)
    for (const placement::HardwareEntry& entry : group.hardware) {
      Hardware& here = out[static_cast<std::size_t>(entry.node_rank)];
      const auto known = std::find_if(here.begin(), here.end(), [&](const auto& one) {
        return one.first == group.hardware_type;
      });
      if (known == here.end())
        here.emplace_back(group.hardware_type, 1);
      else
        ++known->second;
    }
  return out;
}

/// Equal neighbours of the inventory as groups of nodes, without the document's labels.
std::vector<NodeGroup> node_groups_of(const Inventory& inventory) {
  const std::vector<Hardware> hardware = hardware_by_node(inventory);
  std::vector<NodeGroup> out;
  for (std::size_t i = 0; i < inventory.nodes.size(); ++i) {
    const placement::InventoryNode& node = inventory.nodes[i];
    if (i > 0 && hardware[i] == hardware[i - 1] &&
        std::tie(node.accelerators, node.accelerator_model, node.vendor) ==
            std::tie(inventory.nodes[i - 1].accelerators,
                     inventory.nodes[i - 1].accelerator_model,
                     inventory.nodes[i - 1].vendor)) {
      ++out.back().count;
      continue;
    }
    NodeGroup& group = out.emplace_back();
    group.name = "nodes-" + std::to_string(i);
    group.count = 1;
    group.devices = node.accelerators;
    group.device_model = node.accelerator_model;
    group.vendor = node.vendor;
    for (const auto& [type, count] : hardware[i]) group.hardware.push_back({type, count});
  }
  return out;
}

Error refused(const std::string& component, std::string message) {
  return {ErrorCode::InvalidInput, {}, 0, "component " + component, std::move(message)};
}

/// The component in the numbering of the whole cluster.
Result<placement::PlacementRule> whole_cluster_rule(const ComponentPlan& component,
                                                    const Inventory& unlabelled) {
  ComponentPlan same = component;
  std::set<std::pair<ResourceKind, std::string>> kinds;
  for (Process& process : same.processes) {
    kinds.insert({process.kind, component.hardware_types[static_cast<std::size_t>(process.group)]});
    process.group = 0;
  }
  if (kinds.size() != 1)
    return refused(component.name,
                   "found its processes on several kinds of hardware, a role of a job has one; "
                   "place a component for each");
  const auto& [kind, type] = *kinds.begin();
  same.groups = {kind == ResourceKind::Accelerator ? std::string(placement::kClusterLabel)
                 : kind == ResourceKind::Node      ? std::string(placement::kNodeLabel)
                                                   : type};
  same.hardware_types = {type};
  placement::PlacementRule rule = placement::explicit_rule(same, unlabelled);
  if (!rule.placement)
    return refused(component.name,
                   "found processes that do not rise with the devices of the cluster, or devices "
                   "that are not neighbours in one process, which no text of a job says; number "
                   "the processes in the order of nodes and devices");
  return rule;
}

/// What the document says of the component's processes on their nodes. `own`: the group that the
/// role's placement names.
std::vector<NodeProgram> programs_of(const Inventory& inventory,
                                     const ComponentPlan& component,
                                     const std::string& own) {
  std::vector<ProcessProgram> processes;
  for (const Process& process : component.processes) {
    ProcessProgram& here = processes.emplace_back();
    here.node = process.node_rank;
    here.rank = process.rank;
    const std::string& label = component.groups[static_cast<std::size_t>(process.group)];
    if (label != own) here.program.node_group = label;
    const placement::NodeEnvironment* declared =
        placement::environment_of(inventory, component, process);
    if (declared == nullptr) continue;
    here.program.environment = declared->variables;
    here.program.interpreter = declared->interpreter;
  }
  return joined_programs(processes);
}

void write_numbers(std::string_view key, const std::vector<std::int32_t>& numbers, JsonText& json) {
  json.key(key).begin_array();
  for (const std::int32_t number : numbers) json.value(number);
  json.end_array();
}

void write_on_nodes(const Inventory& inventory,
                    const ComponentPlan& component,
                    const placement::PlacementRule& rule,
                    JsonText& json) {
  const std::vector<NodeProgram> programs =
      programs_of(inventory,
                  component,
                  rule.node_groups.empty() ? std::string(placement::kClusterLabel)
                                           : rule.node_groups.front().text);
  if (programs.empty()) return;
  json.key("on_nodes").begin_array();
  for (const NodeProgram& program : programs) {
    json.begin_object();
    write_numbers("nodes", program.nodes, json);
    if (!program.ranks.empty()) write_numbers("ranks", program.ranks, json);
    if (!program.environment.empty()) {
      json.key("env").begin_object();
      for (const KeyValue& variable : program.environment) json.field(variable.key, variable.value);
      json.end_object();
    }
    if (!program.interpreter.empty()) json.field("interpreter", program.interpreter);
    if (!program.node_group.empty()) json.field("node_group", program.node_group);
    json.end_object();
  }
  json.end_array();
}

/// Words and spaces alone need no shell: so another interpreter may stand for their python.
void write_command(const std::string& command, JsonText& json) {
  if (command.empty()) return;
  const bool plain = std::all_of(command.begin(), command.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" _./=:,+@%-").find(c) != std::string_view::npos;
  });
  if (!plain) {
    json.field("command", command);
    return;
  }
  json.key("command").begin_array();
  std::string_view rest = command;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) json.value(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  json.end_array();
}

void write_role(const PlacementDocument& document,
                const Plan& plan,
                const ComponentPlan& component,
                const placement::PlacementRule& rule,
                const RlinfJobWords& words,
                JsonText& json) {
  json.key(role_name(component.name)).begin_object();
  json.key("placement");
  if (rule.node_groups.empty()) {
    json.value(rule.placement->text);
  } else {
    json.begin_object().field("node_group", rule.node_groups.front().text);
    json.field("placement", rule.placement->text).end_object();
  }
  json.field("group_name", component.group_name.empty() ? component.name : component.group_name);
  if (!plan.isolate_accelerators) json.field("isolate_devices", false);
  json.field("cpu", 0).field("memory", "0B");
  write_on_nodes(document.inventory, component, rule, json);
  write_command(words.command, json);
  json.end_object();
}

/// Roles that share devices, each list of them connected.
std::vector<std::set<std::string>> turns_of(const Plan& plan) {
  std::map<std::tuple<std::int32_t, std::string, std::int32_t>, std::set<std::string>> holders;
  for (const ComponentPlan& component : plan.components)
    for (const Process& process : component.processes)
      for (const std::int32_t device : process.devices)
        holders[{process.node_rank,
                 component.hardware_types[static_cast<std::size_t>(process.group)],
                 device}]
            .insert(role_name(component.name));
  std::vector<std::set<std::string>> out;
  for (const auto& [device, roles] : holders) {
    if (roles.size() < 2) continue;
    std::set<std::string> joined = roles;
    std::erase_if(out, [&](const std::set<std::string>& other) {
      const bool meets = std::any_of(
          other.begin(), other.end(), [&](const auto& role) { return joined.contains(role); });
      if (meets) joined.insert(other.begin(), other.end());
      return meets;
    });
    out.push_back(std::move(joined));
  }
  return out;
}

/// The keys of a job; `timed`: with how long it runs.
Status write_job(const PlacementDocument& document,
                 const Plan& plan,
                 const RlinfJobWords& words,
                 bool timed,
                 JsonText& json) {
  const Inventory unlabelled = placement::inventory_of(node_groups_of(document.inventory));
  Errors errors;
  json.field("name", words.name).field("family", "rlinf");
  const std::vector<std::set<std::string>> turns = turns_of(plan);
  if (!turns.empty()) {
    json.key("take_turns").begin_array();
    for (const std::set<std::string>& together : turns) {
      json.begin_array();
      for (const std::string& role : together) json.value(role);
      json.end_array();
    }
    json.end_array();
  }
  json.key("roles").begin_object();
  for (const ComponentPlan& component : plan.components) {
    const Result<placement::PlacementRule> rule = whole_cluster_rule(component, unlabelled);
    if (rule)
      write_role(document, plan, component, *rule, words, json);
    else
      errors.insert(errors.end(), rule.errors().begin(), rule.errors().end());
  }
  json.end_object();
  if (timed) json.key("work").begin_object().field("duration", words.duration).end_object();
  if (!errors.empty()) return errors;
  return Done{};
}

void write_cluster(const Inventory& inventory, JsonText& json) {
  json.key("cluster").begin_object().key("groups").begin_array();
  for (const NodeGroup& group : node_groups_of(inventory)) {
    json.begin_object().field("name", group.name).field("nodes", group.count);
    json.field("devices_per_node", group.devices);
    if (!group.device_model.empty()) json.field("device_model", group.device_model);
    if (group.devices > 0) json.field("vendor", to_string(group.vendor));
    if (!group.hardware.empty()) {
      json.key("hardware").begin_object();
      for (const HardwareCount& hardware : group.hardware)
        json.field(hardware.type, hardware.count);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

bool is_rlinf_document(const PlacementDocument& document) {
  return document.jobs.empty() && !document.strategy && !document.rules.empty();
}

std::string job_name_of_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  name.resize(std::min(name.find('.'), name.size()));
  std::string out;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (kept || upper)
      out += upper ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  out.resize(std::min<std::size_t>(out.size(), 63));
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "rlinf" : out;
}

Result<std::string> job_of_plan(const PlacementDocument& document,
                                const Plan& plan,
                                const RlinfJobWords& words) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object();
  const Status written = write_job(document, plan, words, false, json);
  if (!written) return written.errors();
  json.end_object();
  return json.take() + "\n";
}

Result<std::string> scenario_of_plan(const PlacementDocument& document,
                                     const Plan& plan,
                                     const RlinfJobWords& words) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("name", words.name);
  write_cluster(document.inventory, json);
  json.key("jobs").begin_array().begin_object();
  const Status written = write_job(document, plan, words, true, json);
  if (!written) return written.errors();
  json.end_object().end_array().end_object();
  return json.take() + "\n";
}

}  // namespace orrery::scenarios
