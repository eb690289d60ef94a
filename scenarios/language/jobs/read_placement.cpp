// The placements of a role: texts of the placement language, resolved against the cluster.
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "core/job/process_programs.hpp"
#include "core/placement/cluster_inventory.hpp"
#include "core/placement/plan.hpp"
#include "core/placement/reservation.hpp"
#include "scenarios/language/jobs/job_places.hpp"

namespace orrery::scenarios {
namespace {

using placement::ComponentPlan;
using placement::Inventory;
using placement::PlacementRule;

/// One placement as written.
struct Written {
  Origin origin;
  std::string subject;
  PlacementRule rule;
};

std::vector<std::string> split_labels(const std::vector<placement::PlacedText>& written) {
  std::vector<std::string> labels;
  for (const placement::PlacedText& part : written) {
    std::string_view rest = part.text;
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string_view label = rest.substr(0, comma);
      while (!label.empty() && label.front() == ' ') label.remove_prefix(1);
      while (!label.empty() && label.back() == ' ') label.remove_suffix(1);
      if (!label.empty()) labels.emplace_back(label);
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return labels;
}

placement::PlacedText placed(const YamlNode& node) { return {node.scalar, {node.origin.line, 1}}; }

void read_labels(const MapReader& reader, std::vector<placement::PlacedText>& to) {
  const YamlNode* node = reader.find("node_group");
  if (node == nullptr) return;
  if (node->is_scalar()) return to.push_back(placed(*node));
  const bool texts = node->is_sequence() && !node->items.empty() &&
                     std::all_of(node->items.begin(), node->items.end(), [](const YamlNode& item) {
                       return item.is_scalar();
                     });
  if (!texts)
    reader.fail("node_group",
                found_instead(*node, "a label or a list of labels", "write for example a800"));
  else
    for (const YamlNode& item : node->items) to.push_back(placed(item));
}

/// A text, or a map that names node groups as well. Nothing, and a report, where it is neither.
std::optional<Written> read_value(Reading& reading, const YamlNode& node, std::string subject) {
  Written written{node.origin, std::move(subject), {}};
  if (node.is_scalar()) {
    written.rule.placement = placed(node);
    return written;
  }
  if (!node.is_map()) {
    reading.fail(node.origin,
                 written.subject,
                 found_instead(node,
                               "a text like \"0-3\" or {node_group: a800, placement: \"0-3\"}",
                               "write one of the two"));
    return std::nullopt;
  }
  const MapReader reader(reading, node, section("jobs.roles.placement"), written.subject);
  read_labels(reader, written.rule.node_groups);
  if (const YamlNode* text = reader.find("placement")) {
    if (!text->is_scalar()) {
      reader.fail("placement", found_instead(*text, "a text", "write for example \"0-3\""));
      return std::nullopt;
    }
    written.rule.placement = placed(*text);
    written.origin = text->origin;
  }
  return written;
}

/// The role's processes; nothing where something is wrong, which is reported.
std::optional<ComponentPlan> resolve(const Inventory& inventory,
                                     const std::string& role,
                                     Written& written,
                                     Reading& reading) {
  written.rule.components = {role, {written.origin.line, 1}};
  placement::PlacementErrors errors;
  std::vector<ComponentPlan> plans =
      placement::resolve_components(inventory, {written.rule}, errors);
  for (const placement::PlacementError& error : errors)
    reading.fail(written.origin,
                 written.subject,
                 "found " + error.found + ", needed " + error.needed + "; " + error.remedy);
  if (!errors.empty() || plans.size() != 1) return std::nullopt;
  return std::move(plans.front());
}

/// Whether an error may be none on another cluster.
bool is_about_the_cluster(const placement::PlacementError& error) {
  return error.kind == placement::ErrorKind::ResourceOutOfRange ||
         error.kind == placement::ErrorKind::NodeGroupNotFound ||
         error.kind == placement::ErrorKind::NodeOutOfRange ||
         error.kind == placement::ErrorKind::NoHardware;
}

/// Reports what is wrong with a text whatever the cluster is. Of an unknown group the
/// language reads as much as it can.
void judge_anywhere(const Written& written, const std::string& role, Reading& reading) {
  const Inventory nowhere;
  PlacementRule rule = written.rule;
  rule.components = {role, {written.origin.line, 1}};
  rule.node_groups = {{"", {written.origin.line, 1}}};
  placement::PlacementErrors errors;
  placement::resolve_components(nowhere, {rule}, errors);
  for (const placement::PlacementError& error : errors)
    if (!is_about_the_cluster(error))
      reading.fail(written.origin,
                   written.subject,
                   "found " + error.found + ", needed " + error.needed + "; " + error.remedy);
}

/// The most that any process takes of a node's devices.
void need_devices(const std::vector<Seat>& seats, Bundle& need) {
  for (const Seat& seat : seats) {
    const int devices = std::popcount(seat.devices);
    if (devices == 0 || std::pair{devices, seat.share.thousandths} <=
                            std::pair{need.devices, need.share.thousandths})
      continue;
    need.devices = devices;
    need.share = seat.share;
  }
}

/// A role on several groups has the label of each of its processes beside what else is said of it:
/// agents know no groups.
void note_groups(const ComponentPlan& plan, RoleSpec& role) {
  if (plan.groups.size() < 2) return;
  std::set<std::int32_t> nodes;
  for (const NodeProgram& program : role.process->on_nodes)
    for (const std::int32_t node : program.nodes)
      if (program.ranks.empty() && !nodes.insert(node).second)
        return;  // Twice, which check_spec tells.
  std::vector<ProcessProgram> processes;
  for (const placement::Process& process : plan.processes) {
    const NodeProgram* const written = role.process->program_of(process.node_rank, process.rank);
    ProcessProgram& here = processes.emplace_back();
    here.node = process.node_rank;
    here.rank = process.rank;
    if (written != nullptr) here.program = *written;
    if (here.program.node_group.empty())
      here.program.node_group = plan.groups[static_cast<std::size_t>(process.group)];
  }
  std::vector<NodeProgram> joined = joined_programs(processes);
  std::set<std::int32_t> replaced;
  for (const NodeProgram& program : joined)
    if (program.ranks.empty()) replaced.insert(program.nodes.begin(), program.nodes.end());
  // What is said of other nodes, and of ranks that other sizes have, stays.
  const auto size = static_cast<std::int32_t>(plan.processes.size());
  for (NodeProgram program : role.process->on_nodes) {
    const bool is_for_all = program.ranks.empty();
    if (is_for_all)
      std::erase_if(program.nodes, [&](std::int32_t node) { return replaced.contains(node); });
    else
      std::erase_if(program.ranks, [&](std::int32_t rank) { return rank < size; });
    if (!program.nodes.empty() && (is_for_all || !program.ranks.empty()))
      joined.push_back(std::move(program));
  }
  role.process.edit().on_nodes = std::move(joined);
}

/// The model of all devices that some size takes; empty where there are several or none.
std::string model_of(const std::vector<std::vector<Seat>>& sizes, const Inventory& inventory) {
  std::string model;
  bool seen = false;
  for (const std::vector<Seat>& seats : sizes)
    for (const Seat& seat : seats) {
      if (seat.devices == 0) continue;
      const std::string& here = inventory.nodes[seat.node.index()].accelerator_model;
      if (seen && here != model) return {};
      model = here;
      seen = true;
    }
  return model;
}

std::string devices_text(const Bundle& bundle) {
  if (bundle.share.is_whole()) return std::to_string(bundle.devices);
  std::string digits = std::to_string(1000 + bundle.share.thousandths).substr(1);
  digits.erase(digits.find_last_not_of('0') + 1);
  return "0." + digits;
}

std::string count_text(std::int32_t low, std::int32_t high) {
  return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
}

/// Replicas are as many as there are processes.
void derive_replicas(const MapReader& reader, RoleSpec& role) {
  const std::int32_t low = role.placements.front().replicas;
  const std::int32_t high = role.placements.back().replicas;
  if (reader.has("replicas") && (role.min_replicas != low || role.max_replicas != high))
    reader.fail("replicas",
                "is " + count_text(role.min_replicas, role.max_replicas) + ", but " +
                    count_text(low, high) + " processes are placed; " +
                    (low == high && role.is_elastic()
                         ? "write placements with one text for each size, or remove it"
                         : "remove it, or place as many"));
  role.min_replicas = low;
  role.max_replicas = high;
}

/// A replica takes what its process sits on.
void derive_bundle(const MapReader& reader,
                   const std::vector<std::vector<Seat>>& sizes,
                   const Inventory& inventory,
                   RoleSpec& role) {
  Bundle need;
  need.share.thousandths = 0;
  for (const std::vector<Seat>& seats : sizes) need_devices(seats, need);
  if (need.devices == 0) need.share = Share{};
  const std::string_view devices = reader.has("gpus") ? "gpus" : "devices";
  if (reader.has(devices) &&
      (role.bundle.devices != need.devices || role.bundle.share != need.share))
    reader.fail(devices,
                "is " + devices_text(role.bundle) + ", but the placement gives a process " +
                    devices_text(need) + "; remove it, or correct the placement");
  role.bundle.devices = need.devices;
  role.bundle.share = need.share;
  if (need.devices == 0) return;
  const std::string model = model_of(sizes, inventory);
  const std::string_view key = reader.has("gpu") ? "gpu" : "device_model";
  if (reader.has(key) && role.bundle.device_model != model)
    reader.fail(key,
                "is " + role.bundle.device_model + ", but the placement is on " +
                    (model.empty() ? "several models" : model) +
                    "; remove it, or place the role on nodes of that model");
  role.bundle.device_model = model;
}

/// What is written, by size; nothing for `placement`, whose size is what it places.
std::vector<std::pair<std::optional<std::int32_t>, Written>> read_sizes(const MapReader& reader) {
  std::vector<std::pair<std::optional<std::int32_t>, Written>> sizes;
  if (const YamlNode* one = reader.find("placement")) {
    if (auto written = read_value(reader.reading(), *one, reader.subject_of("placement")))
      sizes.emplace_back(std::nullopt, *std::move(written));
    return sizes;
  }
  const YamlNode* node = reader.find("placements");
  if (!node->is_map() || node->entries.empty()) {
    reader.fail("placements",
                found_instead(*node,
                              "a map from a number of processes to their placement",
                              "write for example {2: \"0-1\", 4: \"0-3\"}"));
    return sizes;
  }
  for (const YamlEntry& entry : node->entries) {
    const std::string subject = reader.subject_of("placements") + "." + entry.key;
    const std::int64_t size = parse_integer(entry.key).value_or(0);
    const bool repeated = std::any_of(
        sizes.begin(), sizes.end(), [&](const auto& earlier) { return earlier.first == size; });
    if (size < 1 || size > kReplicasMax || repeated)
      reader.reading().fail(entry.key_origin,
                            subject,
                            "is no number of processes of its own, each size from 1 stands once; "
                            "write for example {2: \"0-1\", 4: \"0-3\"}");
    else if (auto written = read_value(reader.reading(), entry.value, subject))
      sizes.emplace_back(static_cast<std::int32_t>(size), *std::move(written));
  }
  std::sort(
      sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return sizes;
}

}  // namespace

const placement::Inventory* PlacementGround::inventory() {
  const bool sound =
      !groups_.empty() && std::all_of(groups_.begin(), groups_.end(), [](const NodeGroup& group) {
        return group.count > 0;
      });
  if (!sound) return nullptr;
  if (!inventory_) inventory_ = placement::inventory_of(groups_);
  return &*inventory_;
}

bool PlacementGround::may_place(std::size_t processes) {
  constexpr std::size_t kPlacedMax = 20'000'000;
  placed_ += processes;
  return placed_ <= kPlacedMax;
}

void JobPlaces::read_placements(const MapReader& reader, RoleSpec& role) {
  if (reader.has("placement") && reader.has("placements"))
    reader.fail("placements", "stands beside 'placement', one of the two is needed; remove one");
  if (!ground_.is_known()) return read_anywhere(reader, role);
  const Inventory* inventory = ground_.inventory();
  Placed found{role.name, {}, {}, {}};
  std::vector<RolePlacement> placements;
  auto sizes = read_sizes(reader);
  if (inventory == nullptr || !is_dns_label(role.name) || !ground_.may_place(0)) return;
  for (auto& [size, written] : sizes) {
    auto plan = resolve(*inventory, role.name, written, reader.reading());
    if (!plan) continue;
    if (!ground_.may_place(plan->processes.size()))
      return reader.reading().fail(written.origin,
                                   written.subject,
                                   "is one process too many, a scenario places at most 20 million; "
                                   "place fewer");
    const auto processes = static_cast<std::int32_t>(plan->processes.size());
    if (size && *size != processes)
      reader.reading().fail(written.origin,
                            written.subject,
                            "found " + std::to_string(processes) + " processes, needed " +
                                std::to_string(*size) + "; name another size, or place as many");
    placements.push_back({size.value_or(processes),
                          split_labels(written.rule.node_groups),
                          written.rule.placement->text});
    if (found.sizes.empty()) found.origin = written.origin;
    if (found.sizes.empty()) found.subject = written.subject;
    found.sizes.push_back(placement::seats_of(*plan, ground_.groups()));
    note_groups(*plan, role);
  }
  if (placements.empty() || placements.size() != sizes.size()) return;
  role.placements = std::move(placements);
  derive_replicas(reader, role);
  derive_bundle(reader, found.sizes, *inventory, role);
  placed_.push_back(std::move(found));
}

void JobPlaces::read_anywhere(const MapReader& reader, RoleSpec& role) {
  ground_.note_unjudged();
  const auto sizes = read_sizes(reader);
  if (!is_dns_label(role.name)) return;
  std::vector<RolePlacement> placements;
  for (const auto& [size, written] : sizes) {
    judge_anywhere(written, role.name, reader.reading());
    if (!written.rule.placement) continue;
    // How many processes one text places, only the cluster shows.
    placements.push_back({size.value_or(role.min_replicas),
                          split_labels(written.rule.node_groups),
                          written.rule.placement->text});
  }
  if (placements.empty() || placements.size() != sizes.size()) return;
  role.placements = std::move(placements);
  derive_replicas(reader, role);
}

void JobPlaces::read_role(const MapReader& reader,
                          const YamlNode* workers,
                          const JobSpec& spec,
                          RoleSpec& role) {
  const bool is_placed = reader.has("placement") || reader.has("placements");
  const bool is_grouped = reader.has("virtual_cluster") || workers != nullptr;
  if (is_placed) read_placements(reader, role);
  if (is_placed && is_grouped)
    reader.fail(reader.has("placement") ? "placement" : "placements",
                "stands beside a virtual cluster, which says where the role sits; keep one");
  else if (is_grouped)
    read_worker_group(reader, workers, spec, role);
}

}  // namespace orrery::scenarios
