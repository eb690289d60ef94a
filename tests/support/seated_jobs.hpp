// Random jobs that say where their workers sit, for random histories.
#pragma once

#include <string>

#include "core/base/random.hpp"
#include "tests/support/job_builders.hpp"

namespace orrery::tests {

/// Bundles for all workers, and now and then a second worker group on them.
inline void form_virtual_cluster(Random& random, JobBuilder& b) {
  VirtualClusterSpec cluster;
  cluster.name = "train";
  cluster.bundles_per_node = {static_cast<std::int32_t>(random.between(1, 4)), 2};
  cluster.cpu_per_bundle = MilliCpu{1000};
  cluster.memory_per_bundle = Bytes{1};
  cluster.max_worker_groups = 2;
  if (random.chance(0.3)) cluster.strategy = BundleStrategy::StrictSpread;
  if (random.chance(0.2)) cluster.unified = true;
  const std::int32_t workers = cluster.bundles_per_node[0] + cluster.bundles_per_node[1];
  b.raw().virtual_clusters.push_back(cluster);
  b.replicas(workers).devices(1);
  b.raw().preemptible = random.chance(0.3);
  b.raw().roles.front().workers.virtual_cluster = "train";
  if (!random.chance(0.5)) return;
  b.role("generation", workers);
  b.raw().roles.back().workers.virtual_cluster = "train";
}

/// Says where workers sit, on 4 nodes of 4 devices and 2 of 2.
inline void take_seats(Random& random, JobBuilder& b) {
  RoleSpec& first = b.raw().roles.front();
  first.bundle.share = Share{};
  const double dice = random.uniform();
  if (dice < 0.3) {
    b.elastic(1, 4).devices(1);
    const std::int64_t at = random.between(0, 12);
    for (const std::int32_t size : {1, 2, 4})
      first.placements.push_back(
          {size, {}, std::to_string(at) + "-" + std::to_string(at + size - 1)});
  } else if (dice < 0.5) {
    b.replicas(4).devices(1).share(500);
    first.placements.push_back({4, {}, random.chance(0.5) ? "2-3:0-3" : "16,18:0-3"});
  } else if (dice < 0.75) {
    b.replicas(4).devices(1).role("rider", 2, 2);
    b.raw().roles.front().placements.push_back({4, {}, "4-7"});  // `first` has moved.
    b.raw().roles.back().placements.push_back({2, {}, random.chance(0.8) ? "4-7:0-1" : "0-3:0-1"});
    b.raw().take_turns.push_back({{"worker", "rider"}});
  } else {
    form_virtual_cluster(random, b);
  }
}

}  // namespace orrery::tests
