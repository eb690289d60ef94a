#include "policies/shockwave_window.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"

namespace orrery::policies {
namespace {

using solver::Column;
using solver::Entry;
using solver::Program;
using solver::Sense;
using solver::Solution;
using solver::Status;

constexpr std::array<double, 6> kProgress{0, 0.2, 0.4, 0.6, 0.8, 1};
constexpr double kLeastProgress = 1e-6;
constexpr double kWeightMax = 1e7;

std::array<double, kProgress.size()> utilities() {
  std::array<double, kProgress.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = math::log(i == 0 ? kLeastProgress : kProgress[i]);
  return out;
}

/// How much later than its fair finish time the job would end with its fair share from now on.
double late_ratio(const WindowJob& job, const WindowPlace& place, const WindowSettings& settings) {
  const double now_s = settings.round_s * static_cast<double>(place.round);
  return (now_s + job.remaining_s / place.share) / job.fair_finish_s;
}

std::vector<double> weights_of(const std::vector<WindowJob>& jobs,
                               const WindowPlace& place,
                               const WindowSettings& settings) {
  std::vector<double> out;
  for (const WindowJob& job : jobs) {
    const double weight = late_weight(late_ratio(job, place, settings),
                                      job.remaining_s < settings.round_s,
                                      settings.rho_max,
                                      settings.weight_power);
    out.push_back(std::min(weight, kWeightMax));
  }
  return out;
}

/// Seconds that may remain of the job after the window for it to keep its finish time.
double rest_allowed(const WindowJob& job,
                    const WindowPlace& place,
                    const WindowSettings& settings) {
  const double end_s = settings.round_s * static_cast<double>(place.round + settings.rounds);
  return (settings.rho_max * job.fair_finish_s - end_s) * place.share;
}

/// The first program. Weights empty: finish times are kept.
class RoundCounts {
 public:
  RoundCounts(const std::vector<WindowJob>& jobs,
              const WindowPlace& place,
              const WindowSettings& settings,
              const std::vector<double>& weights)
      : jobs_(jobs), place_(place), settings_(settings), weights_(weights) {
    const double worst = -settings.makespan_weight;
    worst_ = program_.add_column({.objective = worst});
    for (std::size_t i = 0; i < jobs.size(); ++i) add(i);
    add_room();
  }

  Solution solve() const { return solver::solve(program_, settings_.limits); }

  /// Rounds of each job in a solution with values.
  std::vector<int> counts(const Solution& solution) const {
    std::vector<int> out;
    for (const std::int32_t column : counts_)
      out.push_back(static_cast<int>(solution.values[static_cast<std::size_t>(column)] + 0.5));
    return out;
  }

 private:
  void add(std::size_t index) {
    const WindowJob& job = jobs_[index];
    const double weight = weights_.empty() ? 1 : weights_[index];
    const double scale =
        weight / (static_cast<double>(jobs_.size()) * static_cast<double>(settings_.rounds));
    const double left = job.epochs - job.done;
    const double allowed =
        weights_.empty() ? rest_allowed(job, place_, settings_) : solver::kInfinity;
    const std::int32_t rounds =
        program_.add_column({.upper = static_cast<double>(settings_.rounds), .integer = true});
    counts_.push_back(rounds);
    // Epochs advanced; no more than the rounds hold.
    const std::int32_t epochs = program_.add_column({.upper = left});
    add_row(-solver::kInfinity, 0, {{epochs, job.mean_s}, {rounds, -settings_.round_s}});
    // What is left after the window, which the worst job counts for.
    const std::int32_t rest = program_.add_column({.upper = std::max(allowed, 0.0)});
    add_row(job.remaining_s, solver::kInfinity, {{rest, 1}, {epochs, job.mean_s}});
    add_row(0, solver::kInfinity, {{worst_, 1}, {rest, -1}});
    add_utility(job, scale, epochs);
  }

