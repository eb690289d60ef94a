// The progress bar: one line on a terminal, nothing anywhere else.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/console/console.hpp"

namespace orrery::cli {

/// How far long work has come.
struct Progress {
  std::uint64_t runs_done = 0;
  std::uint64_t runs_total = 1;
  std::uint64_t jobs_done = 0;   ///< Over all runs.
  std::uint64_t jobs_total = 0;  ///< 0: not known yet.
  std::uint64_t events = 0;
  double simulated_s = 0;  ///< Of the run that is furthest back among those going on.
};

/// The line for a terminal of `columns`: bar, share, jobs, simulated time, events a second, time
/// left by the pace so far. Parts that do not fit are left out from the right.
std::string progress_line(std::string_view title,
                          const Progress& progress,
                          double elapsed_s,
                          std::size_t columns);

/// Shows a line on standard error while it lives, where that is a terminal.
class ProgressBar {
 public:
  ProgressBar(Console& console, std::string title);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Redraws at most ten times a second.
  void show(const Progress& progress);

  /// Takes the line away, so that other text can stand there.
  void clear();

 private:
  Console& console_;
  std::string title_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_;
  bool shown_ = false;
};

}  // namespace orrery::cli
