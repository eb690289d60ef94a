#include "policies/shockwave_window.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
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

/// Rounds of a window, the emptiest first, of equal ones the earliest.
class EmptiestRounds {
 public:
  explicit EmptiestRounds(const std::vector<std::int64_t>& rooms) {
    for (std::size_t round = 0; round < rooms.size(); ++round)
      rounds_.push_back({rooms[round], round});
    std::sort(rounds_.begin(), rounds_.end(), comes_before);
  }

  /// Gives the job so many rounds, as far as they hold it.
  void give(const WindowJob& job, int count, std::span<std::uint8_t> runs) {
    auto taken = rounds_.begin();
    for (; count > 0 && taken != rounds_.end() && taken->room >= job.room; ++taken, --count) {
      taken->room -= job.room;
      runs[taken->round] = 1;
    }
    // Those taken are still in order, and so are the others.
    merged_.resize(rounds_.size());
    std::merge(
        rounds_.begin(), taken, taken, rounds_.end(), merged_.begin(), comes_before);
    rounds_.swap(merged_);
  }

 private:
  struct Round {
    std::int64_t room = 0;
    std::size_t round = 0;
  };

  static bool comes_before(const Round& a, const Round& b) {
    return a.room != b.room ? a.room > b.room : a.round < b.round;
  }

  std::vector<Round> rounds_;
  std::vector<Round> merged_;
};

/// The largest jobs first, of equal ones those of most rounds, each in the emptiest rounds.
void spread(const std::vector<WindowJob>& jobs,
            const WindowPlace& place,
            WindowSchedule& schedule) {
  std::vector<std::size_t> order = indices(jobs.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (jobs[a].room != jobs[b].room) return jobs[a].room > jobs[b].room;
    return schedule.rounds[a] > schedule.rounds[b];
  });
  schedule.runs = WindowRuns(jobs.size(), place.rooms.size(), 0);
  EmptiestRounds rounds(place.rooms);
  for (const std::size_t job : order)
    rounds.give(jobs[job], schedule.rounds[job], schedule.runs[job]);
}

/// Sum over jobs of weight x mean round; what the second program minimises.
double lateness(const WindowRuns& runs, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t job = 0; job < weights.size(); ++job) {
    const int count = runs.count(job);
    for (std::size_t round = 0; round < runs[job].size(); ++round)
      if (runs[job][round] != 0) sum += weights[job] * static_cast<double>(round) / count;
  }
  return sum;
}

