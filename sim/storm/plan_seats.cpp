#include "sim/storm/plan_seats.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "sim/storm/plan_jobs.hpp"
#include "sim/storm/plan_placements.hpp"

namespace orrery::sim {
namespace {

using scenarios::Scenario;

/// One node that is no spare.
struct Place {
  std::int32_t first = 0;  ///< Cluster-wide rank of its first device.
  std::int32_t devices = 0;
  MilliCpu cpu;
  Bytes memory;
  std::string model;
};

std::vector<Place> places_of(const Scenario& scenario) {
  std::vector<Place> places;
  std::int32_t next = 0;
  for (const NodeGroup& group : scenario.groups)
    for (std::int32_t i = 0; i < group.count; ++i, next += group.devices)
      if (i < group.count - group.spares)
        places.push_back({next, group.devices, group.cpu, group.memory, group.device_model});
  return places;
}

std::string counted_range(std::int32_t first, std::int32_t count) {
  return count == 1 ? std::to_string(first)
                    : std::to_string(first) + "-" + std::to_string(first + count - 1);
}

struct Placing {
  std::string text;   ///< "8-11:0-1,16-19:2-3".
  std::string model;  ///< Of all devices; empty where they are of several.
};

// So many processes of so many devices each, node by node from `at` on; nothing where they do not
// fit in node order.
std::optional<Placing> place_from(std::vector<Place> places,
                                  std::size_t at,
                                  std::int32_t replicas,
                                  const Bundle& bundle) {
  Placing placing;
  std::string& text = placing.text;
  std::int32_t rank = 0;
  for (; at < places.size() && rank < replicas; ++at) {
    Place& place = places[at];
    std::int32_t here = 0;
    while (rank + here < replicas && (here + 1) * bundle.devices <= place.devices &&
           bundle.cpu <= place.cpu && bundle.memory <= place.memory) {
      place.cpu = place.cpu - bundle.cpu;
      place.memory = place.memory - bundle.memory;
      ++here;
    }
    if (here == 0) continue;
    placing.model = text.empty() || placing.model == place.model ? place.model : "";
    text += (text.empty() ? "" : ",") + counted_range(place.first, here * bundle.devices) + ":" +
            counted_range(rank, here);
    rank += here;
  }
  return rank == replicas ? std::optional(placing) : std::nullopt;
}

bool is_plain(const RoleSpec& role) {
  return role.bundle.devices > 0 && role.bundle.share.is_whole() && role.master_of.is_none();
}

// CPU and memory of both roles must fit where they sit together.
Bundle doubled(Bundle bundle) {
  bundle.cpu = bundle.cpu + bundle.cpu;
  bundle.memory = bundle.memory + bundle.memory;
  return bundle;
}

void sit(RoleSpec& role, const Placing& placing) {
  role.max_replicas = role.min_replicas;
  role.bundle.device_model = placing.model;
  role.placements.push_back({role.min_replicas, {}, placing.text});
}

bool pin(Random& random, const Scenario& scenario, JobSpec& spec) {
  const std::vector<Place> places = places_of(scenario);
  const bool turns = spec.roles.size() > 1 && is_plain(spec.roles[1]);
  RoleSpec& role = spec.roles[0];
  const std::optional<Placing> placing = place_from(places,
                                                    random.below(places.size()),
                                                    role.min_replicas,
                                                    turns ? doubled(role.bundle) : role.bundle);
  if (!placing) return false;
  sit(role, *placing);
  if (!turns) return true;
  RoleSpec& rider = spec.roles[1];
  rider.bundle = role.bundle;
  rider.min_replicas = role.min_replicas;
  sit(rider, *placing);
  spec.take_turns.push_back({{role.name, rider.name}});
  return true;
}

bool form(Random& random, const Scenario& scenario, JobSpec& spec) {
  RoleSpec& role = spec.roles[0];
  const std::int32_t devices = role.bundle.devices;
  std::int32_t most = 0;
  for (const Place& place : places_of(scenario))
    most = std::max(most, devices > 0 ? place.devices / devices : 0);
  const std::int32_t each = std::min(most, role.min_replicas);
  if (each < 1) return false;
  VirtualClusterSpec cluster;
  cluster.name = "bundles";
  for (std::int32_t left = role.min_replicas; left > 0; left -= each)
    cluster.bundles_per_node.push_back(std::min(left, each));
  cluster.devices_per_bundle = devices;
  cluster.cpu_per_bundle = role.bundle.cpu;
  cluster.memory_per_bundle = role.bundle.memory;
  if (random.chance(0.5)) cluster.strategy = BundleStrategy::Spread;
  spec.virtual_clusters.push_back(cluster);
  role.max_replicas = role.min_replicas;
  role.bundle.device_model.clear();
  role.workers.virtual_cluster = cluster.name;
  return true;
}

}  // namespace

void plan_seats(Random random, Scenario& scenario) {
  if (!random.chance(0.4)) return;
  for (scenarios::ScenarioJob& job : scenario.jobs) {
    JobSpec& spec = job.spec;
    if (random.chance(0.2)) {
      place_anyhow(random, scenario, spec);
      continue;
    }
    if (!random.chance(0.4) || !is_plain(spec.roles[0])) continue;
    const JobSpec before = spec;
    const bool seated =
        random.chance(0.6) ? pin(random, scenario, spec) : form(random, scenario, spec);
    std::vector<std::int32_t> counts;
    for (const RoleSpec& role : spec.roles) counts.push_back(role.min_replicas);
    const std::int32_t workers = std::accumulate(counts.begin(), counts.end(), 0);
    // The storm counts roles that take turns apart: what then does not fit has no seats.
    if (!seated || !fits_alone(scenario, spec, counts)) {
      spec = before;
      continue;
    }
    std::erase_if(job.workers, [&](const scenarios::WorkerScript& script) {
      return script.worker.index >= workers;
    });
    if (spec.wait_deadline.is_forever())
      spec.wait_deadline = Duration::seconds(random.between(60, 600));
  }
}

}  // namespace orrery::sim
