#include "policies/shockwave_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "policies/concave_knapsack.hpp"

namespace orrery::policies {
namespace {

/// Epochs done in so many rounds.
double epochs_in(const WindowJob& job, int rounds, const WindowSettings& settings) {
  return std::min<double>(job.epochs - job.done, rounds * settings.round_s / job.mean_s);
}

/// Seconds that are left after so many epochs; never rises with them.
double rest_s(const WindowJob& job, double epochs) {
  return std::max(job.remaining_s - epochs * job.mean_s, 0.0);
}

/// Sums over a prefix of places, each of which can be taken out. A binary indexed tree, of which
/// only the sums are made that are asked for.
class PrefixSums {
 public:
  struct Unit {
    std::int64_t size = 0;
    double gain = 0;
  };

  explicit PrefixSums(std::vector<Unit> units)
      : units_(std::move(units)), sums_(units_.size() + 1), is_made_(units_.size() + 1, 0) {}

  void take_out(std::size_t at) {
    for (std::size_t i = at + 1; i < sums_.size(); i += i & (~i + 1)) {
      make(i);
      sums_[i].size -= units_[at].size;
      sums_[i].gain -= units_[at].gain;
    }
    units_[at] = {};
  }

  /// Gain of what fits from the front, the first that does not fit in part.
  double fractional(std::int64_t capacity) {
    std::size_t at = 0;
    double gain = 0;
    for (std::size_t step = std::bit_floor(sums_.size()); step > 0; step /= 2) {
      if (at + step >= sums_.size() || make(at + step).size > capacity) continue;
      at += step;
      capacity -= sums_[at].size;
      gain += sums_[at].gain;
    }
    if (at == units_.size() || units_[at].size == 0) return gain;
    return gain +
           units_[at].gain * static_cast<double>(capacity) / static_cast<double>(units_[at].size);
  }

 private:
  /// The sum of the places that end with the i-th, counted from 1. It is made before any of them is
  /// taken out.
  const Unit& make(std::size_t i) {
    if (is_made_[i] != 0) return sums_[i];
    Unit sum;
    for (std::size_t at = i - (i & (~i + 1)); at < i; ++at) {
      sum.size += units_[at].size;
      sum.gain += units_[at].gain;
    }
    is_made_[i] = 1;
    return sums_[i] = sum;
  }

  std::vector<Unit> units_;
  std::vector<Unit> sums_;
  std::vector<std::uint8_t> is_made_;
};

/// All rounds of all jobs by gain over size.
struct RoundOrder {
  /// A round that a job may get, and what it gains.
  struct Round {
    std::uint32_t job = 0;
    std::uint32_t round = 0;
    double gain = 0;
  };

  std::vector<Round> rounds;
  std::vector<std::uint32_t> places;  ///< [job x rounds + round]: where each of them stands.
};

class CountProgram {
 public:
  CountProgram(const std::vector<WindowJob>& jobs,
               const WindowPlace& place,
               const WindowSettings& settings,
               const std::vector<double>& weights,
               KnapsackSolver& solver)
      : jobs_(jobs),
        settings_(settings),
        window_(static_cast<std::size_t>(settings.rounds)),
        solver_(solver) {
    room_ = std::accumulate(place.rooms.begin(), place.rooms.end(), std::int64_t{0});
    const std::int64_t widest = *std::max_element(place.rooms.begin(), place.rooms.end());
    std::vector<double> allowed;
    if (weights.empty())
      for (const WindowJob& job : jobs) {
        allowed.push_back(rest_allowed(job, place, settings) + 1e-7);
        // Nearly always some job has too much left, and then nothing else is worth knowing.
        possible_ = rest_s(job, epochs_in(job, settings.rounds, settings)) <= allowed.back();
        if (!possible_) return;
      }
    look_ahead();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      large_.push_back(2 * jobs[i].room > widest);
      least_.push_back(0);
      if (!weights.empty()) continue;
      const auto least = least_for(i, allowed[i]);
      possible_ = least.has_value();
      if (!possible_) return;
      least_[i] = *least;
    }
    present_.reserve(jobs.size());
    gains_.resize(jobs.size() * window_);
    densities_.resize(jobs.size() * window_);
    for (std::size_t i = 0; i < jobs.size(); ++i) add_gains(i, weights.empty() ? 1 : weights[i]);
    sort_rounds();
  }

