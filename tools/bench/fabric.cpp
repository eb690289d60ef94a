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
#include <vector>

#include "sim/fabric/ideal_fabric.hpp"
#include "sim/fabric/shared_fabric.hpp"
#include "tools/bench/fabric_jobs.hpp"

namespace orrery::bench {
namespace {

using sim::Topology;

void measure(const FabricCase& setup) {
  const std::vector<FabricJob> jobs = make_fabric_jobs(setup);
  const auto nodes = static_cast<std::int32_t>(setup.nodes);
  sim::IdealFabric ideal(Topology(setup.network, nodes));
  const FabricOutcome alone = run_fabric_jobs(ideal, setup, jobs);
  sim::SharedFabric shared(Topology(setup.network, nodes));
  const FabricOutcome together = run_fabric_jobs(shared, setup, jobs);
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

int main_of(std::uint32_t jobs) {
  const std::uint32_t few = std::max(50U, jobs / 50);
  measure({"star, 16384 nodes", {}, 16'384, jobs, false, false, 20e9});
  measure({"fat-tree 2:1, 16384 nodes", two_to_one_fat_tree(32), 16'384, jobs, false, false, 45e9});
  measure({"fat-tree 2:1, 16384 nodes, scattered",
           two_to_one_fat_tree(32),
           16'384,
           jobs,
           false,
           true,
           45e9});
  measure({"fat-tree 2:1, 512 nodes, multi-node jobs",
           two_to_one_fat_tree(16),
           512,
           few,
           true,
           false,
           20e9});
  measure({"fat-tree 2:1, 512 nodes, multi-node jobs, scattered",
           two_to_one_fat_tree(16),
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
