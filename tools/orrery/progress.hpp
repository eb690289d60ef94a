// Progress of long work: one line on a terminal that is drawn anew, now and then a line elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tools/console/console.hpp"

namespace orrery::cli {

/// How far long work has come.
struct Progress {
  std::uint64_t runs_done = 0;
  std::uint64_t runs_total = 1;
  std::uint64_t runs_before = 0;  ///< Of those done, by an earlier process.
  std::uint64_t jobs_done = 0;    ///< Over all runs.
  std::uint64_t jobs_total = 0;   ///< 0: not known yet.
  std::uint64_t events = 0;
  double simulated_s = 0;  ///< Of the run that is furthest back among those going on.
};

/// The line for a terminal of `columns`: bar, share, jobs, simulated time, events a second, time
/// left by the pace so far; of one run whose jobs are not known, how long it has taken in place of
/// bar and share. Parts that do not fit are left out from the right.
std::string progress_line(std::string_view title,
                          const Progress& progress,
                          double elapsed_s,
                          std::size_t columns);

/// The same in words, for a file or a pipe: no bar, nothing left out.
std::string progress_words(std::string_view title, const Progress& progress, double elapsed_s);

/// Shows on standard error while it lives how far the work is. On a terminal one line is drawn
/// anew. Elsewhere whole lines are printed, but none of work that is soon done: the first after
/// 10 s, then one every 30 s, and what was noted meanwhile.
class ProgressBar {
 public:
  using SecondsSince = std::function<double()>;  ///< Seconds since the work began.

  /// `elapsed`: default is the machine's steady clock.
  ProgressBar(Console& console, std::string title, SecondsSince elapsed = {});
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Redraws at most ten times a second.
  void show(const Progress& progress);

  /// A line to keep, such as that a part is done; nothing on a terminal, whose line shows it.
  void note(std::string_view line);

  /// Takes the line away, so that other text can stand there.
  void clear();

 private:
  Console& console_;
  std::string title_;
  SecondsSince elapsed_;
  double drawn_s_ = 0;
  double next_line_s_ = 0;
  std::string notes_;  ///< Lines that are still to be written.
  bool shown_ = false;
};

}  // namespace orrery::cli