  std::optional<RoundCounts> solve() {
    if (!possible_) return std::nullopt;
    std::vector<Rest> rests = longest_rests();
    std::stable_sort(
        rests.begin(), rests.end(), [](const Rest& a, const Rest& b) { return a.bound > b.bound; });
    sort_sizes();
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

  /// The rounds of jobs of one size.
  struct OfSize {
    std::int64_t room = 0;
    std::vector<RoundOrder::Round> rounds;  ///< That gain something, by gain.
    std::vector<std::uint32_t> free_jobs;   ///< Of a try: whose rounds are not forced.
    std::vector<double> free_gains;         ///< Of the same.
  };

  void look_ahead() {
    made_.reserve(jobs_.size());  // They are pointed at.
    ahead_.reserve(jobs_.size());
    for (const WindowJob& job : jobs_) {
      if (job.ahead == nullptr) made_.push_back(rounds_ahead(job, settings_));
      ahead_.push_back(job.ahead == nullptr ? &made_.back() : job.ahead);
    }
  }

  /// What each round gains, never rising.
  void add_gains(std::size_t at, double weight) {
    const double scale =
        weight / (static_cast<double>(jobs_.size()) * static_cast<double>(settings_.rounds));
    present_.push_back(scale * ahead_[at]->utility);
    const std::vector<double>& ahead = ahead_[at]->gains;
    const auto room = static_cast<double>(jobs_[at].room);
    double* const gains = &gains_[at * window_];
    double* const densities = &densities_[at * window_];
    double last = std::numeric_limits<double>::infinity();
    for (std::size_t n = 0; n < window_; ++n) {
      // Concave but for rounding: the order of rounds must not depend on it.
      last = std::min(std::max(scale * ahead[n], 0.0), last);
      gains[n] = last;
      densities[n] = last / room;
    }
  }

  const double* rests_of(std::size_t job) const { return ahead_[job]->rests_s.data(); }

  double gain_of(std::size_t job, std::size_t round) const { return gains_[job * window_ + round]; }

  /// The least rounds after which no more than `rest_s` are left.
  std::optional<int> least_for(std::size_t job, double rest_s) const {
    const double* const rests = rests_of(job);
    const double* const found = std::partition_point(
        rests, rests + window_ + 1, [&](double rest) { return rest > rest_s; });
    if (found == rests + window_ + 1) return std::nullopt;
    return std::max(static_cast<int>(found - rests), least_[job]);
  }

  /// Every value that the longest rest can take, from the top.
  std::vector<Rest> longest_rests() const {
    PrefixSums others = sums_of(order_);
    std::vector<int> forced(jobs_.size(), 0);
    std::int64_t left = room_;
    std::int64_t large_left = settings_.rounds;
    double gain = present();
    const auto force = [&](std::size_t job, int rounds) {
      for (int& n = forced[job]; n < rounds; ++n) {
        const auto at = static_cast<std::size_t>(n);
        others.take_out(order_.places[job * window_ + at]);
        gain += gain_of(job, at);
        left -= jobs_[job].room;
        large_left -= large_[job] ? 1 : 0;
      }
    };
    std::vector<std::pair<double, std::size_t>> heap;
    heap.reserve(jobs_.size());
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      force(job, least_[job]);
      heap.emplace_back(rests_of(job)[forced[job]], job);
    }
    std::make_heap(heap.begin(), heap.end());
    std::vector<Rest> out;
    while (left >= 0 && large_left >= 0) {
      const double longest_s = heap.front().first;
      out.push_back({longest_s, gain + others.fractional(left) - worst(longest_s)});
      while (heap.front().first >= longest_s) {
        std::pop_heap(heap.begin(), heap.end());
        const std::size_t job = heap.back().second;
        const double* const rests = rests_of(job);
        const double* const end = rests + window_ + 1;
        const double* const less =
            std::find_if(rests + forced[job], end, [&](double rest) { return rest < longest_s; });
        if (less == end) return out;
        force(job, static_cast<int>(less - rests));
        heap.back().first = *less;
        std::push_heap(heap.begin(), heap.end());
      }
    }
    return out;
  }

  double present() const {
    double sum = 0;
    for (const double each : present_) sum += each;
    return sum;
  }

  double worst(double longest_s) const { return settings_.makespan_weight * longest_s; }

