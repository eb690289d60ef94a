#include "policies/shockwave_window.hpp"

#include <algorithm>
#include <array>
#include <bit>
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
    std::merge(rounds_.begin(), taken, taken, rounds_.end(), merged_.begin(), comes_before);
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
    const std::span<const std::uint8_t> its = runs[job];
    int count = runs.count(job);
    const int all = count;
    for (std::size_t round = 0; count > 0; ++round) {
      if (its[round] == 0) continue;
      sum += weights[job] * static_cast<double>(round) / all;
      --count;
    }
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
        solver_(solver) {
    // The densest come first, so that the densest and the least dense of a set are its first and
    // its last. Of one size that is the order of urgencies, which a knapsack wants.
    std::vector<double> densities;
    for (std::size_t job = 0; job < jobs.size(); ++job)
      densities.push_back(urgencies[job] / static_cast<double>(jobs[job].room));
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return densities[a] != densities[b] ? densities[a] > densities[b]
                                          : urgencies[a] > urgencies[b];
    });
    for (const WindowJob& job : jobs) sizes_.push_back(job.room);
    std::sort(sizes_.begin(), sizes_.end(), std::greater<>());
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
    by_size_.resize(sizes_.size());
    for (const std::size_t job : order_) {
      const auto size =
          std::lower_bound(sizes_.begin(), sizes_.end(), jobs[job].room, std::greater<>());
      ranked_.push_back(
          {urgencies[job], densities[job], static_cast<std::size_t>(size - sizes_.begin())});
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
          if (improve(rounds_[early], rounds_[late])) {
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
    std::vector<std::uint64_t> ranks;  ///< As bits.
    std::int64_t left = 0;             ///< Room that they leave.
  };

  /// Jobs of one size that run in one of two rounds.
  struct OfSize {
    std::vector<std::size_t> ranks;
    std::vector<double> urgencies;
  };

  static constexpr std::size_t kBits = 64;

  void begin(const WindowRuns& runs) {
    for (std::size_t round = 0; round < rounds_.size(); ++round) {
      rounds_[round].ranks.assign(order_.size() / kBits + 1, 0);
      rounds_[round].left = rooms_[round];
    }
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      const std::span<const std::uint8_t> its = runs[order_[rank]];
      for (std::size_t round = 0; round < rounds_.size(); ++round) {
        if (its[round] == 0) continue;
        flip(rounds_[round], rank);
        rounds_[round].left -= room_of(rank);
      }
    }
  }

  void end(WindowRuns& runs) const {
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      const std::span<std::uint8_t> its = runs[order_[rank]];
      for (std::size_t round = 0; round < rounds_.size(); ++round)
        its[round] = runs_in(rounds_[round], rank) ? 1 : 0;
    }
  }

  static void flip(Round& round, std::size_t rank) {
    round.ranks[rank / kBits] ^= std::uint64_t{1} << rank % kBits;
  }

  static bool runs_in(const Round& round, std::size_t rank) {
    return (round.ranks[rank / kBits] >> rank % kBits & 1) != 0;
  }

  std::int64_t room_of(std::size_t rank) const { return sizes_[ranked_[rank].size]; }

  /// Whether that changed anything.
  bool improve(Round& early, Round& late) {
    if (!may_improve(early, late)) return false;
    double present = 0;
    compare(early, late, present);
    knapsack_.sizes.clear();
    for (std::size_t size = 0; size < sizes_.size(); ++size)
      if (!by_size_[size].ranks.empty())
        knapsack_.sizes.push_back({sizes_[size], by_size_[size].urgencies});
    std::int64_t steps = steps_;
    const auto answer = solver_.solve(knapsack_, present, steps);
    if (!answer.has_value()) return false;
    std::size_t at = 0;
    for (const OfSize& each : by_size_) {
      if (each.ranks.empty()) continue;
      const auto taken = static_cast<std::size_t>(answer->counts[at++]);
      for (std::size_t i = 0; i < each.ranks.size(); ++i)
        if (runs_in(early, each.ranks[i]) != (i < taken)) exchange(early, late, each.ranks[i]);
    }
    return true;
  }

  /// Moves the job from the one to the other.
  void exchange(Round& early, Round& late, std::size_t rank) {
    const std::int64_t room = runs_in(early, rank) ? room_of(rank) : -room_of(rank);
    flip(early, rank);
    flip(late, rank);
    early.left += room;
    late.left -= room;
  }

  /// Whether other jobs than those in the earlier one can be better. A full round of the densest
  /// jobs is the best there is: so says the fractional knapsack.
  bool may_improve(const Round& early, const Round& late) const {
    std::size_t word = 0;
    while (word < late.ranks.size() && (late.ranks[word] & ~early.ranks[word]) == 0) ++word;
    if (word == late.ranks.size()) return false;
    if (early.left != 0) return true;
    const std::size_t densest = word * kBits + bit_of(late.ranks[word] & ~early.ranks[word]);
    for (word = early.ranks.size(); word > 0; --word) {
      const std::uint64_t of_early = early.ranks[word - 1] & ~late.ranks[word - 1];
      if (of_early == 0) continue;
      const std::size_t least_dense = word * kBits - 1 - std::countl_zero(of_early);
      return ranked_[least_dense].density < ranked_[densest].density;
    }
    return false;
  }

  static std::size_t bit_of(std::uint64_t bits) {
    return static_cast<std::size_t>(std::countr_zero(bits));
  }

  /// Fills in the knapsack of the jobs that run in one of the two, and the urgency of those in the
  /// earlier one.
  void compare(const Round& early, const Round& late, double& present) {
    for (OfSize& each : by_size_) {
      each.ranks.clear();
      each.urgencies.clear();
    }
    knapsack_.capacity = early.left;
    knapsack_.least = -late.left;
    for (std::size_t word = 0; word < early.ranks.size(); ++word) {
      const std::uint64_t in_early = early.ranks[word];
      for (std::uint64_t left = in_early ^ late.ranks[word]; left != 0; left &= left - 1) {
        const std::size_t bit = bit_of(left);
        const Ranked& ranked = ranked_[word * kBits + bit];
        OfSize& alike = by_size_[ranked.size];
        alike.ranks.push_back(word * kBits + bit);
        alike.urgencies.push_back(ranked.urgency);
        if ((in_early >> bit & 1) == 0) continue;
        knapsack_.capacity += sizes_[ranked.size];
        knapsack_.least += sizes_[ranked.size];
        present += ranked.urgency;
      }
    }
  }

  const std::vector<std::int64_t>& rooms_;
  std::vector<std::size_t> order_;   ///< Of jobs, the densest first: [rank].
  std::vector<Ranked> ranked_;       ///< Of the job of each rank.
  std::vector<std::int64_t> sizes_;  ///< Rooms that jobs take, falling.
  std::int64_t steps_;
  std::vector<Round> rounds_;
  std::vector<OfSize> by_size_;  ///< Of two rounds, as is the next.
  Knapsack knapsack_;
  KnapsackSolver& solver_;
};

/// Gives jobs their rounds in this order, each the earliest that hold it. Notes for each whether it
/// got too few; whether none did.
bool give_earliest(const std::vector<WindowJob>& jobs,
                   const std::vector<int>& counts,
                   const std::vector<std::size_t>& order,
                   std::vector<std::int64_t> rooms,
                   WindowRuns& runs,
                   std::vector<std::uint8_t>& too_few) {
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
    too_few[job] = left > 0 ? 1 : 0;
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
  std::vector<std::uint8_t> too_few(jobs.size(), 0);
  for (int tried = 0; tried < kTries; ++tried) {
    if (give_earliest(jobs, counts, order, place.rooms, runs, too_few)) return true;
    std::stable_partition(
        order.begin(), order.end(), [&](std::size_t job) { return too_few[job] != 0; });
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
