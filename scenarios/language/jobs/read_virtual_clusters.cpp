// Virtual clusters of a job, the roles that are worker groups of them, and roles that take turns.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/job/worker_count.hpp"
#include "core/placement/reservation.hpp"
#include "scenarios/language/jobs/job_places.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kBundlesMax = 1'048'576;

/// A whole number, or a list of them, each from `low`. Empty where it is neither, which is
/// reported.
std::vector<std::int32_t> read_numbers(const MapReader& reader,
                                       std::string_view key,
                                       std::int64_t low,
                                       std::string_view example) {
  std::vector<std::int32_t> numbers;
  const YamlNode* node = reader.find(key);
  const auto add = [&](const YamlNode& item) {
    const auto value = item.is_scalar() ? parse_integer(item.scalar) : std::nullopt;
    if (!value || *value < low || *value > kBundlesMax) return false;
    numbers.push_back(static_cast<std::int32_t>(*value));
    return true;
  };
  const bool sound =
      node->is_sequence()
          ? !node->items.empty() && std::all_of(node->items.begin(), node->items.end(), add)
          : add(*node);
  if (sound) return numbers;
  reader.fail(key,
              found_instead(*node,
                            "a whole number from " + std::to_string(low) + " to " +
                                std::to_string(kBundlesMax) + " or a list of such",
                            "write for example " + std::string(example)));
  return {};
}

void read_bundles_per_node(const MapReader& reader, VirtualClusterSpec& to) {
  std::int32_t nodes = 1;
  reader.read_integer("nodes", nodes, 1, kBundlesMax);
  if (!reader.has("bundles_per_node"))
    return reader.missing("bundles_per_node", "{nodes: 2, bundles_per_node: 8}");
  const bool list = reader.find("bundles_per_node")->is_sequence();
  to.bundles_per_node = read_numbers(reader, "bundles_per_node", 0, "8, with nodes: 2");
  if (list && reader.has("nodes"))
    reader.fail("nodes",
                "stands beside a list of bundles_per_node, whose length says it; remove it");
  else if (!list && to.bundles_per_node.size() == 1)
    to.bundles_per_node.resize(static_cast<std::size_t>(nodes), to.bundles_per_node.front());
}

VirtualClusterSpec read_virtual_cluster(const MapReader& reader, std::string name) {
  VirtualClusterSpec to;
  to.name = std::move(name);
  read_bundles_per_node(reader, to);
  if (to.bundles_per_node.empty()) to.bundles_per_node = {1};  // That was reported.
  reader.read_integer("devices_per_bundle", to.devices_per_bundle, 0, 64);
  if (reader.has("device_model") && reader.has("gpu"))
    reader.fail("gpu",
                "stands beside 'device_model', which means the same, one is needed; remove it");
  reader.read_text(reader.has("gpu") ? "gpu" : "device_model", to.device_model);
  reader.read_cpu("cpu", to.cpu_per_bundle);
  reader.read_size("memory", to.memory_per_bundle);
  reader.read_bool("unified", to.unified);
  reader.read_enum("strategy", to.strategy);
  reader.read_integer("max_worker_groups", to.max_worker_groups, 1, 1000);
  reader.read_enum("segment_by", to.segment_by);
  reader.read_integer("segment_size", to.segment_size, 1, kBundlesMax);
  return to;
}

const VirtualClusterSpec* find_virtual_cluster(const JobSpec& spec, const std::string& name) {
  const auto found =
      std::find_if(spec.virtual_clusters.begin(),
                   spec.virtual_clusters.end(),
                   [&](const VirtualClusterSpec& cluster) { return cluster.name == name; });
  return found == spec.virtual_clusters.end() ? nullptr : &*found;
}

/// The virtual cluster that `key` names; null, and a report, where there is none such.
const VirtualClusterSpec* read_cluster_name(const MapReader& reader,
                                            const JobSpec& spec,
                                            WorkerGroupSpec& to) {
  constexpr std::string_view kKey = "virtual_cluster";
  if (!reader.has(kKey)) reader.missing(kKey, "virtual_cluster: train");
  std::string name;
  reader.read_text(kKey, name);
  const VirtualClusterSpec* cluster = find_virtual_cluster(spec, name);
  if (cluster == nullptr && !name.empty()) {
    std::vector<std::string_view> names;
    for (const VirtualClusterSpec& known : spec.virtual_clusters) names.push_back(known.name);
    const std::string_view near = nearest(name, names);
    reader.fail(kKey,
                "is '" + name + "', which the job's virtual_clusters lack; " +
                    (near.empty() ? "add it there or correct the name"
                                  : "did you mean '" + std::string(near) + "'?"));
  }
  if (cluster != nullptr) to.virtual_cluster = name;
  return cluster;
}

