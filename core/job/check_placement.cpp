#include "core/job/check_placement.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/job/worker_count.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kNodeDevicesMax = 64;

// One subject and the list to which what is wrong with it is added.
class Findings {
 public:
  Findings(Errors& errors, std::string subject) : errors_(errors), subject_(std::move(subject)) {}

  std::size_t count() const { return errors_.size(); }

  void add(std::string message) {
    errors_.push_back({ErrorCode::InvalidInput, {}, 0, subject_, std::move(message)});
  }

 private:
  Errors& errors_;
  std::string subject_;
};

std::string number(std::int64_t n) { return std::to_string(n); }

// Bundles in all; entries below 0 count as none.
std::int64_t bundles_of(const VirtualClusterSpec& cluster) {
  std::int64_t sum = 0;
  for (const std::int32_t n : cluster.bundles_per_node) sum += std::max(n, 0);
  return sum;
}

std::int64_t logical_nodes_of(const VirtualClusterSpec& cluster) {
  return std::count_if(cluster.bundles_per_node.begin(),
                       cluster.bundles_per_node.end(),
                       [](std::int32_t n) { return n > 0; });
}

void check_bundles(const VirtualClusterSpec& cluster, Findings& found) {
  const auto negative = std::find_if(cluster.bundles_per_node.begin(),
                                     cluster.bundles_per_node.end(),
                                     [](std::int32_t n) { return n < 0; });
  if (negative != cluster.bundles_per_node.end())
    found.add("bundles_per_node has " + number(*negative) +
              ", 0 or more is needed on each node; correct it");
  const std::int64_t sum = bundles_of(cluster);
  if (sum == 0)
    found.add("bundles_per_node holds no bundle, at least one is needed; write for example [8, 8]");
  if (sum > kReplicasMax)
    found.add("bundles_per_node holds " + number(sum) + " bundles, at most " +
              number(kReplicasMax) + " can be managed; ask for fewer");
  if (cluster.devices_per_bundle < 0 || cluster.devices_per_bundle > kNodeDevicesMax)
    found.add("devices_per_bundle is " + number(cluster.devices_per_bundle) +
              ", 0 to 64 fit on a node; correct it");
  if (cluster.cpu_per_bundle.count < 0)
    found.add("cpu_per_bundle is negative, 0 or more is needed; correct it");
  if (cluster.memory_per_bundle.count < 0)
    found.add("memory_per_bundle is negative, 0 or more is needed; correct it");
  if (cluster.max_worker_groups < 1 || cluster.max_worker_groups > kWorkerGroupsMax)
    found.add("max_worker_groups is " + number(cluster.max_worker_groups) + ", 1 to " +
              number(kWorkerGroupsMax) + " is needed; correct it");
}

// What shall lie on one node has at most a node's devices.
void check_together(const VirtualClusterSpec& cluster, Findings& found) {
  const std::int64_t each = std::clamp<std::int64_t>(cluster.devices_per_bundle, 0, 64);
  if (cluster.strategy == BundleStrategy::StrictPack) {
    if (bundles_of(cluster) * each > kNodeDevicesMax)
      found.add("strict_pack puts " + number(bundles_of(cluster) * each) +
                " devices on one node, which has 64 at most; use pack or fewer bundles");
    return;
  }
  if (cluster.unified || cluster.bundles_per_node.empty()) return;
  const std::int64_t most =
      *std::max_element(cluster.bundles_per_node.begin(), cluster.bundles_per_node.end());
  if (most * each > kNodeDevicesMax)
    found.add(number(most) + " bundles of one logical node have " + number(most * each) +
              " devices, one node has 64 at most; spread them over more entries of "
              "bundles_per_node or set unified: true");
}

