#include "tools/bench/forecast_state.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/driver/memory_store.hpp"
#include "core/driver/replay.hpp"
#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/run.hpp"

namespace orrery::bench {
namespace {

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

}  // namespace

std::vector<std::byte> forecast_state(int live, int waiting, int nodes) {
  const std::string text = scenario_text(live, waiting, nodes);
  const auto scenario = scenarios::parse_scenario(text, "bench.yaml");
  if (!scenario) {
    std::printf("%s\n", scenario.errors().front().text().c_str());
    std::exit(2);
  }
  const auto workload = sim::LoadedWorkload::load(*scenario);
  const auto policy = policies::make_policy("easy", {});
  MemoryStore store;
  sim::RunOptions options;
  options.store = &store;
  if (!sim::run_model(*scenario, *workload, **policy, options)) std::exit(3);
  Controller controller;
  if (!replay(store, controller)) std::exit(3);
  ByteWriter bytes;
  controller.state().save(bytes);
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

}  // namespace orrery::bench
