#include "tools/orrery/progress.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr double kRedraw_s = 0.1;
constexpr double kFirstLine_s = 10;
constexpr double kNextLine_s = 30;

/// "950", "12.3k", "4.56M": a rate needs no more digits.
std::string short_number(double value) {
  if (value < 1000) return with_commas(value, 0);
  if (value < 1e6) return with_commas(value / 1e3, 1) + "k";
  return with_commas(value / 1e6, 2) + "M";
}

/// Nothing where a single run does not say how many jobs it has.
std::optional<double> share_of(const Progress& progress) {
  if (progress.jobs_total > 0)
    return std::min(
        1.0, static_cast<double>(progress.jobs_done) / static_cast<double>(progress.jobs_total));
  if (progress.runs_total <= 1 && progress.runs_done == 0) return std::nullopt;
  return static_cast<double>(progress.runs_done) / static_cast<double>(progress.runs_total);
}

std::string bar(double share) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '.') + "]";
}

}  // namespace

namespace {

/// What is known beside the share, the most important first.
std::vector<std::string> parts_of(const Progress& progress,
                                  std::optional<double> share,
                                  double elapsed_s) {
  std::vector<std::string> parts;
  // What an earlier process did says nothing of the pace of this one.
  const double before = progress.runs_before == 0 ? 0
                                                  : static_cast<double>(progress.runs_before) /
                                                        static_cast<double>(progress.runs_total);
  if (share && *share > before && elapsed_s > 1)
    parts.push_back("ETA " + time_in_words(elapsed_s * (1 - *share) / (*share - before)));
  if (progress.runs_total > 1)
    parts.push_back(std::to_string(progress.runs_done) + "/" + std::to_string(progress.runs_total) +
                    " runs");
  if (progress.jobs_total > 0)
    parts.push_back(with_commas(static_cast<double>(progress.jobs_done), 0) + "/" +
                    with_commas(static_cast<double>(progress.jobs_total), 0) + " jobs");
  if (progress.simulated_s > 0) parts.push_back(time_in_words(progress.simulated_s) + " simulated");
  if (elapsed_s > 0 && progress.events > 0)
    parts.push_back(short_number(static_cast<double>(progress.events) / elapsed_s) + " events/s");
  return parts;
}

}  // namespace

std::string progress_line(std::string_view title,
                          const Progress& progress,
                          double elapsed_s,
                          std::size_t columns) {
  const std::optional<double> share = share_of(progress);
  std::vector<std::string> parts = parts_of(progress, share, elapsed_s);
  parts.insert(
      parts.begin(),
      share ? bar(*share) + " " + with_commas(*share * 100, 0) + "%" : time_in_words(elapsed_s));
  std::string line(title);
  for (const std::string& part : parts) {
    if (line.size() + 2 + part.size() >= columns) break;
    line += "  " + part;
  }
  if (line.size() >= columns) line.resize(columns > 0 ? columns - 1 : 0);
  return line;
}

std::string progress_words(std::string_view title, const Progress& progress, double elapsed_s) {
  const std::optional<double> share = share_of(progress);
  std::string line = std::string(title) + ": " +
                     (share ? with_commas(*share * 100, 0) + "% " : std::string()) + "after " +
                     time_in_words(elapsed_s);
  for (const std::string& part : parts_of(progress, share, elapsed_s)) line += ", " + part;
  return line;
}

ProgressBar::ProgressBar(Console& console, std::string title, SecondsSince elapsed)
    : console_(console),
      title_(std::move(title)),
      elapsed_(std::move(elapsed)),
      next_line_s_(kFirstLine_s) {
  if (elapsed_) return;
  elapsed_ = [start = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(const Progress& progress) {
  const double elapsed_s = elapsed_();
  if (!console_.traits().err_is_terminal) {
    if (elapsed_s < kFirstLine_s) return;
    if (elapsed_s >= next_line_s_) {
      notes_ += progress_words(title_, progress, elapsed_s) + "\n";
      next_line_s_ = elapsed_s + kNextLine_s;
    }
    if (!notes_.empty()) console_.err(notes_);
    notes_.clear();
    return;
  }
  if (shown_ && elapsed_s - drawn_s_ < kRedraw_s) return;
  console_.err("\r" + progress_line(title_, progress, elapsed_s, console_.traits().columns) +
               "\x1b[K");
  drawn_s_ = elapsed_s;
  shown_ = true;
}

void ProgressBar::note(std::string_view line) {
  if (!console_.traits().err_is_terminal) notes_ += title_ + ": " + std::string(line) + "\n";
}

void ProgressBar::clear() {
  if (!shown_) return;
  console_.err("\r\x1b[K");
  shown_ = false;
}

}  // namespace orrery::cli