  /// Puts all rounds in order by gain over size, of equal ones those of the first job. The rounds
  /// of a job are in order already: from the job whose next one is best they are taken as long as
  /// that is so.
  void sort_rounds() {
    struct Next {
      double density = 0;
      std::uint32_t job = 0;
      std::uint32_t round = 0;
    };

    const auto next_of = [&](std::uint32_t job, std::uint32_t round) {
      return Next{densities_[job * window_ + round], job, round};
    };
    const auto comes_after = [](const Next& a, const Next& b) {
      return a.density != b.density ? a.density < b.density : a.job > b.job;
    };
    order_.rounds.resize(gains_.size());
    order_.places.resize(gains_.size());
    std::uint32_t place = 0;
    const auto put = [&](std::uint32_t job, std::uint32_t round) {
      order_.rounds[place] = {job, round, gain_of(job, round)};
      order_.places[job * window_ + round] = place++;
    };
    const auto jobs = static_cast<std::uint32_t>(jobs_.size());
    std::vector<std::uint32_t> taken(jobs, 0);
    std::vector<Next> heap;
    heap.reserve(jobs);
    for (std::uint32_t job = 0; job < jobs; ++job) heap.push_back(next_of(job, 0));
    std::make_heap(heap.begin(), heap.end(), comes_after);
    while (!heap.empty() && heap.front().density > 0) {
      std::pop_heap(heap.begin(), heap.end(), comes_after);
      Next next = heap.back();
      heap.pop_back();
      do {
        put(next.job, next.round);
        taken[next.job] = ++next.round;
        next.density = -1;
        if (next.round < window_) next = next_of(next.job, next.round);
      } while (next.density > 0 && (heap.empty() || comes_after(heap.front(), next)));
      if (next.density > 0) {
        heap.push_back(next);
        std::push_heap(heap.begin(), heap.end(), comes_after);
      }
    }
    for (std::uint32_t job = 0; job < jobs; ++job)
      for (std::uint32_t round = taken[job]; round < window_; ++round) put(job, round);
  }

  PrefixSums sums_of(const RoundOrder& order) const {
    std::vector<PrefixSums::Unit> units;
    units.reserve(order.rounds.size());
    for (const RoundOrder::Round& each : order.rounds)
      units.push_back({jobs_[each.job].room, each.gain});
    return PrefixSums(std::move(units));
  }

  /// Puts the rounds that gain something in order by size, the largest first, and gain.
  void sort_sizes() {
    std::vector<std::int64_t> rooms;
    for (const WindowJob& job : jobs_)
      if (std::find(rooms.begin(), rooms.end(), job.room) == rooms.end()) rooms.push_back(job.room);
    std::sort(rooms.begin(), rooms.end(), std::greater<>());
    sizes_.resize(rooms.size());
    std::vector<std::size_t> size_of;
    for (const WindowJob& job : jobs_)
      size_of.push_back(static_cast<std::size_t>(
          std::lower_bound(rooms.begin(), rooms.end(), job.room, std::greater<>()) -
          rooms.begin()));
    for (std::size_t i = 0; i < rooms.size(); ++i) sizes_[i].room = rooms[i];
    for (OfSize& size : sizes_) size.rounds.reserve(order_.rounds.size());
    for (const RoundOrder::Round& each : order_.rounds) {
      if (each.gain > 0) sizes_[size_of[each.job]].rounds.push_back(each);
    }
    // The order by gain over size is one by gain, but where the division has rounded.
    for (OfSize& size : sizes_)
      for (std::size_t at = 1; at < size.rounds.size(); ++at)
        for (std::size_t i = at; i > 0 && size.rounds[i - 1].gain < size.rounds[i].gain; --i)
          std::swap(size.rounds[i - 1], size.rounds[i]);
  }

