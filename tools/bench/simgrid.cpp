// What SimGrid costs: building platforms, and jobs through the fabric of level L2.
//
//   bench_simgrid platform     16,384 nodes as a star and as a fat-tree: seconds, added memory
//
// SimGrid allows one engine per process, so each line is made in a child process.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>

#include "sim/simgrid/platform.hpp"

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

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "platform";
  if (what == "platform") {
    orrery::bench::bench_platforms();
    return 0;
  }
  std::fprintf(stderr, "bench_simgrid: %s is unknown, expected platform\n", what.c_str());
  return 2;
}