void read_tied(const MapReader& workers, WorkerGroupSpec& to) {
  std::size_t index = 0;
  for (const YamlNode& item : workers.items("tied")) {
    const MapReader reader(workers.reading(),
                           item,
                           section("jobs.roles.workers.tied"),
                           workers.subject_of("tied[" + std::to_string(index++) + "]"));
    TiedBundles tied;
    reader.read_integer("node", tied.node, 0, kBundlesMax);
    if (reader.has("bundles"))
      tied.bundles = read_numbers(reader, "bundles", 0, "[0, 1]");
    else
      reader.missing("bundles", "{node: 0, bundles: [0, 1]}");
    if (!tied.bundles.empty()) to.tied.push_back(std::move(tied));
  }
}

/// A worker takes a bundle of its virtual cluster, and less CPU and memory if it says so.
void derive_bundle(const MapReader& reader,
                   const VirtualClusterSpec& cluster,
                   bool says_cpu,
                   bool says_memory,
                   RoleSpec& role) {
  Bundle& bundle = role.bundle;
  const std::string of = "a bundle of virtual cluster " + cluster.name;
  const std::string_view devices = reader.has("gpus") ? "gpus" : "devices";
  if (reader.has(devices) &&
      (bundle.devices != cluster.devices_per_bundle || !bundle.share.is_whole()))
    reader.fail(devices,
                "differs from the " + std::to_string(cluster.devices_per_bundle) + " of " + of +
                    ", which a worker takes whole; remove it, or correct devices_per_bundle");
  const std::string_view model = reader.has("gpu") ? "gpu" : "device_model";
  if (reader.has(model) && bundle.device_model != cluster.device_model)
    reader.fail(model,
                "is " + bundle.device_model + ", but " + of + " has " +
                    (cluster.device_model.empty() ? "any model" : cluster.device_model) +
                    "; write it there only");
  if (says_cpu && !reader.has("cpu")) bundle.cpu = cluster.cpu_per_bundle;
  if (says_memory && !reader.has("memory")) bundle.memory = cluster.memory_per_bundle;
  if (says_cpu && bundle.cpu > cluster.cpu_per_bundle)
    reader.fail("cpu", "is more than " + of + " has for each worker group; raise it there");
  if (says_memory && bundle.memory > cluster.memory_per_bundle)
    reader.fail("memory", "is more than " + of + " has for each worker group; raise it there");
  if (says_cpu) bundle.cpu = std::min(bundle.cpu, cluster.cpu_per_bundle);
  if (says_memory) bundle.memory = std::min(bundle.memory, cluster.memory_per_bundle);
  bundle.devices = cluster.devices_per_bundle;
  bundle.share = Share{};
  bundle.device_model = cluster.device_model;
}

void derive_replicas(const MapReader& reader, const VirtualClusterSpec& cluster, RoleSpec& role) {
  // Numbers of workers that fit no list of bundles are judged with the whole specification.
  const auto nodes = std::count_if(cluster.bundles_per_node.begin(),
                                   cluster.bundles_per_node.end(),
                                   [](std::int32_t bundles) { return bundles > 0; });
  const std::size_t given = role.workers.workers_per_node.size();
  if (given > 1 && given != (cluster.unified ? 1U : static_cast<std::size_t>(nodes))) return;
  const std::int32_t workers = workers_of(cluster, role.workers);
  if (workers < 1) return;
  if (reader.has("replicas") && (role.min_replicas != workers || role.max_replicas != workers))
    reader.fail("replicas",
                "differs from the " + std::to_string(workers) +
                    " workers that the group has on virtual cluster " + cluster.name +
                    "; remove it, or correct per_node or tied");
  role.min_replicas = workers;
  role.max_replicas = workers;
}

/// Roles that one entry of `take_turns` names.
void read_turn_group(const MapReader& job, const YamlNode& list, JobSpec& spec) {
  const auto fail = [&](const std::string& message) {
    job.reading().fail(list.origin, job.subject_of("take_turns"), message);
  };
  TurnGroup group;
  if (list.is_sequence())
    for (const YamlNode& item : list.items)
      if (item.is_scalar()) group.roles.push_back(item.scalar);
  if (!list.is_sequence() || group.roles.size() != list.items.size())
    return fail(found_instead(list, "a list of roles", "write for example [actor, rollout]"));
  spec.take_turns.push_back(std::move(group));
}