void check_segments(const VirtualClusterSpec& cluster, Findings& found) {
  const std::int32_t size = cluster.segment_size;
  const std::int64_t nodes = logical_nodes_of(cluster);
  if (size < 0) {
    found.add("segment_size is " + number(size) +
              ", 0 (all in one segment) or more is needed; correct it");
    return;
  }
  if (size == 0) return;
  if (cluster.segment_by == SegmentBy::None) {
    found.add("segment_size is " + number(size) +
              " and segment_by is none; name what keeps a segment together, nvlink_domain or rack, "
              "or remove segment_size");
    return;
  }
  if (nodes % size != 0)
    found.add("segment_size " + number(size) + " does not divide the " + number(nodes) +
              " logical nodes that have bundles; correct one of them");
  else if (cluster.strategy == BundleStrategy::StrictPack && nodes > size)
    found.add("strict_pack puts all bundles on one node and segment_size " + number(size) +
              " asks for " + number(nodes / size) + " segments; use pack or remove segment_size");
}

// Ranks of a unified virtual cluster run through its segments, so that these are interchangeable.
void check_equal_segments(const VirtualClusterSpec& cluster, Findings& found) {
  if (!cluster.unified || cluster.segment_size <= 0) return;
  std::vector<std::int64_t> sums;
  std::int64_t node = 0;
  for (const std::int32_t n : cluster.bundles_per_node) {
    if (n <= 0) continue;
    if (node++ % cluster.segment_size == 0) sums.push_back(0);
    sums.back() += n;
  }
  for (const std::int64_t sum : sums) {
    if (sum == sums.front()) continue;
    found.add("segments of a unified virtual cluster have " + number(sums.front()) + " and " +
              number(sum) + " bundles, equally many are needed; even out bundles_per_node");
    return;
  }
}

const VirtualClusterSpec* cluster_of(const JobSpec& spec, const WorkerGroupSpec& workers) {
  for (const VirtualClusterSpec& cluster : spec.virtual_clusters)
    if (cluster.name == workers.virtual_cluster) return &cluster;
  return nullptr;
}

// Bundles of each group that workers address: those of each logical node, or all.
std::vector<std::int64_t> groups_of(const VirtualClusterSpec& cluster) {
  if (cluster.unified) return {bundles_of(cluster)};
  std::vector<std::int64_t> out;
  for (const std::int32_t n : cluster.bundles_per_node)
    if (n > 0) out.push_back(n);
  return out;
}

// Returns whether the workers can be counted.
bool check_per_node(const WorkerGroupSpec& workers,
                    std::span<const std::int64_t> groups,
                    Findings& found) {
  const std::size_t given = workers.workers_per_node.size();
  if (given > 1 && given != groups.size()) {
    found.add("workers_per_node has " + number(static_cast<std::int64_t>(given)) +
              " values, one or " + number(static_cast<std::int64_t>(groups.size())) +
              " are needed, one for each logical node that has bundles; correct it");
    return false;
  }
  bool sound = true;
  std::int64_t sum = 0;
  for (std::size_t i = 0; given > 0 && i < groups.size(); ++i) {
    const std::int64_t n = workers.workers_per_node[given == 1 ? 0 : i];
    sum += n;
    if (n >= 0 && n <= groups[i]) continue;
    found.add("workers_per_node asks for " + number(n) + " workers on logical node " +
              number(static_cast<std::int64_t>(i)) + ", 0 to " + number(groups[i]) +
              " can sit on its bundles; correct it");
    sound = false;
    if (given == 1) break;
  }
  if (sound && given > 0 && sum == 0) {
    found.add("workers_per_node asks for no worker, at least one is needed; correct it");
    return false;
  }
  return sound;
}