  /// The best counts that leave no job more than this, where they are above `best`.
  void try_rest(double longest_s,
                double& best,
                std::int64_t& steps,
                std::optional<RoundCounts>& out) {
    RoundCounts counts;
    knapsack_.capacity = room_;
    knapsack_.limited_most = settings_.rounds;
    double base = present() - worst(longest_s);
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      const int least = least_for(job, longest_s).value_or(settings_.rounds);
      counts.rounds.push_back(least);
      knapsack_.capacity -= least * jobs_[job].room;
      knapsack_.limited_most -= large_[job] ? least : 0;
      for (std::size_t n = 0; n < static_cast<std::size_t>(least); ++n) base += gain_of(job, n);
    }
    find_free(counts.rounds);
    const auto sizes = static_cast<std::int64_t>(knapsack_.sizes.size());
    std::int64_t left = std::max(steps, out.has_value() ? 0 : sizes);
    const double beat = out.has_value() ? best - base : -1;
    const auto answer = solver_.solve(knapsack_, beat, left);
    steps = std::min(steps, left) - 1;
    if (!answer.has_value()) return;
    best = base + answer->value;
    counts.objective = best;
    std::size_t at = 0;
    for (const OfSize& size : sizes_) {
      if (size.free_jobs.empty()) continue;
      const auto taken = static_cast<std::size_t>(answer->counts[at++]);
      for (std::size_t i = 0; i < taken; ++i) ++counts.rounds[size.free_jobs[i]];
    }
    out = std::move(counts);
  }

  /// The rounds that jobs may get beyond those that they have to.
  void find_free(const std::vector<int>& least) {
    knapsack_.sizes.clear();
    knapsack_.limited = 0;
    for (OfSize& size : sizes_) {
      size.free_jobs.resize(size.rounds.size());
      size.free_gains.resize(size.rounds.size());
      std::size_t count = 0;
      for (const RoundOrder::Round& each : size.rounds) {
        size.free_jobs[count] = each.job;
        size.free_gains[count] = each.gain;
        if (each.round >= static_cast<std::size_t>(least[each.job])) ++count;
      }
      size.free_jobs.resize(count);
      size.free_gains.resize(count);
      if (size.free_jobs.empty()) continue;
      if (large_[size.free_jobs.front()]) ++knapsack_.limited;
      knapsack_.sizes.push_back({size.room, size.free_gains});
    }
  }

  const std::vector<WindowJob>& jobs_;
  const WindowSettings& settings_;
  std::size_t window_;                     ///< Rounds.
  std::vector<const RoundsAhead*> ahead_;  ///< [job]
  std::vector<RoundsAhead> made_;          ///< Of jobs that come without theirs.
  std::vector<double> gains_;              ///< [job x rounds + n]: of round n + 1.
  std::vector<double> densities_;          ///< As `gains_`, for each thousandth.
  std::vector<double> present_;            ///< [job]: what its progress so far counts.
  std::vector<int> least_;                 ///< [job]: rounds that it has to have.
  std::vector<bool> large_;  ///< Takes more than half a round: two such jobs cannot share one.
  RoundOrder order_;
  std::vector<OfSize> sizes_;  ///< Falling.
  Knapsack knapsack_;
  KnapsackSolver& solver_;
  std::int64_t room_ = 0;
  bool possible_ = true;
};

}  // namespace

RoundsAhead rounds_ahead(const WindowJob& job, const WindowSettings& settings) {
  RoundsAhead out;
  const auto rounds = static_cast<std::size_t>(settings.rounds);
  std::size_t line = 0;
  double last = log_utility(static_cast<double>(job.done) / job.epochs, line);
  out.utility = last;
  out.rests_s.reserve(rounds + 1);
  out.rests_s.push_back(rest_s(job, 0));
  out.gains.reserve(rounds);
  double last_epochs = epochs_in(job, 0, settings);
  for (int n = 1; n <= settings.rounds; ++n) {
    const double epochs = epochs_in(job, n, settings);
    if (epochs == last_epochs) break;  // It is done: in no further round is anything.
    last_epochs = epochs;
    const double utility = log_utility(std::min((job.done + epochs) / job.epochs, 1.0), line);
    out.rests_s.push_back(std::min(rest_s(job, epochs), out.rests_s.back()));
    out.gains.push_back(utility - last);
    last = utility;
  }
  out.rests_s.resize(rounds + 1, out.rests_s.back());
  out.gains.resize(rounds, 0.0);
  return out;
}

std::optional<RoundCounts> best_counts(const std::vector<WindowJob>& jobs,
                                       const WindowPlace& place,
                                       const WindowSettings& settings,
                                       const std::vector<double>& weights,
                                       KnapsackSolver& solver) {
  return CountProgram(jobs, place, settings, weights, solver).solve();
}

}  // namespace orrery::policies