/// A bundle has as much CPU and memory as any worker on it takes, unless it says how much.
void suffice_for_roles(const JobSpec& spec,
                       bool says_cpu,
                       bool says_memory,
                       VirtualClusterSpec& to) {
  for (const RoleSpec& role : spec.roles) {
    if (role.workers.virtual_cluster != to.name) continue;
    if (!says_cpu) to.cpu_per_bundle = std::max(to.cpu_per_bundle, role.bundle.cpu);
    if (!says_memory) to.memory_per_bundle = std::max(to.memory_per_bundle, role.bundle.memory);
  }
}

bool take_turns(const JobSpec& spec, const std::string& a, const std::string& b) {
  return std::any_of(spec.take_turns.begin(), spec.take_turns.end(), [&](const TurnGroup& group) {
    const auto has = [&](const std::string& role) {
      return std::find(group.roles.begin(), group.roles.end(), role) != group.roles.end();
    };
    return has(a) && has(b);
  });
}

}  // namespace

void JobPlaces::read_virtual_clusters(const MapReader& job, JobSpec& spec) {
  const YamlNode* node = job.find("virtual_clusters");
  if (node == nullptr) return;
  if (!node->is_map()) {
    job.fail("virtual_clusters",
             found_instead(*node, "a map", "write train: {bundles_per_node: 8} lines under it"));
    return;
  }
  for (const YamlEntry& entry : node->entries) {
    const MapReader reader(job.reading(),
                           entry.value,
                           section("jobs.virtual_clusters"),
                           job.subject_of("virtual_clusters." + entry.key));
    spec.virtual_clusters.push_back(read_virtual_cluster(reader, entry.key));
    said_.push_back({reader.has("cpu"), reader.has("memory")});
  }
}

void JobPlaces::read_worker_group(const MapReader& reader,
                                  const YamlNode* node,
                                  const JobSpec& spec,
                                  RoleSpec& role) const {
  const VirtualClusterSpec* cluster = nullptr;
  if (node == nullptr) {
    cluster = read_cluster_name(reader, spec, role.workers);
  } else {
    const MapReader workers(
        reader.reading(), *node, section("jobs.roles.workers"), reader.subject_of("workers"));
    if (reader.has("virtual_cluster"))
      reader.fail("virtual_cluster", "stands beside 'workers', which name it too; remove one");
    cluster = read_cluster_name(workers, spec, role.workers);
    if (workers.has("per_node"))
      role.workers.workers_per_node = read_numbers(workers, "per_node", 0, "4");
    read_tied(workers, role.workers);
  }
  if (cluster == nullptr) {
    role.workers = {};
    return;
  }
  derive_replicas(reader, *cluster, role);
  const Said& said = said_[static_cast<std::size_t>(cluster - spec.virtual_clusters.data())];
  derive_bundle(reader, *cluster, said.cpu, said.memory, role);
}

void JobPlaces::finish(const MapReader& job, JobSpec& spec) const {
  for (std::size_t i = 0; i < spec.virtual_clusters.size(); ++i)
    suffice_for_roles(spec, said_[i].cpu, said_[i].memory, spec.virtual_clusters[i]);
  const YamlNode* node = job.find("take_turns");
  if (node != nullptr && node->is_sequence() && !node->items.empty() &&
      node->items.front().is_scalar()) {
    read_turn_group(job, *node, spec);
  } else {
    for (const YamlNode& list : job.items("take_turns")) read_turn_group(job, list, spec);
  }
  check_overlaps(job, spec);
}

void JobPlaces::check_overlaps(const MapReader& job, const JobSpec& spec) const {
  const auto overlap_of = [](const Placed& a, const Placed& b) {
    std::optional<placement::Overlap> found;
    for (const std::vector<Seat>& one : a.sizes)
      for (const std::vector<Seat>& other : b.sizes)
        if (!found) found = placement::first_overlap(one, other);
    return found;
  };
  for (std::size_t b = 0; b < placed_.size(); ++b)
    for (std::size_t a = 0; a < b; ++a) {
      if (take_turns(spec, placed_[a].role, placed_[b].role)) continue;
      const auto overlap = overlap_of(placed_[a], placed_[b]);
      if (!overlap) continue;
      job.reading().fail(placed_[b].origin,
                         placed_[b].subject,
                         "found role " + placed_[b].role + " on " + describe(*overlap) +
                             ", where role " + placed_[a].role +
                             " sits too, needed devices of its own, or turns; place one of them "
                             "elsewhere, or write take_turns: [[" +
                             placed_[a].role + ", " + placed_[b].role + "]]");
    }
}

}  // namespace orrery::scenarios
