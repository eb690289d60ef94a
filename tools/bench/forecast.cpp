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
#include <utility>
#include <vector>

#include "core/record/version.hpp"
#include "policies/registry.hpp"
#include "tools/bench/forecast_state.hpp"

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

void print(const char* what, std::vector<double> ms) {
  std::ranges::sort(ms);
  std::printf("  %-28s p50 %8.1f ms   fastest %8.1f   slowest %8.1f\n",
              what,
              ms[ms.size() / 2],
              ms.front(),
              ms.back());
}

int run(int live, int waiting, int nodes) {
  const std::vector<std::byte> bytes = forecast_state(live, waiting, nodes);
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
    const scenarios::Scenario scenario = sim::forked_scenario(controller.state());
    auto told = sim::forecast(std::move(controller), scenario, *policy, sim::ForecastOptions{});
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
