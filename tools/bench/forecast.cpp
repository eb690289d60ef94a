// One forecast, as a controller's helper makes it: a state is loaded and goes on in world `model`.
//
//   bench_forecast [live jobs] [waiting jobs] [nodes]     2000 2000 16384 where none is given
//
// Prints the median, the fastest and the slowest of 21 runs under easy: loading the state's bytes,
// the run itself, and how many records it took.

#include "sim/rehearsal/forecast.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/driver/memory_store.hpp"
#include "core/driver/replay.hpp"
#include "core/record/version.hpp"
#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/run.hpp"

namespace orrery::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 21;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::unique_ptr<Policy> easy() {
  auto policy = policies::make_policy("easy", {});
  return policy ? std::move(*policy) : nullptr;
}

/// Live jobs that fill the cluster, and behind them waiting ones of all sizes.
std::string scenario_text(int live, int waiting, int nodes) {
  const int devices = nodes * 8;
  std::string out = "policy: easy\nuntil: 10s\ncluster: {nodes: " + std::to_string(nodes) +
                    ", gpus_per_node: 8}\njobs:\n";
  const int width = devices / live;
  for (int k = 0; k < live + waiting; ++k) {
    const bool lives = k < live;
    const int replicas = lives ? std::max(1, width) : 1 << (k % 9);
    const int work = 600 + (k * 7919) % 36000;
    out += "  - {name: j" + std::to_string(k) + ", at: " + (lives ? "0s" : "1s") +
           ", replicas: " + std::to_string(replicas) + ", estimate: " + std::to_string(work) +
           "s, work: " + std::to_string(work) + "s}\n";
  }
  return out;
}

/// The bytes of the state of such a cluster.
std::vector<std::byte> state_bytes(const std::string& text) {
  const auto scenario = scenarios::parse_scenario(text, "bench.yaml");
  if (!scenario) {
    std::printf("%s\n", scenario.errors().front().text().c_str());
    std::exit(2);
  }
  const auto workload = sim::LoadedWorkload::load(*scenario);
  const auto policy = easy();
  MemoryStore store;
  sim::RunOptions options;
  options.store = &store;
  if (!sim::run_model(*scenario, *workload, *policy, options)) std::exit(3);
  Controller controller;
  if (!replay(store, controller)) std::exit(3);
  ByteWriter bytes;
  controller.state().save(bytes);
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

void print(const char* what, std::vector<double> ms) {
  std::ranges::sort(ms);
  std::printf("  %-28s p50 %8.1f ms   fastest %8.1f   slowest %8.1f\n",
              what,
              ms[ms.size() / 2],
              ms.front(),
              ms.back());
}

int run(int live, int waiting, int nodes) {
  const std::vector<std::byte> bytes = state_bytes(scenario_text(live, waiting, nodes));
  std::vector<double> load_ms;
  std::vector<double> run_ms;
  sim::Forecast last;
  for (int i = 0; i < kTries; ++i) {
    const auto begin = Clock::now();
    Controller controller;
    ByteReader reader(bytes);
    if (!controller.load(reader, kRecordVersion)) return 3;
    load_ms.push_back(ms_since(begin));
    const auto loaded = Clock::now();
    const auto policy = easy();
    auto told = sim::forecast(
        controller, sim::forked_scenario(controller.state()), *policy, sim::ForecastOptions{});
    if (!told) return 3;
    run_ms.push_back(ms_since(loaded));
    last = std::move(*told);
  }
  const auto holds = std::ranges::count_if(last.jobs, &sim::JobForecast::runs);
  std::printf("%d nodes, %zu jobs run and %zu wait; state %.1f MB, %llu records\n",
              nodes,
              static_cast<std::size_t>(holds),
              last.jobs.size() - static_cast<std::size_t>(holds),
              static_cast<double>(bytes.size()) / 1e6,
              static_cast<unsigned long long>(last.records));
  print("loading the state", load_ms);
  print("one run to the last job", run_ms);
  return 0;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  const auto number = [&](int at, int usual) { return argc > at ? std::atoi(argv[at]) : usual; };
  return orrery::bench::run(number(1, 2000), number(2, 2000), number(3, 16384));
}
