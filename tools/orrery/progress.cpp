#include "tools/orrery/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::chrono::milliseconds kRedraw{100};

/// "950", "12.3k", "4.56M": a rate needs no more digits.
std::string short_number(double value) {
  if (value < 1000) return with_commas(value, 0);
  if (value < 1e6) return with_commas(value / 1e3, 1) + "k";
  return with_commas(value / 1e6, 2) + "M";
}

double share_of(const Progress& progress) {
  if (progress.jobs_total > 0)
    return std::min(
        1.0, static_cast<double>(progress.jobs_done) / static_cast<double>(progress.jobs_total));
  if (progress.runs_total == 0) return 0;
  return static_cast<double>(progress.runs_done) / static_cast<double>(progress.runs_total);
}

std::string bar(double share) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '.') + "]";
}

}  // namespace

std::string progress_line(std::string_view title,
                          const Progress& progress,
                          double elapsed_s,
                          std::size_t columns) {
  const double share = share_of(progress);
  std::vector<std::string> parts;
  parts.push_back(bar(share) + " " + with_commas(share * 100, 0) + "%");
  if (share > 0 && elapsed_s > 1)
    parts.push_back("ETA " + time_in_words(elapsed_s * (1 - share) / share));
  if (progress.runs_total > 1)
    parts.push_back(std::to_string(progress.runs_done) + "/" + std::to_string(progress.runs_total) +
                    " runs");
  if (progress.jobs_total > 0)
    parts.push_back(with_commas(static_cast<double>(progress.jobs_done), 0) + "/" +
                    with_commas(static_cast<double>(progress.jobs_total), 0) + " jobs");
  if (progress.simulated_s > 0) parts.push_back(time_in_words(progress.simulated_s) + " simulated");
  if (elapsed_s > 0 && progress.events > 0)
    parts.push_back(short_number(static_cast<double>(progress.events) / elapsed_s) + " events/s");
  std::string line(title);
  for (const std::string& part : parts) {
    if (line.size() + 2 + part.size() >= columns) break;
    line += "  " + part;
  }
  if (line.size() >= columns) line.resize(columns > 0 ? columns - 1 : 0);
  return line;
}

ProgressBar::ProgressBar(Console& console, std::string title)
    : console_(console), title_(std::move(title)), start_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(const Progress& progress) {
  if (!console_.traits().err_is_terminal) return;
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now - drawn_ < kRedraw) return;
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  console_.err("\r" + progress_line(title_, progress, elapsed_s, console_.traits().columns) +
               "\x1b[K");
  drawn_ = now;
  shown_ = true;
}

void ProgressBar::clear() {
  if (!shown_) return;
  console_.err("\r\x1b[K");
  shown_ = false;
}

}  // namespace orrery::cli
