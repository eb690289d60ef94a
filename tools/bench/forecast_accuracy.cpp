// How right starts are that are foretold at submission, beside a static backfill estimate.
//
//   bench_forecast_accuracy [jobs] [seed] [most by which a stated time is too long]   500 1 1
//
// A cluster of 64 nodes under easy and a load of 1. `jobs` of those in the middle of the run are
// asked for when they are submitted, each on the state of that moment, of which nothing is known
// that the controller does not know. Beside it, on the same state, the estimate of a static
// backfill planner: every running job ends when its stated time is over, every waiting one is
// reserved the first gap for its stated time in the order of the queue, and the job that came last
// gets the gap that is left. Prints the median and the ninth decile of the error
// |foretold - actual| / max(time waited, 60 s), over the jobs that had to wait and over all. Where
// stated times are right it fails unless the median of those that waited is below 10 %, and at most
// half of the static estimate's.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/base/random.hpp"
#include "core/driver/memory_store.hpp"
#include "core/driver/replay.hpp"
#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/rehearsal/forecast.hpp"
#include "sim/run/run.hpp"

namespace orrery::bench {
namespace {

constexpr int kNodes = 64;
constexpr int kDevices = kNodes * 8;
constexpr double kLoad = 1.0;

std::unique_ptr<Policy> easy() {
  auto policy = policies::make_policy("easy", {});
  return policy ? std::move(*policy) : nullptr;
}

/// Three times `jobs`: those in the middle third are asked for.
std::string scenario_text(int jobs, std::uint64_t seed, double over) {
  Random random = Random::stream(seed, "forecast accuracy");
  std::string out = "policy: easy\ncluster: {nodes: " + std::to_string(kNodes) +
                    ", gpus_per_node: 8}\ncontroller: {retain_finished: 30d, "
                    "retain_finished_max: 100000}\njobs:\n";

  struct Drawn {
    int replicas;
    int work_s;
  };

  std::vector<Drawn> drawn;
  double device_s = 0;
  for (int k = 0; k < 3 * jobs; ++k) {
    const int replicas = 1 << random.below(7);
    const int work =
        static_cast<int>(std::clamp(random.lognormal(std::log(1800.0), 1.2), 60., 86400.));
    drawn.push_back({replicas, work});
    device_s += static_cast<double>(replicas) * work;
  }
  const double gap_s = device_s / static_cast<double>(drawn.size()) / (kDevices * kLoad);
  double at = 0;
  for (std::size_t k = 0; k < drawn.size(); ++k) {
    at += random.exponential(gap_s);
    const double stated = drawn[k].work_s * random.uniform(1, over);
    out += "  - {name: j" + std::to_string(k) + ", at: " + std::to_string(std::llround(at)) +
           "s, replicas: " + std::to_string(drawn[k].replicas) +
           ", estimate: " + std::to_string(std::llround(std::max(1.0, stated))) +
           "s, work: " + std::to_string(drawn[k].work_s) + "s}\n";
  }
  return out;
}

/// Free devices over time, as reservations take them.
class Timeline {
 public:
  Timeline(Instant now, std::int64_t free) { free_[now] = free; }

  /// `devices` come free then.
  void release(Instant at, std::int64_t devices) {
    cut(at);
    for (auto each = free_.find(at); each != free_.end(); ++each) each->second += devices;
  }

  /// The first instant from which on so many are free for so long; they are taken.
  Instant reserve(std::int64_t devices, Duration length) {
    for (auto begin = free_.begin(); begin != free_.end(); ++begin) {
      const Instant end = begin->first + length;
      bool fits = true;
      for (auto each = begin; fits && each != free_.end() && each->first < end; ++each)
        fits = each->second >= devices;
      if (!fits) continue;
      cut(end);
      for (auto each = begin; each != free_.end() && each->first < end; ++each)
        each->second -= devices;
      return begin->first;
    }
    return Instant::never();
  }

 private:
  void cut(Instant at) {
    const auto after = free_.upper_bound(at);
    if (after == free_.begin() || std::prev(after)->first == at) return;
    free_[at] = std::prev(after)->second;
  }