  void add_utility(const WindowJob& job, double scale, std::int32_t epochs) {
    static const std::array<double, kProgress.size()> values = utilities();
    std::vector<Entry> one;
    std::vector<Entry> progress;
    for (std::size_t b = 0; b < kProgress.size(); ++b) {
      const std::int32_t point = program_.add_column({.objective = scale * values[b]});
      one.push_back({point, 1});
      if (kProgress[b] != 0) progress.push_back({point, kProgress[b] * job.epochs});
    }
    progress.push_back({epochs, -1});
    program_.add_row(1, 1, one);
    program_.add_row(job.done, job.done, progress);
  }

  void add_room() {
    std::vector<Entry> entries;
    const double room = static_cast<double>(
        std::accumulate(place_.rooms.begin(), place_.rooms.end(), std::int64_t{0}));
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      entries.push_back({counts_[i], static_cast<double>(jobs_[i].room) / 1000});
    program_.add_row(-solver::kInfinity, room / 1000, entries);
    // Two jobs of more than half a round cannot share one.
    std::vector<Entry> large;
    const std::int64_t widest = *std::max_element(place_.rooms.begin(), place_.rooms.end());
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (2 * jobs_[i].room > widest) large.push_back({counts_[i], 1});
    if (large.size() > 1) program_.add_row(-solver::kInfinity, settings_.rounds, large);
  }

  void add_row(double lower, double upper, std::initializer_list<Entry> entries) {
    program_.add_row(lower, upper, std::vector<Entry>(entries));
  }

  const std::vector<WindowJob>& jobs_;
  const WindowPlace& place_;
  const WindowSettings& settings_;
  const std::vector<double>& weights_;
  Program program_{Sense::Maximise};
  std::int32_t worst_ = 0;
  std::vector<std::int32_t> counts_;
};

std::vector<std::size_t> indices(std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

using Runs = std::vector<std::vector<std::uint8_t>>;

/// Gives each job so many rounds: in the order given, each its rounds in the order that `first`
/// prefers. Whether all rounds could be given.
template <class Better>
bool give_rounds(const std::vector<WindowJob>& jobs,
                 const std::vector<int>& counts,
                 const std::vector<std::size_t>& order,
                 std::vector<std::int64_t> rooms,
                 Better better,
                 Runs& runs) {
  bool all = true;
  runs.assign(jobs.size(), std::vector<std::uint8_t>(rooms.size(), 0));
  for (const std::size_t job : order) {
    std::vector<std::size_t> rounds = indices(rooms.size());
    std::stable_sort(rounds.begin(), rounds.end(), [&](std::size_t a, std::size_t b) {
      return better(rooms[a], rooms[b]);
    });
    int left = counts[job];
    for (const std::size_t round : rounds) {
      if (left == 0) break;
      if (rooms[round] < jobs[job].room) continue;
      rooms[round] -= jobs[job].room;
      runs[job][round] = 1;
      --left;
    }
    all = all && left == 0;
  }
  return all;
}

/// The largest jobs first, of equal ones those of most rounds, each in the emptiest rounds.
void spread(const std::vector<WindowJob>& jobs,
            const WindowPlace& place,
            WindowSchedule& schedule) {
  std::vector<std::size_t> order = indices(jobs.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (jobs[a].room != jobs[b].room) return jobs[a].room > jobs[b].room;
    return schedule.rounds[a] > schedule.rounds[b];
  });
  give_rounds(
      jobs,
      schedule.rounds,
      order,
      place.rooms,
      [](std::int64_t a, std::int64_t b) { return a > b; },
      schedule.runs);
}

int count_of(const std::vector<std::uint8_t>& runs) {
  return static_cast<int>(std::count(runs.begin(), runs.end(), 1));
}

/// Sum over jobs of weight x mean round; what the second program minimises.
double lateness(const Runs& runs, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t job = 0; job < runs.size(); ++job) {
    const int count = count_of(runs[job]);
    for (std::size_t round = 0; round < runs[job].size(); ++round)
      if (runs[job][round] != 0) sum += weights[job] * static_cast<double>(round) / count;
  }
  return sum;
}

/// The second program: the same numbers of rounds, weighted jobs as early as can be.
class RoundOrder {
 public:
  RoundOrder(const std::vector<WindowJob>& jobs,
             const WindowPlace& place,
             const std::vector<double>& weights,
             const Runs& runs)
      : jobs_(jobs), columns_(jobs.size()) {
    const std::size_t rounds = place.rooms.size();
    std::vector<std::vector<Entry>> held(rounds);
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const int count = count_of(runs[job]);
      if (count == 0) continue;
      std::vector<Entry> all;
      for (std::size_t round = 0; round < rounds; ++round) {
        const double cost = weights[job] * static_cast<double>(round) / count;
        const std::int32_t column =
            program_.add_column({.upper = 1, .objective = cost, .integer = true});
        columns_[job].push_back(column);
        all.push_back({column, 1});
        held[round].push_back({column, static_cast<double>(jobs[job].room) / 1000});
      }
      program_.add_row(count, count, all);
    }
    for (std::size_t round = 0; round < rounds; ++round)
      if (!held[round].empty())
        program_.add_row(
            -solver::kInfinity, static_cast<double>(place.rooms[round]) / 1000, held[round]);
  }

