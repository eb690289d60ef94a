#include "policies/shockwave_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "policies/concave_knapsack.hpp"

namespace orrery::policies {
namespace {

/// What rounds do for one job.
struct JobRounds {
  double present = 0;         ///< What its progress so far counts.
  std::vector<double> gains;  ///< Of round n + 1, never rising.
  std::vector<double> rests;  ///< Seconds left after n rounds, never rising.
  int least = 0;              ///< Rounds that it has to have.
};

/// Sums over a prefix of places, each of which can be taken out.
class PrefixSums {
 public:
  struct Unit {
    std::int64_t size = 0;
    double gain = 0;
  };

  explicit PrefixSums(std::vector<Unit> units)
      : units_(std::move(units)), tree_(units_.size() + 1) {
    for (std::size_t i = 0; i < units_.size(); ++i) add(i, units_[i].size, units_[i].gain);
  }

  void take_out(std::size_t at) {
    add(at, -units_[at].size, -units_[at].gain);
    units_[at] = {};
  }

  /// Gain of what fits from the front, the first that does not fit in part.
  double fractional(std::int64_t capacity) const {
    std::size_t at = 0;
    double gain = 0;
    for (std::size_t step = std::bit_floor(tree_.size()); step > 0; step /= 2) {
      if (at + step >= tree_.size() || tree_[at + step].size > capacity) continue;
      at += step;
      capacity -= tree_[at].size;
      gain += tree_[at].gain;
    }
    if (at == units_.size() || units_[at].size == 0) return gain;
    return gain +
           units_[at].gain * static_cast<double>(capacity) / static_cast<double>(units_[at].size);
  }

 private:
  void add(std::size_t at, std::int64_t size, double gain) {
    for (std::size_t i = at + 1; i < tree_.size(); i += i & (~i + 1)) {
      tree_[i].size += size;
      tree_[i].gain += gain;
    }
  }

  std::vector<Unit> units_;
  std::vector<Unit> tree_;  ///< Binary indexed, from 1.
};

class CountProgram {
 public:
  CountProgram(const std::vector<WindowJob>& jobs,
               const WindowPlace& place,
               const WindowSettings& settings,
               const std::vector<double>& weights)
      : jobs_(jobs), settings_(settings) {
    room_ = std::accumulate(place.rooms.begin(), place.rooms.end(), std::int64_t{0});
    const std::int64_t widest = *std::max_element(place.rooms.begin(), place.rooms.end());
    rounds_.resize(jobs.size());
    for (std::size_t i = 0; i < jobs.size() && possible_; ++i) {
      rounds_[i].rests = rests_of(jobs[i]);
      large_.push_back(2 * jobs[i].room > widest);
      if (!weights.empty()) continue;
      const double allowed = rest_allowed(jobs[i], place, settings);
      const auto least = least_for(i, allowed + 1e-7);
      possible_ = least.has_value();
      rounds_[i].least = least.value_or(0);
    }
    for (std::size_t i = 0; i < jobs.size() && possible_; ++i)
      count_gains(jobs[i], weights.empty() ? 1 : weights[i], rounds_[i]);
  }

  std::optional<RoundCounts> solve() {
    if (!possible_) return std::nullopt;
    std::vector<Rest> rests = longest_rests();
    std::stable_sort(
        rests.begin(), rests.end(), [](const Rest& a, const Rest& b) { return a.bound > b.bound; });
    double best = -std::numeric_limits<double>::infinity();
    std::optional<RoundCounts> out;
    std::int64_t steps = std::max<std::int64_t>(settings_.steps, 0);
    for (const Rest& rest : rests) {
      if (out.has_value() && (rest.bound <= best + 1e-12 * std::fabs(best) || steps <= 0)) break;
      try_rest(rest.longest_s, best, steps, out);
    }
    return out;
  }

 private:
  /// A value of the longest rest, and what can come of it at most.
  struct Rest {
    double longest_s = 0;
    double bound = 0;
  };

