// What it costs to share links: the same jobs through L0 and L1, one core, in one run.
//
//   bench_fabric [jobs]     1000000 where none is given
//
// Jobs of a common mix (half of them of one device, 15 % of 2 to 8 nodes of 8 devices) begin in
// their order as soon as there is room, each in three stages. Prints for each network and each way
// to place: processor seconds and jobs a second at L0 and L1, their ratio, stages whose speed L1
// worked out anew, and how busy links between switches were in the mean.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "sim/fabric/ideal_fabric.hpp"
#include "sim/fabric/shared_fabric.hpp"
#include "tools/bench/scripted_jobs.hpp"

namespace orrery::bench {
namespace {

using sim::Fabric;
using sim::Stage;
using sim::StageId;
using sim::Topology;

constexpr std::uint32_t kPerNode = 8;
constexpr std::uint32_t kStages = 3;

struct Case {
  const char* name;
  scenarios::NetworkSpec network;
  std::uint32_t nodes;
  std::uint32_t jobs;
  bool multi_node_only;
  bool scattered;
  double node_rate;  // Bytes a second that a node of a ring sends.
};

struct Job {
  std::uint32_t devices = 1;
  double seconds = 0;
};

std::vector<Job> make_jobs(const Case& setup) {
  constexpr double kMix[] = {50, 10, 10, 15, 7, 5, 3};
  Random random(1);
  std::vector<Job> jobs;
  while (jobs.size() < setup.jobs) {
    Job job;
    job.devices = 1U << random.choose(kMix);
    job.seconds = random.uniform(150, 450);
    if (!setup.multi_node_only || job.devices > kPerNode) jobs.push_back(job);
  }
  return jobs;
}

// Rooms of whole nodes, and of devices of the nodes that small jobs share.
class Room {
 public:
  explicit Room(const Case& setup) : scattered_(setup.scattered) {
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
  std::uint32_t stages_left = 0;
  Stage stage;
};

struct Outcome {
  double cpu_s = 0;
  double uplinks_busy = 0;  // Mean over samples and links between switches.
  double makespan_s = 0;
};

Stage stage_of(const Job& job, const std::vector<NodeId>& nodes, double node_rate) {
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

// Mean use of the links between switches at this moment.
double uplink_use(const Fabric& fabric, const std::vector<std::uint32_t>& uplinks) {
  if (uplinks.empty()) return 0;
  std::vector<double> use;
  fabric.link_use(use);
  double sum = 0;
  for (const std::uint32_t link : uplinks) sum += use[link];
  return sum / static_cast<double>(uplinks.size());
}

Outcome run(Fabric& fabric, const Case& setup, const std::vector<Job>& jobs) {
  Outcome outcome;
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
    const StageId id = fabric.begin(work.stage, now);
    if (id.value >= under.size()) under.resize(id.value + 1);
    under[id.value] = std::move(work);
  };
  while (true) {
    while (next_job < jobs.size() && room.take(jobs[next_job].devices, nodes)) {
      begin({next_job, kStages, stage_of(jobs[next_job], nodes, setup.node_rate)});
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

void measure(const Case& setup) {
  const std::vector<Job> jobs = make_jobs(setup);
  const auto nodes = static_cast<std::int32_t>(setup.nodes);
  sim::IdealFabric ideal(Topology(setup.network, nodes));
  const Outcome alone = run(ideal, setup, jobs);
  sim::SharedFabric shared(Topology(setup.network, nodes));
  const Outcome together = run(shared, setup, jobs);
  std::printf("%s\n", setup.name);
  std::printf("  L0 %8.2f s %9.0f jobs/s   makespan %.0f s\n",
              alone.cpu_s,
              setup.jobs / alone.cpu_s,
              alone.makespan_s);
  std::printf(
      "  L1 %8.2f s %9.0f jobs/s   makespan %.0f s   ratio %.2f   rerated %llu   "
      "links between switches %.0f %% busy\n",
      together.cpu_s,
      setup.jobs / together.cpu_s,
      together.makespan_s,
      together.cpu_s / alone.cpu_s,
      static_cast<unsigned long long>(shared.rerated()),
      100 * together.uplinks_busy);
}

scenarios::NetworkSpec fat_tree(std::int32_t per_leaf) {
  scenarios::NetworkSpec network;
  network.topology = scenarios::NetworkTopology::FatTree;
  network.nodes_per_leaf = per_leaf;
  network.oversubscription = 2;
  return network;
}

int main_of(std::uint32_t jobs) {
  const std::uint32_t few = std::max(50U, jobs / 50);
  measure({"star, 16384 nodes", {}, 16'384, jobs, false, false, 20e9});
  measure({"fat-tree 2:1, 16384 nodes", fat_tree(32), 16'384, jobs, false, false, 45e9});
  measure({"fat-tree 2:1, 16384 nodes, scattered", fat_tree(32), 16'384, jobs, false, true, 45e9});
  measure({"fat-tree 2:1, 512 nodes, multi-node jobs", fat_tree(16), 512, few, true, false, 20e9});
  measure({"fat-tree 2:1, 512 nodes, multi-node jobs, scattered",
           fat_tree(16),
           512,
           few,
           true,
           true,
           20e9});
  return 0;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  const long jobs = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1'000'000;
  if (jobs < 50) {
    std::fprintf(stderr, "usage: bench_fabric [jobs, at least 50]\n");
    return 2;
  }
  return orrery::bench::main_of(static_cast<std::uint32_t>(jobs));
}
