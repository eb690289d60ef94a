// What a decision of Sia's program takes: jobs on three kinds of devices, 40 configurations in all.
//
//   bench_sia [jobs] [devices]     992 jobs, 2048 devices where none are given
//
// Prints the best of three processor times for each number of nodes of branch and bound, how the
// choice came about, its objective over that of the greedy rule alone, and its time over the second
// that a decision may take.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "core/base/math.hpp"
#include "core/base/random.hpp"
#include "policies/sia_program.hpp"

namespace orrery::bench {
namespace {

using policies::SiaChoice;
using policies::SiaJob;
using policies::SiaSettings;

constexpr double kTarget_ms = 1000;

/// Node sizes 4, 8, 8; in all 11 + 15 + 14 = 40 configurations: 1, 2, 4 (8) devices of a node, then
/// 2, 3, ... whole nodes.
struct KindOfDevice {
  int node_size;
  int nodes_most;
};

constexpr KindOfDevice kKinds[] = {{4, 9}, {8, 12}, {8, 11}};

/// A job with goodputs that grow by a power of its own, on kinds that are faster or slower to it.
SiaJob made_up(Random& random) {
  SiaJob job;
  const double power = static_cast<double>(random.between(50, 95)) / 100;
  job.restart_factor = static_cast<double>(random.between(60, 100)) / 100;
  for (int kind = 0; kind < 3; ++kind) {
    const double one = static_cast<double>(random.between(50, 300));
    const auto add = [&](int nodes, int devices) {
      job.options.push_back({kind, nodes, devices, one * math::pow(devices, power), false});
    };
    for (int devices = 1; devices <= kKinds[kind].node_size; devices *= 2) add(1, devices);
    for (int nodes = 2; nodes <= kKinds[kind].nodes_most; ++nodes)
      add(nodes, nodes * kKinds[kind].node_size);
  }
  if (random.below(2) == 0) job.options[random.below(job.options.size())].current = true;
  return job;
}

std::vector<SiaJob> made_up_jobs(int count) {
  Random random = Random::stream(1, "sia");
  std::vector<SiaJob> jobs;
  for (int i = 0; i < count; ++i) jobs.push_back(made_up(random));
  return jobs;
}

const char* name_of(policies::SiaPath path) {
  if (path == policies::SiaPath::Program) return "program";
  return path == policies::SiaPath::Limited ? "limited" : "greedy";
}

int run(int count, std::int64_t devices) {
  const std::vector<SiaJob> jobs = made_up_jobs(count);
  // As in Sia's cluster of 24 + 16 + 24, so many times.
  const std::vector<std::int64_t> capacity{
      devices * 24 / 64 / 4 * 4, devices * 16 / 64 / 8 * 8, devices * 24 / 64 / 8 * 8};
  SiaSettings greedy;
  greedy.limits = {.iterations = 0, .nodes = 0, .relative_gap = 0};
  const double greedy_objective = policies::choose_options(jobs, capacity, greedy).objective;
  std::printf("%d jobs, %lld devices, %zu configurations; greedy alone %.2f\n",
              count,
              static_cast<long long>(devices),
              jobs.front().options.size(),
              greedy_objective);
  for (const std::int32_t nodes : {0, 50, 500}) {
    SiaSettings settings;
    settings.limits.nodes = nodes;
    double best_ms = 1e18;
    SiaChoice choice;
    for (int round = 0; round < 3; ++round) {
      const std::clock_t begin = std::clock();
      choice = policies::choose_options(jobs, capacity, settings);
      const double took_ms = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      best_ms = std::min(best_ms, took_ms);
    }
    std::printf("nodes %3d: %8.1f ms, %.2f of a second, %s, %.4f of greedy\n",
                nodes,
                best_ms,
                best_ms / kTarget_ms,
                name_of(choice.path),
                choice.objective / greedy_objective);
  }
  return 0;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 992;
  const long long devices = argc > 2 ? std::atoll(argv[2]) : 2048;
  if (jobs < 1 || devices < 64) {
    std::fprintf(stderr, "bench_sia: at least 1 job and 64 devices are needed\n");
    return 2;
  }
  return orrery::bench::run(jobs, devices);
}
