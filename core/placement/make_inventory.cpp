// Declarations of node groups against rules C1, C2, C4 and C5.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/placement/error_sink.hpp"
#include "core/placement/inventory.hpp"
#include "core/placement/rank_list.hpp"
#include "core/placement/rank_text.hpp"

namespace orrery::placement {
namespace {

using Ranks = std::vector<std::int32_t>;

const HardwareType* find_type(const std::vector<HardwareType>& types, std::string_view name) {
  const auto found = std::find_if(
      types.begin(), types.end(), [&](const HardwareType& t) { return t.name == name; });
  return found == types.end() ? nullptr : &*found;
}

std::string join(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// The text of `key` and everything that makes two entries differ.
std::string identity(const HardwareEntry& entry) {
  std::string text = std::to_string(entry.node_rank);
  for (const KeyValue& field : entry.fields) {
    text += '\0' + field.key + '\0' + field.value;
  }
  return text;
}

/// Checks one group by itself.
class GroupCheck {
 public:
  GroupCheck(const GroupDeclaration& group,
             const Ranks& cluster,
             const std::vector<HardwareType>& types,
             PlacementErrors& errors)
      : group_(group),
        cluster_(cluster),
        types_(types),
        before_(errors.size()),
        all_errors_(errors),
        errors_(errors, Stage::Config, "node group " + in_quotes(group.label.text)) {}

  /// The group; nothing where something was told or there is no cluster.
  std::optional<InventoryGroup> check();

 private:
  void check_hardware();
  void check_entry(const HardwareType& type, const HardwareEntry& entry);
  void check_label();
  void check_nodes();
  void check_environments();
  void check_environment(const GroupEnvironment& environment, Ranks& taken);
  void check_variables(const GroupEnvironment& environment);
  void check_hardware_nodes();

  const GroupDeclaration& group_;
  const Ranks& cluster_;
  const std::vector<HardwareType>& types_;
  std::size_t before_;
  PlacementErrors& all_errors_;
  ErrorSink errors_;
  InventoryGroup out_;
  bool nodes_known_ = false;
};

std::optional<InventoryGroup> GroupCheck::check() {
  out_.label = group_.label.text;
  out_.ignore_hardware = group_.ignore_hardware;
  check_hardware();
  check_label();
  check_nodes();
  check_environments();
  check_hardware_nodes();
  if (all_errors_.size() != before_ || cluster_.empty()) return std::nullopt;
  return std::move(out_);
}

void GroupCheck::check_hardware() {
  if (!group_.hardware) return;
  const GroupHardware& hardware = *group_.hardware;
  out_.hardware_type = hardware.type.text;
  const HardwareType* type = find_type(types_, hardware.type.text);
  if (type == nullptr) {
    std::vector<std::string> names;
    for (const HardwareType& known : types_) names.push_back(known.name);
    errors_.add(ErrorKind::HardwareTypeUnsupported,
                hardware.type.at,
                {"hardware type " + in_quotes(hardware.type.text),
                 "a known type: " + join(names),
                 "correct the type or declare it as a type of custom hardware"});
  }
  std::set<std::string> seen;
  for (const HardwareEntry& entry : hardware.entries) {
    if (type != nullptr) check_entry(*type, entry);
    if (!seen.insert(identity(entry)).second) {
      errors_.add(ErrorKind::HardwareConfigDuplicate,
                  entry.at,
                  {"the same " + hardware.type.text + " on node " +
                       std::to_string(entry.node_rank) + " a second time",
                   "entries that differ, one for each piece of hardware",
                   "remove the entry or give it the fields of another piece"});
    }
  }
  if (group_.ignore_hardware) {
    errors_.add(ErrorKind::HardwareWithIgnoreHardware,
                hardware.type.at,
                {"hardware together with ignore_hardware",
                 "one of them: a group has hardware or ignores it",
                 "remove hardware or ignore_hardware"});
  }
}

void GroupCheck::check_entry(const HardwareType& type, const HardwareEntry& entry) {
  const auto given = [&](const std::string& name) {
    return std::any_of(entry.fields.begin(), entry.fields.end(), [&](const KeyValue& field) {
      return field.key == name;
    });
  };
  std::vector<std::string> unknown;
  for (const KeyValue& field : entry.fields) {
    const bool known =
        type.any_field ||
        std::find(type.fields.begin(), type.fields.end(), field.key) != type.fields.end();
    if (!known) unknown.push_back(field.key);
  }
  std::vector<std::string> missing;
  for (const std::string& name : type.required) {
    if (!given(name)) missing.push_back(name);
  }
  if (!unknown.empty()) {
    errors_.add(ErrorKind::UnknownField,
                entry.at,
                {"unknown " + type.name + " field " + join(unknown),
                 "fields among node_rank, " + join(type.fields),
                 "remove or correct the field"});
  }
  if (!missing.empty()) {
    errors_.add(ErrorKind::MissingField,
                entry.at,
                {"no " + join(missing), "every required field of " + type.name, "add the field"});
  }
}

void GroupCheck::check_label() {
  if (!is_reserved_label(group_.label.text)) return;
  errors_.add(ErrorKind::ReservedLabel,
              group_.label.at,
              {"a group with the label " + in_quotes(group_.label.text),
               "a label other than cluster and node, which always exist",
               "choose another label; refer to " + group_.label.text + " without declaring it"});
}

void GroupCheck::check_nodes() {
  const auto list = read_rank_list(group_.node_ranks, errors_);
  if (!list || cluster_.empty()) return;
  const auto outside = ranges_outside(*list, cluster_);
  const std::string known = to_text({0, static_cast<std::int64_t>(cluster_.size()) - 1});
  for (const ListedRange& range : outside) {
    errors_.add(ErrorKind::NodeRankOutOfRange,
                group_.node_ranks.at.plus(range.offset),
                {"node ranks " + to_text(range.ranks),
                 "ranks within " + known + ", for the cluster has " +
                     counted(static_cast<std::int64_t>(cluster_.size()), "node"),
                 "choose nodes of the cluster or raise num_nodes"});
  }
  nodes_known_ = outside.empty();
  if (nodes_known_) out_.node_ranks = pick_ranks(*list, cluster_);
}

void GroupCheck::check_environments() {
  Ranks taken;
  for (const GroupEnvironment& environment : group_.environments) {
    check_environment(environment, taken);
    check_variables(environment);
  }
  std::sort(
      out_.environments.begin(),
      out_.environments.end(),
      [](const NodeEnvironment& a, const NodeEnvironment& b) { return a.node_rank < b.node_rank; });
}

/// `taken`: nodes of the environments before, ascending.
void GroupCheck::check_environment(const GroupEnvironment& environment, Ranks& taken) {
  const auto list = read_rank_list(environment.node_ranks, errors_);
  if (!list || !nodes_known_) return;
  const auto outside = ranges_outside(*list, out_.node_ranks);
  for (const ListedRange& range : outside) {
    errors_.add(ErrorKind::EnvNodeRankOutsideGroup,
                environment.node_ranks.at.plus(range.offset),
                {"env_configs for node ranks " + to_text(range.ranks),
                 "nodes of the group: " + group_.node_ranks.text,
                 "choose nodes of the group or add the node to it"});
  }
  if (!outside.empty()) return;
  const Ranks nodes = pick_ranks(*list, out_.node_ranks);
  Ranks both;
  std::set_intersection(
      nodes.begin(), nodes.end(), taken.begin(), taken.end(), std::back_inserter(both));
  if (!both.empty()) {
    errors_.add(ErrorKind::EnvDuplicate,
                environment.node_ranks.at,
                {"env_configs for node " + std::to_string(both.front()) + " a second time",
                 "each node in one entry of env_configs",
                 "bring the variables of a node together in one entry"});
    return;
  }
  for (const std::int32_t node : nodes) {
    out_.environments.push_back({node, environment.variables, environment.interpreter});
  }
  Ranks merged;
  std::merge(taken.begin(), taken.end(), nodes.begin(), nodes.end(), std::back_inserter(merged));
  taken = std::move(merged);
}

void GroupCheck::check_variables(const GroupEnvironment& environment) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < environment.variables.size(); ++i) {
    const std::string& key = environment.variables[i].key;
    if (seen.insert(key).second) continue;
    errors_.add(ErrorKind::EnvDuplicate,
                i < environment.variables_at.size() ? environment.variables_at[i] : environment.at,
                {"variable " + in_quotes(key) + " a second time",
                 "each variable once for a node",
                 "remove one of the two values"});
  }
}

void GroupCheck::check_hardware_nodes() {
  if (!group_.hardware || !nodes_known_) return;
  for (const HardwareEntry& entry : group_.hardware->entries) {
    if (std::binary_search(out_.node_ranks.begin(), out_.node_ranks.end(), entry.node_rank)) {
      out_.hardware.push_back(entry);
      continue;
    }
    errors_.add(ErrorKind::HardwareNodeRankOutsideGroup,
                entry.at,
                {group_.hardware->type.text + " on node " + std::to_string(entry.node_rank),
                 "a node of the group: " + group_.node_ranks.text,
                 "correct node_rank or add the node to the group"});
  }
  // Robots are numbered by node, on a node in the order of declaration.
  std::stable_sort(out_.hardware.begin(), out_.hardware.end(), [](const auto& a, const auto& b) {
    return a.node_rank < b.node_rank;
  });
}

/// Groups that define one type of hardware on one node: all but the first are told and marked.
void check_types_once(const std::vector<GroupDeclaration>& groups,
                      std::vector<bool>& sound,
                      PlacementErrors& errors) {
  std::map<std::pair<std::string, std::int32_t>, std::size_t> owners;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].hardware) continue;
    std::set<std::int32_t> told;
    for (const HardwareEntry& entry : groups[i].hardware->entries) {
      const std::string& type = groups[i].hardware->type.text;
      const auto [owner, mine] = owners.try_emplace({type, entry.node_rank}, i);
      if (mine || owner->second == i || !told.insert(entry.node_rank).second) continue;
      sound[i] = false;
      const ErrorSink sink(errors, Stage::Config, "node group " + in_quotes(groups[i].label.text));
      sink.add(ErrorKind::HardwareTypeTwiceOnNode,
               entry.at,
               {type + " on node " + std::to_string(entry.node_rank) + ", which group " +
                    in_quotes(groups[owner->second].label.text) + " has declared",
                "one group for a type of hardware on a node",
                "declare all " + type + " of the node in one group"});
    }
  }
}

