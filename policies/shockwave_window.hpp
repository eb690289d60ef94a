// Shockwave's program over a window of rounds: which job runs in which of them.
//
// Source: Zheng et al., *Shockwave: Fair and Efficient Cluster Scheduling for Dynamic Adaptation in
// Machine Learning*, NSDI 2023, section 6, and its artifact.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/concave_knapsack.hpp"

namespace orrery::policies {

/// What rounds of a window do for one job, whoever else runs in them.
struct RoundsAhead {
  double utility = 0;           ///< `log_utility` of its progress so far.
  std::vector<double> rests_s;  ///< [n], 0 to W rounds: seconds that are left then, never rising.
  std::vector<double> gains;    ///< [n]: what round n + 1 adds to the utility.
};

/// What the program knows of one job.
struct WindowJob {
  std::int64_t room = 1000;  ///< Devices that it takes in a round, in thousandths, above 0.
  int epochs = 1;            ///< E, at least 1.
  int done = 0;              ///< e, 0 to `epochs`.
  double mean_s = 1;         ///< Of an epoch, above 0.
  double remaining_s = 0;    ///< R, predicted, at solo speed.
  double fair_finish_s = 0;  ///< F: when it would end with its fair share.

  /// `rounds_ahead` of an earlier schedule, for the same epochs, mean and rest; outlives the job.
  /// Null: it is made anew.
  const RoundsAhead* ahead = nullptr;
};

/// Constants of the program.
struct WindowSettings {
  int rounds = 20;                ///< W, at least 1.
  double round_s = 120;           ///< L, above 0.
  double makespan_weight = 1e-3;  ///< k, per second.
  double rho_max = 1;             ///< Bound of finish over fair finish time, above 0.
  double weight_power = 12;       ///< lambda: how steeply jobs that are late weigh more.
  std::int64_t steps = 20'000;    ///< Of branch and bound in one schedule.
};

/// Where in time and in what cluster the window lies.
struct WindowPlace {
  std::int64_t round = 0;           ///< r0, of the window's first round.
  double share = 1;                 ///< min(1, devices / jobs): one job's, by number of jobs.
  std::vector<std::int64_t> rooms;  ///< Thousandths of devices free in each round.
};

/// How a schedule came about.
enum class WindowPath : std::uint8_t {
  AllFit,   ///< All jobs run in all rounds: there is nothing to choose.
  Fair,     ///< All jobs keep their finish times.
  Relaxed,  ///< They cannot; jobs that are late weigh more instead.
};

/// For every job and round of a window 1 where the job runs in it, else 0.
class WindowRuns {
 public:
  WindowRuns() = default;

  /// All of them are `run`.
  WindowRuns(std::size_t jobs, std::size_t rounds, std::uint8_t run)
      : rounds_(rounds), runs_(jobs * rounds, run) {}

  std::span<std::uint8_t> operator[](std::size_t job) { return {at(job), rounds_}; }

  std::span<const std::uint8_t> operator[](std::size_t job) const { return {at(job), rounds_}; }

  /// In how many rounds the job runs.
  int count(std::size_t job) const {
    return static_cast<int>(std::count(at(job), at(job) + rounds_, 1));
  }

 private:
  std::uint8_t* at(std::size_t job) { return runs_.data() + job * rounds_; }

  const std::uint8_t* at(std::size_t job) const { return runs_.data() + job * rounds_; }

  std::size_t rounds_ = 0;
  std::vector<std::uint8_t> runs_;
};

/// Which jobs run in which rounds.
struct WindowSchedule {
  WindowPath path = WindowPath::Fair;
  WindowRuns runs;
  std::vector<int> rounds;  ///< Of each job, as the program chose.
  double objective = 0;     ///< Of the program; 0 of AllFit.
};

/// ln of the progress (0 to 1) by straight lines between 0, 0.2, ..., 1, with ln 1e-6 at 0.
double log_utility(double progress);

/// The same, for progress that only rises: `line` is where the last call left it, 0 for the first.
double log_utility(double progress, std::size_t& line);

/// Seconds that may remain of the job after the window for it to keep its finish time.
double rest_allowed(const WindowJob& job, const WindowPlace& place, const WindowSettings& settings);

/// Estimates of a job's fair finish time, each of them in force until the next one.
struct FairFinish {
  std::int64_t since = -1;  ///< Round of the last estimate; -1: there is none.
  double last_s = 0;        ///< That one.
  double sum = 0;           ///< Of the ones before it, each times the rounds that it was in force.
  double rounds = 0;        ///< These rounds together.

  /// `estimate_s` is in force from `round` on, which is not before that of the last one.
  void add(std::int64_t round, double estimate_s);

  /// At `round`, not before that of the last one: 0.9 x the mean over time + 0.1 x the last one.
  /// Where no round has passed yet, the last alone. The artifact's weights collapse to one value
  /// then, which its sum pairs with the first of several estimates. Some estimate must be there.
  double at(std::int64_t round) const;
};

/// q: 1 up to `rho_max`; beyond it rho^power, and rho^100 for a job that ends within a round.
double late_weight(double rho, bool ends_within_round, double rho_max, double power);

/// Makes one schedule after the other, and keeps the memory that it took for the next one.
class WindowSolver {
 public:
  /// Maximises (1 / (J W)) sum of utilities - k x the largest predicted rest, so that no round
  /// holds more than its room and no job ends later than rho_max x its fair finish time; where that
  /// cannot be, without the last, with utilities weighted by `late_weight`, and then with the
  /// weighted jobs as early in the window as they can be. `jobs` not empty.
  ///
  /// A job's utility depends on how many rounds it gets and not on which. So the first program has
  /// one whole number for each job in place of the published binary for each round, under the room
  /// of all rounds together (`best_counts`, exact). Rounds are given out afterwards, the largest
  /// jobs first, each the emptiest rounds: where sizes are such that this misses a round that some
  /// packing would have held, the job has one round less. The second program, which minimises the
  /// sum of weight x mean round, is not solved but searched: from two schedules, any two rounds
  /// exchange jobs for the best (exact for these two) until no two can be improved. Weights above
  /// 10^7 are cut there.
  WindowSchedule solve(const std::vector<WindowJob>& jobs,
                       const WindowPlace& place,
                       const WindowSettings& settings);

 private:
  KnapsackSolver knapsacks_;
};

/// As `WindowSolver`, once.
WindowSchedule solve_window(const std::vector<WindowJob>& jobs,
                            const WindowPlace& place,
                            const WindowSettings& settings);

}  // namespace orrery::policies