  double epochs_in(const WindowJob& job, int rounds) const {
    return std::min<double>(job.epochs - job.done, rounds * settings_.round_s / job.mean_s);
  }

  std::vector<double> rests_of(const WindowJob& job) const {
    std::vector<double> out;
    out.reserve(static_cast<std::size_t>(settings_.rounds) + 1);
    for (int n = 0; n <= settings_.rounds; ++n) {
      const double rest = std::max(job.remaining_s - epochs_in(job, n) * job.mean_s, 0.0);
      out.push_back(out.empty() ? rest : std::min(rest, out.back()));
    }
    return out;
  }

  void count_gains(const WindowJob& job, double weight, JobRounds& out) const {
    const double scale =
        weight / (static_cast<double>(jobs_.size()) * static_cast<double>(settings_.rounds));
    double last = log_utility(static_cast<double>(job.done) / job.epochs);
    out.present = scale * last;
    out.gains.reserve(static_cast<std::size_t>(settings_.rounds));
    for (int n = 1; n <= settings_.rounds; ++n) {
      const double utility =
          log_utility(std::min((job.done + epochs_in(job, n)) / job.epochs, 1.0));
      // Concave but for rounding: the order of rounds must not depend on it.
      const double gain = std::max(scale * (utility - last), 0.0);
      out.gains.push_back(out.gains.empty() ? gain : std::min(gain, out.gains.back()));
      last = utility;
    }
  }

  /// The least rounds after which no more than `rest_s` are left.
  std::optional<int> least_for(std::size_t job, double rest_s) const {
    const std::vector<double>& rests = rounds_[job].rests;
    const auto found =
        std::find_if(rests.begin(), rests.end(), [&](double rest) { return rest <= rest_s; });
    if (found == rests.end()) return std::nullopt;
    return std::max(static_cast<int>(found - rests.begin()), rounds_[job].least);
  }

  /// Every value that the longest rest can take, from the top.
  std::vector<Rest> longest_rests() const {
    std::vector<std::vector<std::size_t>> places(jobs_.size());
    PrefixSums others = by_density(places);
    std::vector<int> forced(jobs_.size(), 0);
    std::int64_t left = room_;
    std::int64_t large_left = settings_.rounds;
    double gain = present();
    const auto force = [&](std::size_t job, int rounds) {
      for (int& n = forced[job]; n < rounds; ++n) {
        const auto at = static_cast<std::size_t>(n);
        others.take_out(places[job][at]);
        gain += rounds_[job].gains[at];
        left -= jobs_[job].room;
        large_left -= large_[job] ? 1 : 0;
      }
    };
    std::vector<std::pair<double, std::size_t>> heap;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      force(job, rounds_[job].least);
      heap.emplace_back(rounds_[job].rests[static_cast<std::size_t>(forced[job])], job);
    }
    std::make_heap(heap.begin(), heap.end());
    std::vector<Rest> out;
    while (left >= 0 && large_left >= 0) {
      const double longest_s = heap.front().first;
      out.push_back({longest_s, gain + others.fractional(left) - worst(longest_s)});
      while (heap.front().first >= longest_s) {
        std::pop_heap(heap.begin(), heap.end());
        const std::size_t job = heap.back().second;
        const std::vector<double>& rests = rounds_[job].rests;
        const auto less =
            std::find_if(rests.begin(), rests.end(), [&](double rest) { return rest < longest_s; });
        if (less == rests.end()) return out;
        force(job, static_cast<int>(less - rests.begin()));
        heap.back().first = *less;
        std::push_heap(heap.begin(), heap.end());
      }
    }
    return out;
  }

  double present() const {
    double sum = 0;
    for (const JobRounds& job : rounds_) sum += job.present;
    return sum;
  }

  double worst(double longest_s) const { return settings_.makespan_weight * longest_s; }