/// Improves schedules two rounds at a time. Of the jobs that run in one of two rounds those that
/// weigh most run in the earlier one, as far as both hold what they get.
class TwoRounds {
 public:
  /// `rooms` and `solver` outlive the object.
  TwoRounds(const std::vector<WindowJob>& jobs,
            const std::vector<std::int64_t>& rooms,
            const std::vector<double>& urgencies,
            std::int64_t steps,
            KnapsackSolver& solver)
      : rooms_(rooms),
        order_(indices(jobs.size())),
        steps_(steps),
        rounds_(rooms.size()),
        goes_early_(jobs.size(), 0),
        solver_(solver) {
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
      ranked_.push_back({urgencies[job],
                         urgencies[job] / static_cast<double>(jobs[job].room),
                         static_cast<std::size_t>(size - sizes_.begin())});
    }
  }

  /// Until no two rounds can be improved.
  void improve_all(WindowRuns& runs) {
    constexpr int kSweepsMost = 20;
    begin(runs);
    const std::size_t rounds = rooms_.size();
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
          if (improve(early, late)) {
            changed = true;
            ++changes[early];
            ++changes[late];
          } else {
            last = now;
          }
        }
    }
    end(runs);
  }

 private:
  struct Ranked {
    double urgency = 0;
    double density = 0;    ///< Urgency for each thousandth.
    std::size_t size = 0;  ///< Place of the job's in `sizes_`.
  };

  /// The jobs of a round.
  struct Round {
    std::vector<std::size_t> ranks;  ///< Ascending.
    std::int64_t left = 0;           ///< Room that they leave.
    double least = 0;                ///< Density among them.
    double greatest = 0;
  };

  /// Jobs of one size that run in one of two rounds.
  struct OfSize {
    std::vector<std::size_t> ranks;
    std::vector<double> urgencies;
  };

  void begin(const WindowRuns& runs) {
    for (Round& round : rounds_) round.ranks.clear();
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      const std::span<const std::uint8_t> its = runs[order_[rank]];
      for (std::size_t round = 0; round < rounds_.size(); ++round)
        if (its[round] != 0) rounds_[round].ranks.push_back(rank);
    }
    for (std::size_t round = 0; round < rounds_.size(); ++round) sum_up(round);
  }

  void sum_up(std::size_t at) {
    Round& round = rounds_[at];
    round.left = rooms_[at];
    round.least = std::numeric_limits<double>::infinity();
    round.greatest = 0;
    for (const std::size_t rank : round.ranks) {
      round.left -= sizes_[ranked_[rank].size];
      round.least = std::min(round.least, ranked_[rank].density);
      round.greatest = std::max(round.greatest, ranked_[rank].density);
    }
  }

  void end(WindowRuns& runs) const {
    runs = WindowRuns(order_.size(), rounds_.size(), 0);
    for (std::size_t round = 0; round < rounds_.size(); ++round)
      for (const std::size_t rank : rounds_[round].ranks) runs[order_[rank]][round] = 1;
  }

  /// Whether that changed anything.
  bool improve(std::size_t early, std::size_t late) {
    // A full round of the densest jobs is the best there is: so says the fractional knapsack.
    const bool is_full = rounds_[early].left == 0;
    if (is_full && rounds_[early].least >= rounds_[late].greatest) return false;
    const Compared both = compare(early, late);
    if (!both.moves || (is_full && both.early_least >= both.late_greatest)) return false;
    fill_in(early, late);
    std::int64_t steps = steps_;
    const auto answer = solver_.solve(knapsack_, both.present, steps);
    if (!answer.has_value()) return false;
    std::size_t at = 0;
    for (const OfSize& each : by_size_) {
      if (each.ranks.empty()) continue;
      const auto taken = static_cast<std::size_t>(answer->counts[at++]);
      for (std::size_t i = 0; i < each.ranks.size(); ++i)
        goes_early_[each.ranks[i]] = i < taken ? 1 : 0;
    }
    share_out(rounds_[early].ranks, 1);
    share_out(rounds_[late].ranks, 0);
    sum_up(early);
    sum_up(late);
    return true;
  }

  /// Those in both rounds, and of those in one who goes there, ascending.
  void share_out(std::vector<std::size_t>& ranks, std::uint8_t early) const {
    ranks.clear();
    auto both = in_both_.begin();
    for (const std::size_t rank : in_one_) {
      if (goes_early_[rank] != early) continue;
      while (both != in_both_.end() && *both < rank) ranks.push_back(*both++);
      ranks.push_back(rank);
    }
    ranks.insert(ranks.end(), both, in_both_.end());
  }

  /// What the jobs that run in one of two rounds are like.
  struct Compared {
    bool moves = false;      ///< Some run in the later one.
    double present = 0;      ///< Urgency of those in the earlier one.
    double early_least = std::numeric_limits<double>::infinity();  ///< Density among these,
    double late_greatest = 0;                                      ///< and among the others.
  };

  /// Tells the jobs that run in one of the two from those that run in both.
  Compared compare(std::size_t early, std::size_t late) {
    Compared out;
    in_both_.clear();
    in_one_.clear();
    const std::vector<std::size_t>& first = rounds_[early].ranks;
    const std::vector<std::size_t>& second = rounds_[late].ranks;
    auto b = second.begin();
    const auto take_late = [&] {
      out.moves = true;
      out.late_greatest = std::max(out.late_greatest, ranked_[*b].density);
      in_one_.push_back(*b++);
    };
    for (const std::size_t rank : first) {
      while (b != second.end() && *b < rank) take_late();
      if (b != second.end() && *b == rank) {
        in_both_.push_back(*b++);
        continue;
      }
      in_one_.push_back(rank);
      out.present += ranked_[rank].urgency;
      out.early_least = std::min(out.early_least, ranked_[rank].density);
    }
    while (b != second.end()) take_late();
    return out;
  }

  /// The knapsack of those that run in one of the two.
  void fill_in(std::size_t early, std::size_t late) {
    knapsack_.capacity = rooms_[early];
    knapsack_.least = -rooms_[late];
    for (const std::size_t rank : in_both_) {
      knapsack_.capacity -= sizes_[ranked_[rank].size];
      knapsack_.least += sizes_[ranked_[rank].size];
    }
    for (OfSize& each : by_size_) {
      each.ranks.clear();
      each.urgencies.clear();
    }
    for (const std::size_t rank : in_one_) {
      const Ranked& ranked = ranked_[rank];
      knapsack_.least += sizes_[ranked.size];
      by_size_[ranked.size].ranks.push_back(rank);
      by_size_[ranked.size].urgencies.push_back(ranked.urgency);
    }
    knapsack_.sizes.clear();
    for (std::size_t size = 0; size < sizes_.size(); ++size)
      if (!by_size_[size].ranks.empty())
        knapsack_.sizes.push_back({sizes_[size], by_size_[size].urgencies});
  }

  const std::vector<std::int64_t>& rooms_;
  std::vector<std::size_t> order_;   ///< Of jobs, the most urgent first: [rank].
  std::vector<Ranked> ranked_;       ///< Of the job of each rank.
  std::vector<std::int64_t> sizes_;  ///< Rooms that jobs take, falling.
  std::int64_t steps_;
  std::vector<Round> rounds_;
  std::vector<std::size_t> in_both_;  ///< Of two rounds, as are the next four.
  std::vector<std::size_t> in_one_;
  std::vector<OfSize> by_size_;
  std::vector<std::uint8_t> goes_early_;  ///< [rank], of those in one of the two.
  Knapsack knapsack_;
  KnapsackSolver& solver_;
};

