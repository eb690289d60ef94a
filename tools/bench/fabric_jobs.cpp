#include "tools/bench/fabric_jobs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/random.hpp"
#include "tools/bench/scripted_jobs.hpp"

namespace orrery::bench {
namespace {

using sim::Fabric;
using sim::Stage;
using sim::StageId;

constexpr std::uint32_t kPerNode = 8;
constexpr std::uint32_t kStages = 3;

// Rooms of whole nodes, and of devices of the nodes that small jobs share.
class Room {
 public:
  explicit Room(const FabricCase& setup) : scattered_(setup.scattered) {
    // By their part of the devices asked for, small jobs need 5 of 9 nodes.
    const std::uint32_t shared = setup.multi_node_only ? 0 : setup.nodes * 5 / 9;
    devices_ = shared * kPerNode;
    for (std::uint32_t node = setup.nodes; node > shared; --node) free_.push_back(node - 1);
    if (scattered_) random_.shuffle(free_);
  }

  // False: no room.
  bool take(std::uint32_t devices, std::vector<NodeId>& nodes) {
    if (devices <= kPerNode) {
      if (devices_ < devices) return false;
      devices_ -= devices;
      return true;
    }
    const std::uint32_t count = devices / kPerNode;
    if (free_.size() < count) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (scattered_) std::swap(free_[random_.below(free_.size())], free_.back());
      nodes.emplace_back(free_.back());
      free_.pop_back();
    }
    return true;
  }

  void give(std::uint32_t devices, const std::vector<NodeId>& nodes) {
    if (nodes.empty()) devices_ += devices;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) free_.push_back(node->value);
  }

 private:
  bool scattered_;
  std::uint32_t devices_ = 0;
  std::vector<std::uint32_t> free_;
  Random random_{2};
};

struct Under {
  std::uint32_t job = 0;
  bool saving = false;
  std::uint32_t stages_left = 0;
  Stage stage;
};

Stage stage_of(const FabricJob& job, const std::vector<NodeId>& nodes, double node_rate) {
  constexpr double kStep = 0.25;
  Stage stage;
  stage.steps = job.seconds / kStages / kStep;
  stage.compute_s = kStep;
  stage.overlap = 1;
  if (nodes.size() < 2) return stage;
  const auto n = static_cast<double>(nodes.size());
  stage.exchanges.resize(1);
  stage.exchanges[0].pattern = sim::Pattern::Ring;
  stage.exchanges[0].bytes = node_rate * kStep * n / (2 * (n - 1));
  stage.exchanges[0].members = nodes;
  return stage;
}

// All nodes of the job write at once, as fast as they can.
Stage saving_of(const Stage& work, double saved) {
  Stage stage;
  stage.paced = false;
  stage.exchanges.resize(1);
  for (const NodeId node : work.exchanges[0].members)
    stage.exchanges[0].transfers.push_back({node, NodeId::none(), saved});
  return stage;
}

// Mean use of the links between switches at this moment.
double uplink_use(const Fabric& fabric, const std::vector<std::uint32_t>& uplinks) {
  if (uplinks.empty()) return 0;
  std::vector<double> use;
  fabric.link_use(use);
  double sum = 0;
  for (const std::uint32_t link : uplinks) sum += use[link];
  return sum / static_cast<double>(uplinks.size());
}

}  // namespace

std::vector<FabricJob> make_fabric_jobs(const FabricCase& setup) {
  constexpr double kMix[] = {50, 10, 10, 15, 7, 5, 3};
  Random random(1);
  std::vector<FabricJob> jobs;
  while (jobs.size() < setup.jobs) {
    FabricJob job;
    job.devices = 1U << random.choose(kMix);
    job.seconds = random.uniform(150, 450);
    if (!setup.multi_node_only || job.devices > kPerNode) jobs.push_back(job);
  }
  return jobs;
}

FabricOutcome run_fabric_jobs(Fabric& fabric,
                              const FabricCase& setup,
                              const std::vector<FabricJob>& jobs) {
  FabricOutcome outcome;
  std::vector<std::uint32_t> uplinks;
  const std::vector<std::string> names = fabric.link_names();
  for (std::uint32_t link = 0; link < names.size(); ++link)
    if (names[link].starts_with("leaf")) uplinks.push_back(link);

  const double start = thread_seconds();
  Room room(setup);
  std::vector<Under> under;
  std::vector<StageId> complete;
  std::vector<NodeId> nodes;
  std::size_t samples = 0;
  Instant now;
  std::uint32_t next_job = 0;
  const auto begin = [&](Under work) {
    const StageId id =
        fabric.begin(work.saving ? saving_of(work.stage, setup.saved) : work.stage, now);
    if (id.value >= under.size()) under.resize(id.value + 1);
    under[id.value] = std::move(work);
  };
  while (true) {
    while (next_job < jobs.size() && room.take(jobs[next_job].devices, nodes)) {
      begin({next_job, false, kStages, stage_of(jobs[next_job], nodes, setup.node_rate)});
      nodes.clear();
      if (++next_job % (setup.jobs / 50) == 0) {
        outcome.uplinks_busy += uplink_use(fabric, uplinks);
        ++samples;
      }
    }
    now = fabric.next(Instant::never());
    if (now.is_never()) break;
    complete.clear();
    fabric.pass_to(now, complete);
    for (const StageId id : complete) {
      Under work = std::move(under[id.value]);
      if (setup.saved > 0 && !work.saving && !work.stage.exchanges.empty()) {
        work.saving = true;
        begin(std::move(work));
        continue;
      }
      work.saving = false;
      if (--work.stages_left > 0) {
        begin(std::move(work));
        continue;
      }
      static const std::vector<NodeId> kNone;
      room.give(jobs[work.job].devices,
                work.stage.exchanges.empty() ? kNone : work.stage.exchanges[0].members);
    }
    outcome.makespan_s = now.in_seconds();
  }
  outcome.cpu_s = thread_seconds() - start;
  outcome.uplinks_busy /= static_cast<double>(std::max<std::size_t>(1, samples));
  return outcome;
}

scenarios::NetworkSpec two_to_one_fat_tree(std::int32_t per_leaf) {
  scenarios::NetworkSpec network;
  network.topology = scenarios::NetworkTopology::FatTree;
  network.nodes_per_leaf = per_leaf;
  network.oversubscription = 2;
  return network;
}

}  // namespace orrery::bench
