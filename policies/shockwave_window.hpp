// Shockwave's program over a window of rounds: which job runs in which of them.
//
// Source: Zheng et al., *Shockwave: Fair and Efficient Cluster Scheduling for Dynamic Adaptation in
// Machine Learning*, NSDI 2023, section 6, and its artifact.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "policies/solver/program.hpp"

namespace orrery::policies {

/// What the program knows of one job.
struct WindowJob {
  std::int64_t room = 1000;  ///< Devices that it takes in a round, in thousandths, above 0.
  int epochs = 1;            ///< E, at least 1.
  int done = 0;              ///< e, 0 to `epochs`.
  double mean_s = 1;         ///< Of an epoch, above 0.
  double remaining_s = 0;    ///< R, predicted, at solo speed.
  double fair_finish_s = 0;  ///< F: when it would end with its fair share.
};

/// Constants of the program.
struct WindowSettings {
  int rounds = 20;                ///< W, at least 1.
  double round_s = 120;           ///< L, above 0.
  double makespan_weight = 1e-3;  ///< k, per second.
  double rho_max = 1;             ///< Bound of finish over fair finish time, above 0.
  double weight_power = 12;       ///< lambda: how steeply jobs that are late weigh more.
  solver::Limits limits{.iterations = 200'000, .nodes = 200, .relative_gap = 1e-3};
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
  Greedy,   ///< No program had values within its limits: the most late first.
};

/// Which jobs run in which rounds.
struct WindowSchedule {
  WindowPath path = WindowPath::Fair;
  std::vector<std::vector<std::uint8_t>> runs;  ///< [job][round], 0 or 1.
  std::vector<int> rounds;                      ///< Of each job, as the program chose.
  double objective = 0;                         ///< Of the program; 0 of AllFit and Greedy.
};

/// ln of the progress (0 to 1) by straight lines between 0, 0.2, ..., 1, with ln 1e-6 at 0.
double log_utility(double progress);

/// Fair finish time at `round` from a series of (round, estimate), ascending by round: 0.9 x their
/// mean, each weighted by the rounds that it was in force, + 0.1 x the last. Where no round has
/// passed yet, the last alone. The artifact's weights collapse to one value then, which its sum
/// pairs with the first estimate of a series; that is this one wherever a series has one entry.
double fair_finish(std::span<const std::pair<std::int64_t, double>> series, std::int64_t round);

/// q: 1 up to `rho_max`; beyond it rho^power, and rho^100 for a job that ends within a round.
double late_weight(double rho, bool ends_within_round, double rho_max, double power);

/// Maximises (1 / (J W)) sum of utilities - k x the largest predicted rest, so that no round holds
/// more than its room and no job ends later than rho_max x its fair finish time; where that cannot
/// be, without the last, with utilities weighted by `late_weight`, and then with the weighted jobs
/// as early in the window as they can be, by a second program. `jobs` not empty.
///
/// The programs differ from the published ones in form, not in what they choose. A job's utility
/// depends on how many rounds it gets and not on which, so the first program has one whole number
/// for each job in place of a binary for each round, under the room of all rounds together; the
/// utility is concave and maximised, so it needs no binaries that keep its points adjacent. Rounds
/// are given out afterwards, the largest jobs first, each the emptiest rounds: where sizes are such
/// that this misses a round that some packing would have held, the job has one round less.
/// Weights above 10^7 are cut there: solvers count in 16 digits.
WindowSchedule solve_window(const std::vector<WindowJob>& jobs,
                            const WindowPlace& place,
                            const WindowSettings& settings);

}  // namespace orrery::policies
