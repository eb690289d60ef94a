// The figures of a run that are compared over seeds: one table for JSON, tables and pages.
#pragma once

#include <span>
#include <string_view>

#include "sim/results/summary.hpp"

namespace orrery::sim {

/// Which of two values is the better one.
enum class Preferred { Lower, Higher, Neither };

/// A figure of a summary.
struct RunFigure {
  std::string_view key;    ///< Its name in the summary.
  std::string_view title;  ///< For columns of tables; seconds where the key ends in "_s".
  Preferred preferred = Preferred::Lower;
  bool is_share = false;  ///< 0 to 1, shown in percent.
  bool is_main = false;   ///< Among those that a table of differences shows.
  double (*of)(const Summary&) = nullptr;
};

/// All of them, in the order of the summary.
std::span<const RunFigure> run_figures();

/// The figure of this key; it exists.
const RunFigure& run_figure(std::string_view key);

}  // namespace orrery::sim