// Returns whether the workers can be counted.
bool check_tied(const WorkerGroupSpec& workers,
                std::span<const std::int64_t> groups,
                bool unified,
                Findings& found) {
  const std::size_t before = found.count();
  std::set<std::pair<std::int32_t, std::int32_t>> taken;
  for (const TiedBundles& tied : workers.tied) {
    if (tied.node < 0 || tied.node >= static_cast<std::int64_t>(groups.size())) {
      found.add("a tied group names logical node " + number(tied.node) +
                (unified ? ", 0 is needed: a unified virtual cluster is one group whose bundles "
                           "are numbered through; correct it"
                         : ", 0 to " + number(static_cast<std::int64_t>(groups.size()) - 1) +
                               " have bundles; correct it"));
      continue;
    }
    if (tied.bundles.empty())
      found.add("a tied group on logical node " + number(tied.node) +
                " has no bundle, at least one is needed; name its bundles or remove it");
    for (const std::int32_t bundle : tied.bundles) {
      const std::int64_t size = groups[static_cast<std::size_t>(tied.node)];
      if (bundle < 0 || bundle >= size)
        found.add("a tied group names bundle " + number(bundle) + " of logical node " +
                  number(tied.node) + ", 0 to " + number(size - 1) + " are there; correct it");
      else if (!taken.insert({tied.node, bundle}).second)
        found.add("bundle " + number(bundle) + " of logical node " + number(tied.node) +
                  " is tied twice, each bundle holds one worker of a group; remove one");
    }
  }
  return found.count() == before;
}

void check_worker_bundle(const RoleSpec& role, const VirtualClusterSpec& cluster, Findings& found) {
  const Bundle& bundle = role.bundle;
  if (bundle.devices != cluster.devices_per_bundle || !bundle.share.is_whole())
    found.add("a worker takes " + number(bundle.devices) + " devices" +
              (bundle.share.is_whole() ? "" : " in part") + ", bundles of virtual cluster " +
              cluster.name + " have " + number(cluster.devices_per_bundle) +
              ", taken whole; make them equal");
  if (bundle.cpu > cluster.cpu_per_bundle || bundle.memory > cluster.memory_per_bundle)
    found.add(
        "a worker takes more cpu or memory than cpu_per_bundle and memory_per_bundle of "
        "virtual cluster " +
        cluster.name + " give; raise those");
  if (!bundle.device_model.empty() && bundle.device_model != cluster.device_model)
    found.add("a worker asks for device model " + bundle.device_model + ", virtual cluster " +
              cluster.name + " for " +
              (cluster.device_model.empty() ? "any" : cluster.device_model) +
              "; name the model at the virtual cluster");
}

void check_workers(const JobSpec& spec, const RoleSpec& role, Findings& found) {
  const WorkerGroupSpec& workers = role.workers;
  if (!workers.is_set()) {
    if (!workers.workers_per_node.empty() || !workers.tied.empty())
      found.add("workers are described and no virtual cluster is named; name one");
    return;
  }
  if (!role.placements.empty())
    found.add(
        "has both placements and workers on a virtual cluster, one of them is needed; "
        "remove the other");
  const VirtualClusterSpec* cluster = cluster_of(spec, workers);
  if (cluster == nullptr) {
    found.add("sits on virtual cluster '" + workers.virtual_cluster +
              "', which the job does not have; declare it or correct the name");
    return;
  }
  check_worker_bundle(role, *cluster, found);
  if (!workers.tied.empty() && !workers.workers_per_node.empty())
    found.add("has both workers_per_node and tied groups, one of them is needed; remove the other");
  const std::vector<std::int64_t> groups = groups_of(*cluster);
  const bool counted = workers.tied.empty() ? check_per_node(workers, groups, found)
                                            : check_tied(workers, groups, cluster->unified, found);
  if (!counted || bundles_of(*cluster) == 0 || bundles_of(*cluster) > kReplicasMax) return;
  const std::int32_t count = workers_of(*cluster, workers);
  if (role.min_replicas != count || role.max_replicas != count)
    found.add("has " + number(role.min_replicas) + " to " + number(role.max_replicas) +
              " replicas, the " + number(count) + " workers that sit on virtual cluster " +
              cluster->name + " are needed; set replicas to " + number(count));
}

void check_placements(const RoleSpec& role, Findings& found) {
  const auto& placements = role.placements;
  if (placements.empty()) return;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const std::int32_t replicas = placements[i].replicas;
    if (replicas < 1)
      found.add("a placement is for " + number(replicas) +
                " replicas, 1 or more is needed; correct it");
    else if (i > 0 && replicas <= placements[i - 1].replicas)
      found.add("the placement for " + number(replicas) + " replicas stands after that for " +
                number(placements[i - 1].replicas) +
                ", ascending sizes without repetition are needed; sort them");
  }
  if (placements.front().replicas != role.min_replicas ||
      placements.back().replicas != role.max_replicas)
    found.add("placements are for " + number(placements.front().replicas) + " to " +
              number(placements.back().replicas) + " replicas and the role has " +
              number(role.min_replicas) + " to " + number(role.max_replicas) +
              ", the first and the last must agree; correct one of them");
}

