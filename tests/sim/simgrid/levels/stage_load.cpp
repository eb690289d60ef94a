#include "tests/sim/simgrid/levels/stage_load.hpp"

#include <algorithm>

#include "core/base/random.hpp"
#include "sim/fabric/exchange_load.hpp"
#include "sim/fabric/topology.hpp"

namespace orrery::sim::test {
namespace {

constexpr double kStep = 0.5;  // Seconds of compute.
constexpr int kStages = 3;

std::vector<NodeId> draw_nodes(const StageLoad& load, Random& random) {
  std::vector<NodeId> all;
  for (std::int32_t node = 0; node < load.nodes; ++node)
    all.emplace_back(static_cast<std::uint32_t>(node));
  if (load.scattered) {
    random.shuffle(all);
  } else {
    const auto first = static_cast<std::ptrdiff_t>(random.below(all.size()));
    std::rotate(all.begin(), all.begin() + first, all.end());
  }
  all.resize(static_cast<std::size_t>(random.between(2, 8)));
  return all;
}

// Steps that keep their tightest link busy for a drawn part of the time, when they are alone.
Stage draw_steps(const StageLoad& load,
                 const Topology& topology,
                 const std::vector<NodeId>& nodes,
                 Random& random) {
  Stage stage;
  stage.compute_s = kStep;
  stage.overlap = 1;
  stage.steps = random.uniform(load.steps_max / 6, load.steps_max);
  Exchange exchange;
  exchange.pattern = static_cast<Pattern>(random.below(5));  // All but Transfers.
  exchange.members = nodes;
  exchange.bytes = 1e9;
  stage.exchanges = {exchange};
  const double busy = random.uniform(0.1, 1) * load.rate_max * kStep;
  stage.exchanges[0].bytes *= busy / exchange_alone_s(topology, stage);
  return stage;
}

Stage checkpoint(const std::vector<NodeId>& nodes, Random& random) {
  Stage stage;
  stage.paced = false;
  stage.exchanges.resize(1);
  for (const NodeId node : nodes)
    stage.exchanges[0].transfers.push_back({node, NodeId::none(), random.uniform(20e9, 200e9)});
  return stage;
}

}  // namespace

std::vector<std::vector<Stage>> draw_jobs(const StageLoad& load, std::uint64_t seed) {
  Random random(seed);
  const Topology topology(load.network, load.nodes);
  std::vector<std::vector<Stage>> jobs(static_cast<std::size_t>(load.jobs));
  for (std::vector<Stage>& stages : jobs) {
    const std::vector<NodeId> nodes = draw_nodes(load, random);
    for (int i = 0; i < kStages; ++i) {
      stages.push_back(draw_steps(load, topology, nodes, random));
      if (load.checkpoints && i == 1) stages.push_back(checkpoint(nodes, random));
    }
  }
  return jobs;
}

std::vector<double> stage_times(Fabric& fabric,
                                const std::vector<std::vector<Stage>>& jobs,
                                double spacing_s,
                                Instant& now) {
  struct Under {
    StageId id;
    std::size_t job = 0;
    std::size_t stage = 0;
    Instant begun;
  };

  std::vector<std::vector<double>> seconds(jobs.size());
  std::vector<Under> under;
  std::size_t next_job = 0;
  const Instant start = now;
  const auto arrival = [&] {
    return next_job < jobs.size()
               ? start + Duration::from_seconds(static_cast<double>(next_job) * spacing_s)
               : Instant::never();
  };
  const auto begin = [&](std::size_t job, std::size_t stage) {
    under.push_back({fabric.begin(jobs[job][stage], now), job, stage, now});
  };
  while (!under.empty() || next_job < jobs.size()) {
    now = fabric.next(arrival());
    std::vector<StageId> complete;
    fabric.pass_to(now, complete);
    for (const StageId id : complete) {
      const auto which = std::find_if(
          under.begin(), under.end(), [&](const Under& entry) { return entry.id == id; });
      const Under done = *which;
      under.erase(which);
      seconds[done.job].push_back((now - done.begun).in_seconds());
      if (done.stage + 1 < jobs[done.job].size()) begin(done.job, done.stage + 1);
    }
    while (arrival() <= now && next_job < jobs.size()) begin(next_job++, 0);
  }
  std::vector<double> all;
  for (const auto& of_job : seconds) all.insert(all.end(), of_job.begin(), of_job.end());
  return all;
}

}  // namespace orrery::sim::test