  std::map<Instant, std::int64_t> free_;
};

/// The start of the job that waits last, by stated times alone.
Instant static_estimate(const State& state, JobId asked) {
  Timeline timeline(state.now, state.ledger.free().free_devices());
  std::vector<const JobState*> waiting;
  state.for_each_job([&](const JobState& job) {
    if (is_final(job.row.phase)) return;
    if (!job.row.holds) {
      waiting.push_back(&job);
      return;
    }
    // One that has run for longer than it stated is expected to end any moment.
    const Instant end =
        std::max(state.now + Duration::seconds(1), job.row.allocated_at + job.row.estimate);
    timeline.release(end, job.row.devices_held);
  });
  std::ranges::stable_sort(waiting, [](const JobState* a, const JobState* b) {
    return a->row.priority != b->row.priority ? a->row.priority > b->row.priority
                                              : a->row.id < b->row.id;
  });
  for (const JobState* job : waiting) {
    const Instant start = timeline.reserve(job->row.gang_devices(), job->row.estimate);
    if (job->row.id == asked) return start;
  }
  return Instant::never();
}

struct Foretold {
  JobId job;
  Instant submitted;
  Instant forecast;
  Instant backfill;
};

Instant forecast_start(const Controller& from, JobId asked) {
  const auto policy = easy();
  const auto told =
      sim::forecast(from, sim::forked_scenario(from.state()), *policy, sim::ForecastOptions{});
  if (!told) std::exit(3);
  for (const sim::JobForecast& job : told->jobs)
    if (job.id == asked) return job.start;
  return Instant::never();
}

double error(Instant foretold, Instant started, Instant submitted) {
  if (foretold.is_never()) return 1e9;
  return std::abs((foretold - started).in_seconds()) /
         std::max((started - submitted).in_seconds(), 60.0);
}

/// Whether the median is what is promised where stated times are right: below a tenth, and half of
/// the static estimate's.
bool is_right(std::vector<double> forecast, std::vector<double> backfill) {
  const auto median = [](std::vector<double>& all) {
    std::ranges::sort(all);
    return all[all.size() / 2];
  };
  const double ours = median(forecast);
  return ours < 0.1 && ours <= median(backfill) / 2;
}

void print(const char* what, std::vector<double> forecast, std::vector<double> backfill) {
  std::ranges::sort(forecast);
  std::ranges::sort(backfill);
  const auto at = [](const std::vector<double>& all, double part) {
    return 100 * all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))];
  };
  std::printf(
      "  %-22s %4zu jobs   forecast: median %6.1f %%, 9 of 10 below %7.1f %%   static "
      "backfill: %6.1f %%, %7.1f %%\n",
      what,
      forecast.size(),
      at(forecast, 0.5),
      at(forecast, 0.9),
      at(backfill, 0.5),
      at(backfill, 0.9));
}

int run(int jobs, std::uint64_t seed, double over) {
  const auto scenario = scenarios::parse_scenario(scenario_text(jobs, seed, over), "bench.yaml");
  if (!scenario) {
    std::printf("%s\n", scenario.errors().front().text().c_str());
    return 2;
  }
  const auto workload = sim::LoadedWorkload::load(*scenario);
  MemoryStore store;
  sim::RunOptions options;
  options.store = &store;
  const auto policy = easy();
  if (!sim::run_model(*scenario, *workload, *policy, options)) return 3;
  Controller controller;
  Commands unused;
  std::vector<Foretold> foretold;
  const auto read = read_journal(store, Sequence{1}, {}, [&](Sequence, const Event& event) {
    const JobId next = controller.state().next_job();
    unused.clear();
    controller.step(event, unused);
    while (controller.take_plan_request()) continue;
    const auto index = static_cast<int>(next.value);
    if (!std::holds_alternative<JobSubmitted>(event.body) || index < jobs || index >= 2 * jobs)
      return true;
    foretold.push_back({next,
                        controller.state().now,
                        forecast_start(controller, next),
                        static_estimate(controller.state(), next)});
    return true;
  });
  if (!read) return 3;
  std::vector<double> forecast[2];
  std::vector<double> backfill[2];
  for (const Foretold& each : foretold) {
    const Instant started = controller.state().job(each.job).started_at;
    const bool waited = started > each.submitted;
    for (int which = 0; which < 2; ++which) {
      if (which == 0 && !waited) continue;
      forecast[which].push_back(error(each.forecast, started, each.submitted));
      backfill[which].push_back(error(each.backfill, started, each.submitted));
    }
  }
  std::printf(
      "%d nodes under easy, %zu jobs asked at submission, seed %llu, stated times 1 to %g "
      "times the real ones\n",
      kNodes,
      foretold.size(),
      static_cast<unsigned long long>(seed),
      over);
  if (!forecast[0].empty()) print("those that waited", forecast[0], backfill[0]);
  print("all", forecast[1], backfill[1]);
  const bool promised = over == 1 && !forecast[0].empty();
  return !promised || is_right(forecast[0], backfill[0]) ? 0 : 1;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  const double over = argc > 3 ? std::atof(argv[3]) : 1;
  return orrery::bench::run(argc > 1 ? std::atoi(argv[1]) : 500,
                            argc > 2 ? static_cast<std::uint64_t>(std::atoll(argv[2])) : 1,
                            std::max(over, 1.0));
}