  std::optional<Runs> solve(const solver::Limits& limits, std::size_t rounds) const {
    const Solution solution = solver::solve(program_, limits);
    if (!solution.has_values()) return std::nullopt;
    Runs runs(jobs_.size(), std::vector<std::uint8_t>(rounds, 0));
    for (std::size_t job = 0; job < jobs_.size(); ++job)
      for (std::size_t round = 0; round < columns_[job].size(); ++round)
        runs[job][round] =
            solution.values[static_cast<std::size_t>(columns_[job][round])] > 0.5 ? 1 : 0;
    return runs;
  }

 private:
  const std::vector<WindowJob>& jobs_;
  Program program_{Sense::Minimise};
  std::vector<std::vector<std::int32_t>> columns_;
};

/// The jobs that gain most by being early first, each in the earliest rounds.
bool order_greedily(const std::vector<WindowJob>& jobs,
                    const WindowPlace& place,
                    const std::vector<double>& weights,
                    const std::vector<int>& counts,
                    Runs& runs) {
  const auto gain = [&](std::size_t job) {
    return weights[job] / (std::max(counts[job], 1) * static_cast<double>(jobs[job].room));
  };
  std::vector<std::size_t> order = indices(jobs.size());
  std::stable_sort(
      order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain(a) > gain(b); });
  return give_rounds(
      jobs, counts, order, place.rooms, [](std::int64_t, std::int64_t) { return false; }, runs);
}

/// Keeps the best of what is at hand: the schedule as it is, a greedy order, the program's.
void order_rounds(const std::vector<WindowJob>& jobs,
                  const WindowPlace& place,
                  const WindowSettings& settings,
                  const std::vector<double>& weights,
                  WindowSchedule& schedule) {
  std::vector<int> counts;
  for (const auto& runs : schedule.runs) counts.push_back(count_of(runs));
  const auto keep_better = [&](Runs runs) {
    if (lateness(runs, weights) < lateness(schedule.runs, weights)) schedule.runs = std::move(runs);
  };
  const Runs spread_runs = schedule.runs;
  Runs greedy;
  if (order_greedily(jobs, place, weights, counts, greedy)) keep_better(std::move(greedy));
  if (!solver::is_available()) return;
  const RoundOrder order(jobs, place, weights, spread_runs);
  if (auto runs = order.solve(settings.limits, place.rooms.size())) keep_better(std::move(*runs));
}

/// Rounds without a program: in turn, the most late job first, as many as finish it.
WindowSchedule greedy_schedule(const std::vector<WindowJob>& jobs,
                               const WindowPlace& place,
                               const WindowSettings& settings) {
  WindowSchedule out;
  out.path = WindowPath::Greedy;
  std::vector<std::size_t> order = indices(jobs.size());
  std::vector<double> late;
  for (const WindowJob& job : jobs) {
    late.push_back(late_ratio(job, place, settings));
    const double rounds = job.remaining_s / settings.round_s + 1;
    out.rounds.push_back(
        static_cast<int>(std::clamp(rounds, 1.0, static_cast<double>(settings.rounds))));
  }
  std::stable_sort(
      order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return late[a] > late[b]; });
  give_rounds(
      jobs,
      out.rounds,
      order,
      place.rooms,
      [](std::int64_t, std::int64_t) { return false; },
      out.runs);
  return out;
}

