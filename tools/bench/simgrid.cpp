// What SimGrid costs: building platforms, and jobs through the fabric of level L2.
//
//   bench_simgrid platform        up to 16,384 nodes in each shape: seconds, added memory
//   bench_simgrid jobs [number]   so many multi-node jobs (20000) on 512 nodes of 8 devices, a 2:1
//                                 fat-tree, placed side by side and scattered; and with every flow
//                                 in SimGrid, not only those on contended links; a third argument
//                                 picks the cases that have it in their name
//   bench_simgrid star [number]   so many jobs (1000000) on 16,384 nodes of 8 devices, a star
//
// SimGrid allows one engine per process, so each line is made in a child process.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "sim/simgrid/fluid_fabric.hpp"
#include "tools/bench/fabric_jobs.hpp"

namespace orrery::bench {
namespace {

using scenarios::NetworkSpec;
using Topology = scenarios::NetworkTopology;

double processor_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  long size = 0;
  long resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

void in_child(const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::printf("  the child ended with status %d\n", status);
}

void build(const char* name, const NetworkSpec& network, std::int64_t nodes) {
  in_child([&] {
    sim::SimGridEngine engine;
    const double memory = resident_mb();
    const double start = processor_seconds();
    const Result<sim::Platform> platform = sim::Platform::make(engine, network, nodes);
    if (!platform) {
      std::printf("%s\n", platform.errors()[0].text().c_str());
      return;
    }
    std::printf("  %-28s %6lld nodes %8zu links %8.3f s %8.1f MB\n",
                name,
                static_cast<long long>(nodes),
                platform->links().size(),
                processor_seconds() - start,
                resident_mb() - memory);
  });
}

void bench_platforms() {
  std::printf("platforms: seconds of processor time to build, resident memory added\n");
  NetworkSpec network;
  network.storage_bandwidth = 100e9;
  for (const std::int64_t nodes : {512, 4096, 16384}) {
    network.topology = Topology::Star;
    build("star", network, nodes);
    network.topology = Topology::FatTree;
    network.nodes_per_leaf = 32;
    network.oversubscription = 2;
    build("fat-tree, 32 a leaf, 2:1", network, nodes);
  }
  network.topology = Topology::Torus;
  network.torus = {16, 16, 64};
  build("torus 16 x 16 x 64", network, 16384);
  network.topology = Topology::Dragonfly;
  network.dragonfly = {16, 8, 16, 8};
  build("dragonfly 16 x 8 x 16 x 8", network, 16384);
}

// Only cases whose name holds this are measured.
std::string only;

void measure(const FabricCase& setup, bool everything_in_simgrid) {
  if (std::string(setup.name).find(only) == std::string::npos) return;
  in_child([&] {
    const std::vector<FabricJob> jobs = make_fabric_jobs(setup);
    auto engine = std::make_unique<sim::SimGridEngine>();
    Result<sim::Platform> platform =
        sim::Platform::make(*engine, setup.network, static_cast<std::int64_t>(setup.nodes));
    sim::FluidFabric fabric(
        std::move(engine), std::move(platform).value(), {everything_in_simgrid});
    const FabricOutcome outcome = run_fabric_jobs(fabric, setup, jobs);
    std::printf(
        "  %-36s %8.2f s %9.0f jobs/s   %llu flows, %.0f %% in SimGrid   %4.0f MB   makespan %.3f "
        "s "
        "  links between switches %.0f %% busy\n",
        setup.name,
        outcome.cpu_s,
        setup.jobs / outcome.cpu_s,
        static_cast<unsigned long long>(fabric.flows_begun()),
        100.0 * static_cast<double>(fabric.flows_in_simgrid()) /
            static_cast<double>(std::max<std::uint64_t>(1, fabric.flows_begun())),
        resident_mb(),
        outcome.makespan_s,
        100 * outcome.uplinks_busy);
  });
}

// 2:1 over so many spines: fewer have faster links, and fewer transfers meet by the chance of
// static routing, so that more of the bandwidth between switches is used.
NetworkSpec over_spines(int spines) {
  NetworkSpec network = two_to_one_fat_tree(16);
  network.link_bandwidth *= 8.0 / spines;
  network.oversubscription = 16.0 / spines;
  network.storage_bandwidth = 400e9;
  return network;
}

void bench_jobs(std::uint32_t jobs) {
  const NetworkSpec eight = over_spines(8);
  const NetworkSpec two = over_spines(2);
  for (const bool everything : {false, true}) {
    std::printf("512 nodes, fat-tree 2:1, multi-node jobs; %s\n",
                everything ? "every flow in SimGrid" : "flows on contended links in SimGrid");
    measure({"side by side", eight, 512, jobs, true, false, 20e9}, everything);
    measure({"scattered", eight, 512, jobs, true, true, 20e9}, everything);
    measure({"scattered, 45 GB/s a node", eight, 512, jobs, true, true, 45e9}, everything);
    measure({"scattered, 2 spines", two, 512, jobs, true, true, 20e9}, everything);
    measure({"scattered, 2 spines, 26 GB/s a node", two, 512, jobs, true, true, 26e9}, everything);
    measure({"scattered, 1 spine, 30 GB/s a node", over_spines(1), 512, jobs / 4, true, true, 30e9},
            everything);
    measure({"side by side, 20 GB a node saved", eight, 512, jobs, true, false, 20e9, 20e9},
            everything);
    measure({"scattered, 20 GB a node saved", eight, 512, jobs, true, true, 20e9, 20e9},
            everything);
  }
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "platform";
  if (what == "platform") {
    orrery::bench::bench_platforms();
    return 0;
  }
  const std::uint32_t jobs =
      argc > 2 ? static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)) : 0;
  if (argc > 3) orrery::bench::only = argv[3];
  if (what == "jobs") {
    orrery::bench::bench_jobs(jobs > 50 ? jobs : 20'000);
    return 0;
  }
  if (what == "star") {
    orrery::bench::measure(
        {"star, 16,384 nodes", {}, 16'384, jobs > 50 ? jobs : 1'000'000, false, true, 20e9}, false);
    return 0;
  }
  std::fprintf(
      stderr, "bench_simgrid: %s is unknown, expected platform, jobs or star\n", what.c_str());
  return 2;
}
