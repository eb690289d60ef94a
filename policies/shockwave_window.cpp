#include "policies/shockwave_window.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"
#include "policies/concave_knapsack.hpp"
#include "policies/shockwave_counts.hpp"

namespace orrery::policies {
namespace {

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

/// Which of two rounds jobs run in that run in one of them: those that weigh most in the earlier
/// one, as far as both hold what they get.
class TwoRounds {
 public:
  TwoRounds(const std::vector<WindowJob>& jobs,
            const std::vector<std::int64_t>& rooms,
            const std::vector<double>& urgencies,
            std::int64_t steps,
            Runs& runs)
      : rooms_(rooms),
        order_(indices(jobs.size())),
        steps_(steps),
        runs_(runs),
        in_round_(rooms.size()) {
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return urgencies[a] > urgencies[b];
    });
    for (const WindowJob& job : jobs) sizes_.push_back(job.room);
    std::sort(sizes_.begin(), sizes_.end(), std::greater<>());
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
    by_size_.resize(sizes_.size());
    for (const std::size_t job : order_) {
      const auto size =
          std::lower_bound(sizes_.begin(), sizes_.end(), jobs[job].room, std::greater<>());
      ranked_.push_back({urgencies[job], static_cast<std::size_t>(size - sizes_.begin())});
    }
    for (std::size_t rank = 0; rank < order_.size(); ++rank)
      for (std::size_t round = 0; round < rooms.size(); ++round)
        if (runs[order_[rank]][round] != 0) in_round_[round].push_back(rank);
  }

  /// Whether that changed anything.
  bool improve(std::size_t early, std::size_t late) {
    Knapsack knapsack;
    knapsack.capacity = rooms_[early];
    std::int64_t late_room = rooms_[late];
    double present = 0;
    bool moves = false;
    for (std::vector<std::size_t>& each : by_size_) each.clear();
    both_.clear();
    const std::vector<std::size_t>& first = in_round_[early];
    const std::vector<std::size_t>& second = in_round_[late];
    for (auto a = first.begin(), b = second.begin(); a != first.end() || b != second.end();) {
      const bool in_early = a != first.end() && (b == second.end() || *a <= *b);
      const bool in_late = b != second.end() && (a == first.end() || *b <= *a);
      const std::size_t rank = in_early ? *a : *b;
      const std::int64_t room = sizes_[ranked_[rank].size];
      a += in_early ? 1 : 0;
      b += in_late ? 1 : 0;
      if (in_early && in_late) {
        both_.push_back(rank);
        knapsack.capacity -= room;
        late_room -= room;
        continue;
      }
      by_size_[ranked_[rank].size].push_back(rank);
      knapsack.least += room;
      present += in_early ? ranked_[rank].urgency : 0;
      moves = moves || in_late;
    }
    if (!moves) return false;
    knapsack.least -= late_room;
    for (std::size_t size = 0; size < sizes_.size(); ++size) {
      if (by_size_[size].empty()) continue;
      KnapsackSize units{sizes_[size], {}};
      units.gains.reserve(by_size_[size].size());
      for (const std::size_t rank : by_size_[size]) units.gains.push_back(ranked_[rank].urgency);
      knapsack.sizes.push_back(std::move(units));
    }
    std::int64_t steps = steps_;
    const auto answer = policies::solve(knapsack, present, steps);
    if (!answer.has_value()) return false;
    in_round_[early] = both_;
    in_round_[late] = both_;
    std::size_t at = 0;
    for (const std::vector<std::size_t>& each : by_size_) {
      if (each.empty()) continue;
      const auto taken = static_cast<std::size_t>(answer->counts[at++]);
      for (std::size_t i = 0; i < each.size(); ++i) {
        const bool is_early = i < taken;
        runs_[order_[each[i]]][early] = is_early ? 1 : 0;
        runs_[order_[each[i]]][late] = is_early ? 0 : 1;
        in_round_[is_early ? early : late].push_back(each[i]);
      }
    }
    std::sort(in_round_[early].begin(), in_round_[early].end());
    std::sort(in_round_[late].begin(), in_round_[late].end());
    return true;
  }

 private:
  struct Ranked {
    double urgency = 0;
    std::size_t size = 0;  ///< Place of the job's in `sizes_`.
  };

  const std::vector<std::int64_t>& rooms_;
  std::vector<std::size_t> order_;   ///< Of jobs, the most urgent first: [rank].
  std::vector<Ranked> ranked_;       ///< Of the job of each rank.
  std::vector<std::int64_t> sizes_;  ///< Rooms that jobs take, falling.
  std::int64_t steps_;
  Runs& runs_;
  std::vector<std::vector<std::size_t>> in_round_;  ///< Ranks of those that run in it, ascending.
  std::vector<std::vector<std::size_t>> by_size_;   ///< Ranks; kept for its memory, as is the next.
  std::vector<std::size_t> both_;
};