// Each virtual cluster is used, by no more worker groups than may share a bundle.
void check_users(const JobSpec& spec, Errors& errors) {
  for (std::size_t v = 0; v < spec.virtual_clusters.size(); ++v) {
    const VirtualClusterSpec& cluster = spec.virtual_clusters[v];
    const std::string subject = spec.name + ": virtual cluster " + cluster.name;
    Findings found(errors, subject);
    for (Error& error : check_virtual_cluster(cluster, subject)) errors.push_back(std::move(error));
    for (std::size_t k = 0; k < v; ++k)
      if (spec.virtual_clusters[k].name == cluster.name)
        found.add("the name stands twice, names are unique in a job; rename one");
    const auto users =
        std::count_if(spec.roles.begin(), spec.roles.end(), [&](const RoleSpec& role) {
          return role.workers.virtual_cluster == cluster.name;
        });
    if (users == 0) found.add("no role has workers on it; give one workers there or remove it");
    if (users > std::max(cluster.max_worker_groups, 1))
      found.add(number(users) + " worker groups sit on it, max_worker_groups lets " +
                number(cluster.max_worker_groups) + " share a bundle; set it to " + number(users));
  }
}

void check_turns(const JobSpec& spec, Errors& errors) {
  Findings found(errors, spec.name + ": take_turns");
  std::set<std::string_view> named;
  for (const TurnGroup& group : spec.take_turns) {
    if (group.roles.size() < 2)
      found.add("a group has " + number(static_cast<std::int64_t>(group.roles.size())) +
                " roles, at least two are needed to take turns; name the others or remove it");
    for (const std::string& name : group.roles) {
      const auto role = std::find_if(
          spec.roles.begin(), spec.roles.end(), [&](const RoleSpec& r) { return r.name == name; });
      if (role == spec.roles.end())
        found.add("names role '" + name + "', which the job does not have; correct the name");
      else if (role->workers.is_set())
        found.add("names role " + name +
                  ", whose workers sit on a virtual cluster; leave it out and let "
                  "max_worker_groups of that virtual cluster tell how many share a bundle");
      else if (role->placements.empty())
        found.add("names role " + name +
                  ", which sits wherever it fits; give it placements or leave it out");
      if (!named.insert(name).second)
        found.add("names role " + name + " twice, a role takes turns in one group; remove one");
    }
  }
}

}  // namespace

Errors check_virtual_cluster(const VirtualClusterSpec& cluster, const std::string& subject) {
  Errors errors;
  Findings found(errors, subject);
  if (!is_dns_label(cluster.name))
    found.add("name is '" + cluster.name +
              "', a DNS label (a-z, 0-9, '-') is needed; give the virtual cluster such a name");
  check_bundles(cluster, found);
  check_together(cluster, found);
  check_segments(cluster, found);
  check_equal_segments(cluster, found);
  return errors;
}

void check_placement(const JobSpec& spec, Errors& errors) {
  if (spec.virtual_clusters.size() > kRolesMax) {
    Findings(errors, spec.name)
        .add("has " + number(static_cast<std::int64_t>(spec.virtual_clusters.size())) +
             " virtual clusters, at most " + number(kRolesMax) + " can be managed; join some");
    return;
  }
  check_users(spec, errors);
  for (const RoleSpec& role : spec.roles) {
    if (role.placements.empty() && role.workers == WorkerGroupSpec{}) continue;
    Findings found(errors, spec.name + ": role " + role.name);
    check_placements(role, found);
    check_workers(spec, role, found);
  }
  if (!spec.take_turns.empty()) check_turns(spec, errors);
}

}  // namespace orrery
