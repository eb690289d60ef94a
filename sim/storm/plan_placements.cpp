#include "sim/storm/plan_placements.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/placement/inventory.hpp"

namespace orrery::sim {
namespace {

using scenarios::Scenario;

/// Neighbouring devices of one node, numbered through the cluster.
struct Slot {
  std::int32_t first = 0;
  std::int32_t last = 0;
  const std::string* model = nullptr;
};

/// Where one job may still sit.
class Room {
 public:
  explicit Room(const Scenario& scenario) : scenario_(scenario) {}

  /// Free runs of `devices` neighbours, ascending.
  std::vector<Slot> slots(std::int32_t devices) const {
    std::vector<Slot> out;
    std::int32_t base = 0;
    for (const NodeGroup& group : scenario_.groups)
      for (std::int32_t n = 0; n < group.count; ++n, base += group.devices)
        for (std::int32_t d = 0; n < group.count - group.spares && d + devices <= group.devices;
             d += devices)
          if (is_free(base + d, base + d + devices - 1))
            out.push_back({base + d, base + d + devices - 1, &group.device_model});
    return out;
  }

  std::vector<std::int32_t> nodes() const {
    std::vector<std::int32_t> out;
    std::int32_t base = 0;
    for (const NodeGroup& group : scenario_.groups) {
      for (std::int32_t n = 0; n < group.count - group.spares; ++n) out.push_back(base + n);
      base += group.count;
    }
    return out;
  }

  void take(const Slot& slot) {
    for (std::int32_t d = slot.first; d <= slot.last; ++d) taken_.insert(d);
  }

 private:
  bool is_free(std::int32_t first, std::int32_t last) const {
    const auto at = taken_.lower_bound(first);
    return at == taken_.end() || *at > last;
  }

  const Scenario& scenario_;
  std::set<std::int32_t> taken_;
};

/// `count` of `items`, in their order; fewer where there are fewer.
template <class T>
std::vector<T> some_of(Random& random, std::vector<T> items, std::size_t count) {
  while (items.size() > count)
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(random.below(items.size())));
  return items;
}

std::string range(std::int32_t first, std::int32_t last) {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

/// `processes` on these slots, `each` on one.
std::string text_of(const std::vector<Slot>& slots, std::int32_t processes, std::int32_t each) {
  std::string text;
  for (std::int32_t p = 0; p < processes; p += each) {
    const Slot& slot = slots[static_cast<std::size_t>(p / each)];
    text += (text.empty() ? "" : ",") + range(slot.first, slot.last) + ":" +
            range(p, std::min(p + each, processes) - 1);
  }
  return text;
}

std::vector<std::int32_t> sizes_of(const RoleSpec& role) {
  if (!role.is_elastic()) return {role.min_replicas};
  return {role.min_replicas, role.max_replicas};
}

/// Workers without devices, each on a node of its own.
bool place_on_nodes(Random& random, const Room& room, RoleSpec& role) {
  const auto count = static_cast<std::size_t>(role.max_replicas);
  const std::vector<std::int32_t> nodes = some_of(random, room.nodes(), count);
  if (nodes.size() < count) return false;
  for (const std::int32_t size : sizes_of(role)) {
    std::string text;
    for (std::int32_t i = 0; i < size; ++i)
      text += (text.empty() ? "" : ",") + std::to_string(nodes[static_cast<std::size_t>(i)]);
    role.placements.push_back({size, {std::string(placement::kNodeLabel)}, text});
  }
  return true;
}

/// False where the role finds no room: it then sits wherever it fits.
bool place_role(Random& random, Room& room, bool turns, RoleSpec& role) {
  if (role.bundle.devices == 0) return place_on_nodes(random, room, role);
  std::int32_t each = 1;
  if (role.bundle.devices == 1 && role.max_replicas % 2 == 0 && role.min_replicas % 2 == 0 &&
      random.chance(0.4))
    each = 2;
  const auto count = static_cast<std::size_t>(role.max_replicas / each);
  const std::vector<Slot> slots = some_of(random, room.slots(role.bundle.devices), count);
  if (slots.size() < count) return false;
  role.bundle.share = Share{1000 / each};
  role.bundle.device_model = *slots.front().model;
  for (const Slot& slot : slots) {
    if (*slot.model != role.bundle.device_model) role.bundle.device_model.clear();
    if (!turns) room.take(slot);
  }
  for (const std::int32_t size : sizes_of(role))
    role.placements.push_back({size, {}, text_of(slots, size, each)});
  return true;
}

void place(Random& random, const Scenario& scenario, JobSpec& spec) {
  Room room(scenario);
  const bool turns = random.chance(0.5);
  TurnGroup group;
  for (RoleSpec& role : spec.roles)
    if (role.master_of.is_none() && place_role(random, room, turns, role))
      group.roles.push_back(role.name);
  if (turns && group.roles.size() > 1) spec.take_turns.push_back(std::move(group));
}

void bundle_up(Random& random, JobSpec& spec) {
  VirtualClusterSpec cluster;
  cluster.name = "all";
  cluster.unified = true;
  cluster.strategy = static_cast<BundleStrategy>(random.below(4));
  cluster.devices_per_bundle = 0;
  cluster.max_worker_groups = 0;
  std::int32_t bundles = 0;
  for (const RoleSpec& role : spec.roles) {
    if (!role.master_of.is_none()) continue;
    ++cluster.max_worker_groups;
    bundles = std::max(bundles, role.max_replicas);
    cluster.devices_per_bundle = std::max(cluster.devices_per_bundle, role.bundle.devices);
    cluster.cpu_per_bundle = std::max(cluster.cpu_per_bundle, role.bundle.cpu);
    cluster.memory_per_bundle = std::max(cluster.memory_per_bundle, role.bundle.memory);
  }
  cluster.bundles_per_node = {bundles};
  if (cluster.strategy == BundleStrategy::StrictPack && bundles * cluster.devices_per_bundle > 64)
    cluster.strategy = BundleStrategy::Pack;
  for (RoleSpec& role : spec.roles) {
    if (!role.master_of.is_none()) continue;
    role.workers.virtual_cluster = cluster.name;
    role.workers.workers_per_node = {role.max_replicas};
    role.bundle.devices = cluster.devices_per_bundle;
    role.bundle.share = Share{};
    role.bundle.device_model.clear();
  }
  spec.virtual_clusters.push_back(std::move(cluster));
}

}  // namespace

void place_anyhow(Random& random, const Scenario& scenario, JobSpec& spec) {
  const bool elastic = std::any_of(
      spec.roles.begin(), spec.roles.end(), [](const RoleSpec& role) { return role.is_elastic(); });
  if (!elastic && random.chance(0.4))
    bundle_up(random, spec);
  else
    place(random, scenario, spec);
  spec.wait_deadline = std::min(spec.wait_deadline, Duration::seconds(random.between(60, 600)));
}

}  // namespace orrery::sim