/// Every job in every round, where they all fit; nothing else can be better for any of them.
std::optional<WindowSchedule> all_fit(const std::vector<WindowJob>& jobs,
                                      const WindowPlace& place) {
  std::int64_t room = 0;
  for (const WindowJob& job : jobs) room += job.room;
  if (room > *std::min_element(place.rooms.begin(), place.rooms.end())) return std::nullopt;
  WindowSchedule out;
  out.path = WindowPath::AllFit;
  out.rounds.assign(jobs.size(), static_cast<int>(place.rooms.size()));
  out.runs.assign(jobs.size(), std::vector<std::uint8_t>(place.rooms.size(), 1));
  return out;
}

/// The first program solved; nothing where it has no values.
std::optional<WindowSchedule> solve_counts(const std::vector<WindowJob>& jobs,
                                           const WindowPlace& place,
                                           const WindowSettings& settings,
                                           const std::vector<double>& weights) {
  const RoundCounts program(jobs, place, settings, weights);
  const Solution solution = program.solve();
  if (!solution.has_values()) return std::nullopt;
  WindowSchedule out;
  out.path = weights.empty() ? WindowPath::Fair : WindowPath::Relaxed;
  out.rounds = program.counts(solution);
  out.objective = solution.objective;
  spread(jobs, place, out);
  return out;
}

}  // namespace

double log_utility(double progress) {
  const std::array<double, kProgress.size()> values = utilities();
  for (std::size_t i = 1; i < kProgress.size(); ++i) {
    if (progress > kProgress[i]) continue;
    const double part = (progress - kProgress[i - 1]) / (kProgress[i] - kProgress[i - 1]);
    return values[i - 1] + part * (values[i] - values[i - 1]);
  }
  return values.back();
}

double fair_finish(std::span<const std::pair<std::int64_t, double>> series, std::int64_t round) {
  invariant(!series.empty(), "a job has an estimate before it is asked for");
  constexpr double momentum = 0.9;
  double sum = 0;
  double passed = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::int64_t until = i + 1 < series.size() ? series[i + 1].first : round;
    const auto span = static_cast<double>(until - series[i].first);
    sum += span * series[i].second;
    passed += span;
  }
  const double last = series.back().second;
  const double mean = passed > 0 ? sum / passed : last;
  return momentum * mean + (1 - momentum) * last;
}

double late_weight(double rho, bool ends_within_round, double rho_max, double power) {
  constexpr double urgent_power = 100;
  if (rho <= rho_max) return 1;
  return math::pow(rho, ends_within_round ? urgent_power : power);
}

WindowSchedule solve_window(const std::vector<WindowJob>& jobs,
                            const WindowPlace& place,
                            const WindowSettings& settings) {
  invariant(!jobs.empty() && place.rooms.size() == static_cast<std::size_t>(settings.rounds),
            "a window has jobs and a room for each round");
  if (auto all = all_fit(jobs, place)) return std::move(*all);
  if (!solver::is_available()) return greedy_schedule(jobs, place, settings);
  const bool possible = std::all_of(jobs.begin(), jobs.end(), [&](const WindowJob& job) {
    return rest_allowed(job, place, settings) >= 0;
  });
  if (possible)
    if (auto fair = solve_counts(jobs, place, settings, {})) return std::move(*fair);
  const std::vector<double> weights = weights_of(jobs, place, settings);
  auto relaxed = solve_counts(jobs, place, settings, weights);
  if (!relaxed) return greedy_schedule(jobs, place, settings);
  order_rounds(jobs, place, settings, weights, *relaxed);
  return std::move(*relaxed);
}

}  // namespace orrery::policies
