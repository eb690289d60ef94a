// Predicted against measured: the figures of simulated runs of a scenario beside those of real
// ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "sim/calibration/run_figures.hpp"

namespace orrery::sim {

/// What is predicted and measured of a job.
enum class ParityFigure : std::uint8_t {
  Completion,  ///< From submission to the end.
  Step,        ///< Seconds per unit of work at one size.
  Recovery,    ///< From a failure to the recovery.
};

/// A sample as error bars show it.
struct Spread {
  std::size_t count = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  double shortest = 0;
  double longest = 0;
};

/// One figure of one job, in seconds.
struct ParityRow {
  std::string job;
  ParityFigure figure = ParityFigure::Completion;
  std::string which;               ///< Step: "4 replicas"; Recovery: "1: WorkerFailed"; else empty.
  std::vector<double> measured_s;  ///< By run, where it has the figure.
  Spread measured;
  Spread predicted;
  double uncalibrated_s = 0;  ///< Predicted where nothing takes time but work and deadlines.
  /// Runs in which only one of both has the figure: a failure that is there in one world only.
  std::size_t unmatched = 0;

  /// (predicted - measured) / measured, where `value_s` was measured. Of less than kParityShortest
  /// the difference counts as of so much, except for steps.
  double error(double value_s) const { return relative(predicted.p50, value_s); }

  double relative(double predicted_s, double value_s) const;
};

/// One kind of figure over all jobs and runs.
struct ParityTotal {
  std::size_t count = 0;  ///< Measurements.
  double error_p50 = 0;   ///< Of |predicted - measured| / measured,
  double error_p90 = 0;
  double error_max = 0;
  double bias = 0;              ///< Median of (predicted - measured) / measured.
  double inside = 0;            ///< Part of the measurements between the predicted p10 and p90.
  double uncalibrated_p50 = 0;  ///< As error_p50, without calibration.
  double uncalibrated_max = 0;
  std::size_t unmatched = 0;
};

/// Decisions about one job: in both worlds, line by line.
struct DecisionPair {
  std::string job;
  std::string predicted;  ///< Its block of the log; lines end in "\n".
  std::string measured;
  std::size_t runs_other = 0;  ///< Measured runs that decided otherwise than predicted.
  std::string first_other;     ///< The first line in which one of these differs, both sides; or "".
};

struct Parity {
  std::vector<ParityRow> rows;
  std::array<ParityTotal, 3> totals;  ///< [ParityFigure].
  std::vector<DecisionPair> decisions;
  /// Sentences: where the simulator was more than `kWrong` wrong, and in what part of the job's
  /// time.
  std::vector<std::string> wrong;
  std::size_t runs_measured = 0;
  std::size_t runs_predicted = 0;
};

/// Times below it are made of the ways of messages, which nobody predicts.
inline constexpr double kParityShortest = 0.05;

/// A mean error from which on a row is explained.
inline constexpr double kParityWrong = 0.05;

/// measured / predicted of runs that the prediction had not learned from: what else varies from run
/// to run than the times that are learned, and what no learned time holds. By ParityFigure, in the
/// order in which they were added.
using HeldOutRatios = std::array<std::vector<double>, 3>;

/// Fewer ratios of a figure tell nothing of its spread.
inline constexpr std::size_t kHeldOutRatiosMin = 5;

/// Adds those of one run. `predicted`: runs of the model with a calibration from other runs; not
/// empty.
void add_ratios(const RunFigures& measured,
                const std::vector<RunFigures>& predicted,
                HeldOutRatios& ratios);

/// Compares. `predicted`: runs of the model with a calibration; the median of each figure is the
/// prediction. Its p10 and p90 are those of these runs, or the median times the p10 and p90 of
/// `held_out` where these are further from it: in the way of cross-conformal prediction (V. Vovk,
/// Annals of Mathematics and Artificial Intelligence 74, 2015). `uncalibrated`: one run in which
/// starts, stops, restores and pauses take no time. The jobs are the same in all, and no list but
/// `held_out` is empty.
Parity compare_runs(const std::vector<RunFigures>& measured,
                    const std::vector<RunFigures>& predicted,
                    const RunFigures& uncalibrated,
                    const HeldOutRatios& held_out = {});

/// Totals over several comparisons, such as one for each scenario.
std::array<ParityTotal, 3> parity_totals(const std::vector<ParityRow>& rows);

}  // namespace orrery::sim

namespace orrery {

template <>
struct EnumNames<sim::ParityFigure> {
  static constexpr std::array kNames{"completion", "step", "recovery"};
};

}  // namespace orrery