/// Gives jobs their rounds in this order, each the earliest that hold it. Whether all got theirs.
bool give_earliest(const std::vector<WindowJob>& jobs,
                   const std::vector<int>& counts,
                   const std::vector<std::size_t>& order,
                   std::vector<std::int64_t> rooms,
                   WindowRuns& runs) {
  bool all = true;
  runs = WindowRuns(jobs.size(), rooms.size(), 0);
  std::size_t first = 0;  // The first round that is not full.
  for (const std::size_t job : order) {
    const std::span<std::uint8_t> its = runs[job];
    int left = counts[job];
    while (first < rooms.size() && rooms[first] <= 0) ++first;
    for (std::size_t round = first; left > 0 && round < rooms.size(); ++round) {
      if (rooms[round] < jobs[job].room) continue;
      rooms[round] -= jobs[job].room;
      its[round] = 1;
      --left;
    }
    all = all && left == 0;
  }
  return all;
}

/// The most urgent for its size first, each in the earliest rounds; those that then find too few
/// rounds come before all others in another try. Whether that gave all their rounds to all.
bool order_greedily(const std::vector<WindowJob>& jobs,
                    const WindowPlace& place,
                    const std::vector<double>& urgencies,
                    const std::vector<int>& counts,
                    WindowRuns& runs) {
  constexpr int kTries = 10;
  std::vector<double> densities;
  for (std::size_t job = 0; job < jobs.size(); ++job)
    densities.push_back(urgencies[job] / static_cast<double>(jobs[job].room));
  std::vector<std::size_t> order = indices(jobs.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return densities[a] > densities[b];
  });
  for (int tried = 0; tried < kTries; ++tried) {
    if (give_earliest(jobs, counts, order, place.rooms, runs)) return true;
    std::stable_partition(order.begin(), order.end(), [&](std::size_t job) {
      return runs.count(job) < counts[job];
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
                  KnapsackSolver& solver,
                  WindowSchedule& schedule) {
  constexpr std::int64_t kSteps = 1000;  // Of one pair of rounds.
  std::vector<int> counts;
  std::vector<double> urgencies;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    counts.push_back(schedule.runs.count(job));
    urgencies.push_back(weights[job] / std::max(counts.back(), 1));
  }
  TwoRounds two(jobs, place.rooms, urgencies, std::min(settings.steps, kSteps), solver);
  WindowRuns greedy;
  const bool is_greedy = order_greedily(jobs, place, urgencies, counts, greedy);
  if (is_greedy) two.improve_all(greedy);
  two.improve_all(schedule.runs);
  if (is_greedy && lateness(greedy, weights) < lateness(schedule.runs, weights))
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
  out.runs = WindowRuns(jobs.size(), place.rooms.size(), 1);
  return out;
}

/// The first program solved; nothing where its finish times cannot be kept.
std::optional<WindowSchedule> solve_counts(const std::vector<WindowJob>& jobs,
                                           const WindowPlace& place,
                                           const WindowSettings& settings,
                                           const std::vector<double>& weights,
                                           KnapsackSolver& solver) {
  auto counts = best_counts(jobs, place, settings, weights, solver);
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
  std::size_t line = 0;
  return log_utility(progress, line);
}

double log_utility(double progress, std::size_t& line) {
  static const std::array<double, kProgress.size()> values = utilities();
  for (; line + 1 < kProgress.size(); ++line) {
    if (progress > kProgress[line + 1]) continue;
    const double part = (progress - kProgress[line]) / (kProgress[line + 1] - kProgress[line]);
    return values[line] + part * (values[line + 1] - values[line]);
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

WindowSchedule WindowSolver::solve(const std::vector<WindowJob>& jobs,
                                   const WindowPlace& place,
                                   const WindowSettings& settings) {
  invariant(!jobs.empty() && place.rooms.size() == static_cast<std::size_t>(settings.rounds),
            "a window has jobs and a room for each round");
  if (auto all = all_fit(jobs, place)) return std::move(*all);
  if (auto fair = solve_counts(jobs, place, settings, {}, knapsacks_)) return std::move(*fair);
  const std::vector<double> weights = weights_of(jobs, place, settings);
  auto relaxed = solve_counts(jobs, place, settings, weights, knapsacks_);
  invariant(relaxed.has_value(), "a window without finish times has a schedule");
  order_rounds(jobs, place, settings, weights, knapsacks_, *relaxed);
  return std::move(*relaxed);
}

WindowSchedule solve_window(const std::vector<WindowJob>& jobs,
                            const WindowPlace& place,
                            const WindowSettings& settings) {
  return WindowSolver().solve(jobs, place, settings);
}

}  // namespace orrery::policies