  /// All rounds of all jobs by gain over size; where each of them stands.
  PrefixSums by_density(std::vector<std::vector<std::size_t>>& places) const {
    struct Round {
      std::size_t job;
      std::size_t round;
      double density;
    };

    std::vector<Round> all;
    for (std::size_t job = 0; job < jobs_.size(); ++job)
      for (std::size_t n = 0; n < rounds_[job].gains.size(); ++n)
        all.push_back({job, n, rounds_[job].gains[n] / static_cast<double>(jobs_[job].room)});
    std::stable_sort(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.density > b.density; });
    std::vector<PrefixSums::Unit> units;
    for (const Round& each : all) {
      places[each.job].push_back(units.size());
      units.push_back({jobs_[each.job].room, rounds_[each.job].gains[each.round]});
    }
    return PrefixSums(std::move(units));
  }

  /// A round that a job may get beyond those that it has to.
  struct Free {
    std::size_t job = 0;
    double gain = 0;
  };

  /// The best counts that leave no job more than this, where they are above `best`.
  void try_rest(double longest_s,
                double& best,
                std::int64_t& steps,
                std::optional<RoundCounts>& out) const {
    RoundCounts counts;
    Knapsack knapsack;
    knapsack.capacity = room_;
    knapsack.limited_most = settings_.rounds;
    double base = present() - worst(longest_s);
    std::map<std::int64_t, std::vector<Free>, std::greater<>> by_size;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      const int least = least_for(job, longest_s).value_or(settings_.rounds);
      counts.rounds.push_back(least);
      knapsack.capacity -= least * jobs_[job].room;
      knapsack.limited_most -= large_[job] ? least : 0;
      const std::vector<double>& gains = rounds_[job].gains;
      for (std::size_t n = 0; n < gains.size(); ++n) {
        if (n < static_cast<std::size_t>(least)) {
          base += gains[n];
        } else if (gains[n] > 0) {
          by_size[jobs_[job].room].push_back({job, gains[n]});
        }
      }
    }
    add_sizes(by_size, knapsack);
    const auto sizes = static_cast<std::int64_t>(knapsack.sizes.size());
    std::int64_t left = std::max(steps, out.has_value() ? 0 : sizes);
    const double beat = out.has_value() ? best - base : -1;
    const auto answer = policies::solve(knapsack, beat, left);
    steps = std::min(steps, left) - 1;
    if (!answer.has_value()) return;
    best = base + answer->value;
    counts.objective = best;
    std::size_t size = 0;
    for (const auto& [room, frees] : by_size) {
      const auto taken = static_cast<std::size_t>(answer->counts[size++]);
      for (std::size_t i = 0; i < taken; ++i) ++counts.rounds[frees[i].job];
    }
    out = std::move(counts);
  }

  void add_sizes(std::map<std::int64_t, std::vector<Free>, std::greater<>>& by_size,
                 Knapsack& knapsack) const {
    for (auto& [room, frees] : by_size) {
      std::stable_sort(
          frees.begin(), frees.end(), [](const Free& a, const Free& b) { return a.gain > b.gain; });
      KnapsackSize size{room, {}};
      for (const Free& free : frees) size.gains.push_back(free.gain);
      if (large_[frees.front().job]) ++knapsack.limited;
      knapsack.sizes.push_back(std::move(size));
    }
  }

  const std::vector<WindowJob>& jobs_;
  const WindowSettings& settings_;
  std::vector<JobRounds> rounds_;
  std::vector<bool> large_;  ///< Takes more than half a round: two such jobs cannot share one.
  std::int64_t room_ = 0;
  bool possible_ = true;
};

}  // namespace

std::optional<RoundCounts> best_counts(const std::vector<WindowJob>& jobs,
                                       const WindowPlace& place,
                                       const WindowSettings& settings,
                                       const std::vector<double>& weights) {
  return CountProgram(jobs, place, settings, weights).solve();
}

}  // namespace orrery::policies
