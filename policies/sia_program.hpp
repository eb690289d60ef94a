// Sia's program: one configuration for each job, chosen for all jobs together.
//
// Source: Jayaram Subramanya et al., *Sia: Heterogeneity-aware, goodput-optimized ML-cluster
// scheduling*, SOSP 2023, section 3, and its artifact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "policies/solver/program.hpp"

namespace orrery::policies {

/// What a job could be given: devices of one kind on so many nodes.
struct SiaOption {
  int kind = 0;           ///< Index of the kind of device.
  int nodes = 1;          ///< At least 1.
  std::int64_t gpus = 1;  ///< Devices taken, at least 1.
  double goodput = 0;     ///< In any unit of the job's own; not above 0: it cannot run so.
  bool current = false;   ///< What the job has now; not more than one.
};

/// One job of the program.
struct SiaJob {
  std::vector<SiaOption> options;
  /// Part of its time that the job would have left had it been moved as often before, 0 to 1; it
  /// multiplies the goodput of every option but the current one, where there is a current one.
  double restart_factor = 1;
};

struct SiaSettings {
  double power = -0.5;       ///< p: of the scaled goodputs; not 0. Below 0 it evens out.
  double unallocated = 1.1;  ///< lambda: added for each job that gets nothing; below 0 where p > 0.
  solver::Limits limits{.iterations = 500'000, .nodes = 50, .relative_gap = 1e-4};
};

/// How a choice came about.
enum class SiaPath : std::uint8_t {
  Exact,    ///< All have what is best for them, or one kind is shared out by dynamic programming.
  Program,  ///< By the program, to its gap.
  Limited,  ///< The best that the program found within its limits.
  Greedy,   ///< By the greedy rule: nothing better was found.
};

struct SiaChoice {
  SiaPath path = SiaPath::Program;
  std::vector<int> options;  ///< Of each job, the index of its option; -1: it gets nothing.
  double objective = 0;      ///< Minimised for p < 0, maximised else.
};

/// max(T - n S, 0) / (T + S) of a job of age T that was restarted n times at a cost of S; 1 while
/// it is younger than S.
double restart_factor(Duration age, std::int64_t restarts, Duration delay);

/// Goodputs in units of the smallest that can run at all; the others 1e-4.
std::vector<double> scaled_goodputs(std::span<const double> goodputs);

/// min(round(x^p to two decimals), 3000): what choosing an option of scaled goodput x counts.
double option_value(double scaled_goodput, double power);

/// Chooses options for the least sum of values (p < 0; the largest for p > 0) plus `unallocated`
/// for each job without one, so that no kind gives more devices than `capacity` says.
///
/// Options that cannot be in a best choice are left out first: those worth no more than having
/// none, and those that take no fewer devices than a better one of their kind. Of a single kind the
/// best choice is found by dynamic programming over its devices. Of several a greedy choice is made
/// beside the program, one improvement after the other by what it brings for each device; it counts
/// where the program, within its limits, found nothing better. A program of more than 3,000 options
/// is solved as a linear one; the jobs that it gives parts of options, no more than there are
/// kinds, get what is left greedily.
SiaChoice choose_options(const std::vector<SiaJob>& jobs,
                         const std::vector<std::int64_t>& capacity,
                         const SiaSettings& settings);

}  // namespace orrery::policies