/// Improves two rounds at a time until no two can be improved.
void improve_by_two(const std::vector<WindowJob>& jobs,
                    const WindowPlace& place,
                    const WindowSettings& settings,
                    const std::vector<double>& urgencies,
                    Runs& runs) {
  constexpr int kSweepsMost = 20;
  constexpr std::int64_t kSteps = 1000;
  TwoRounds two(jobs, place.rooms, urgencies, std::min(settings.steps, kSteps), runs);
  const std::size_t rounds = place.rooms.size();
  // Two rounds that could not be improved cannot be while neither of them changes.
  std::vector<int> changes(rounds, 0);                                  // Of each round.
  std::vector<std::pair<int, int>> settled(rounds * rounds, {-1, -1});  // At these of the two.
  bool changed = true;
  for (int sweep = 0; changed && sweep < kSweepsMost; ++sweep) {
    changed = false;
    for (std::size_t early = 0; early < rounds; ++early)
      for (std::size_t late = early + 1; late < rounds; ++late) {
        std::pair<int, int>& last = settled[early * rounds + late];
        const std::pair<int, int> now(changes[early], changes[late]);
        if (last == now) continue;
        if (two.improve(early, late)) {
          changed = true;
          ++changes[early];
          ++changes[late];
        } else {
          last = now;
        }
      }
  }
}

/// The most urgent for its size first, each in the earliest rounds; those that then find too few
/// rounds come before all others in another try. Whether that gave all their rounds to all.
bool order_greedily(const std::vector<WindowJob>& jobs,
                    const WindowPlace& place,
                    const std::vector<double>& urgencies,
                    const std::vector<int>& counts,
                    Runs& runs) {
  constexpr int kTries = 10;
  const auto density = [&](std::size_t job) {
    return urgencies[job] / static_cast<double>(jobs[job].room);
  };
  std::vector<std::size_t> order = indices(jobs.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return density(a) > density(b);
  });
  const auto in_turn = [](std::int64_t, std::int64_t) { return false; };
  for (int tried = 0; tried < kTries; ++tried) {
    if (give_rounds(jobs, counts, order, place.rooms, in_turn, runs)) return true;
    std::stable_partition(order.begin(), order.end(), [&](std::size_t job) {
      return count_of(runs[job]) < counts[job];
    });
  }
  return false;
}

/// The same numbers of rounds, weighted jobs as early as can be: the better of the schedule as it
/// is and of a greedy order, each improved two rounds at a time.
void order_rounds(const std::vector<WindowJob>& jobs,
                  const WindowPlace& place,
                  const WindowSettings& settings,
                  const std::vector<double>& weights,
                  WindowSchedule& schedule) {
  std::vector<int> counts;
  std::vector<double> urgencies;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    counts.push_back(count_of(schedule.runs[job]));
    urgencies.push_back(weights[job] / std::max(counts.back(), 1));
  }
  Runs greedy;
  if (order_greedily(jobs, place, urgencies, counts, greedy)) {
    improve_by_two(jobs, place, settings, urgencies, greedy);
  } else {
    greedy.clear();
  }
  improve_by_two(jobs, place, settings, urgencies, schedule.runs);
  if (!greedy.empty() && lateness(greedy, weights) < lateness(schedule.runs, weights))
    schedule.runs = std::move(greedy);
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

/// The first program solved; nothing where its finish times cannot be kept.
std::optional<WindowSchedule> solve_counts(const std::vector<WindowJob>& jobs,
                                           const WindowPlace& place,
                                           const WindowSettings& settings,
                                           const std::vector<double>& weights) {
  auto counts = best_counts(jobs, place, settings, weights);
  if (!counts.has_value()) return std::nullopt;
  WindowSchedule out;
  out.path = weights.empty() ? WindowPath::Fair : WindowPath::Relaxed;
  out.rounds = std::move(counts->rounds);
  out.objective = counts->objective;
  spread(jobs, place, out);
  return out;
}

}  // namespace

double log_utility(double progress) {
  static const std::array<double, kProgress.size()> values = utilities();
  for (std::size_t i = 1; i < kProgress.size(); ++i) {
    if (progress > kProgress[i]) continue;
    const double part = (progress - kProgress[i - 1]) / (kProgress[i] - kProgress[i - 1]);
    return values[i - 1] + part * (values[i] - values[i - 1]);
  }
  return values.back();
}

double rest_allowed(const WindowJob& job,
                    const WindowPlace& place,
                    const WindowSettings& settings) {
  const double end_s = settings.round_s * static_cast<double>(place.round + settings.rounds);
  return (settings.rho_max * job.fair_finish_s - end_s) * place.share;
}

void FairFinish::add(std::int64_t round, double estimate_s) {
  if (since >= 0) {
    const auto span = static_cast<double>(round - since);
    sum += span * last_s;
    rounds += span;
  }
  since = round;
  last_s = estimate_s;
}

double FairFinish::at(std::int64_t round) const {
  invariant(since >= 0, "a job has an estimate before it is asked for");
  constexpr double momentum = 0.9;
  const auto span = static_cast<double>(round - since);
  const double passed = rounds + span;
  const double mean = passed > 0 ? (sum + span * last_s) / passed : last_s;
  return momentum * mean + (1 - momentum) * last_s;
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
  if (auto fair = solve_counts(jobs, place, settings, {})) return std::move(*fair);
  const std::vector<double> weights = weights_of(jobs, place, settings);
  auto relaxed = solve_counts(jobs, place, settings, weights);
  invariant(relaxed.has_value(), "a window without finish times has a schedule");
  order_rounds(jobs, place, settings, weights, *relaxed);
  return std::move(*relaxed);
}

}  // namespace orrery::policies