void check_labels_once(const std::vector<GroupDeclaration>& groups,
                       std::vector<bool>& sound,
                       PlacementErrors& errors) {
  std::map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string& label = groups[i].label.text;
    const auto [known, mine] = first.try_emplace(label, i);
    if (mine) continue;
    // Which of the two is meant cannot be told.
    sound[known->second] = false;
    sound[i] = false;
    const ErrorSink sink(errors, Stage::Config, "node group " + in_quotes(label));
    sink.add(ErrorKind::DuplicateLabel,
             groups[i].label.at,
             {"a second group with the label " + in_quotes(label),
              "labels that differ",
              "rename one of the groups"});
  }
}

}  // namespace

Inventory make_inventory(std::vector<InventoryNode> nodes,
                         const std::vector<GroupDeclaration>& groups,
                         const std::vector<HardwareType>& types,
                         PlacementErrors& errors) {
  Inventory out;
  out.nodes = std::move(nodes);
  Ranks cluster(out.nodes.size());
  std::iota(cluster.begin(), cluster.end(), 0);
  std::vector<std::optional<InventoryGroup>> checked;
  for (const GroupDeclaration& group : groups) {
    checked.push_back(GroupCheck(group, cluster, types, errors).check());
  }
  std::vector<bool> sound(groups.size(), true);
  check_types_once(groups, sound, errors);
  check_labels_once(groups, sound, errors);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (checked[i] && sound[i]) {
      out.groups.push_back(std::move(*checked[i]));
    } else if (!is_reserved_label(groups[i].label.text) && !out.is_unsound(groups[i].label.text)) {
      out.unsound.push_back(groups[i].label.text);
    }
  }
  sort_by_stage(errors);
  return out;
}

}  // namespace orrery::placement
