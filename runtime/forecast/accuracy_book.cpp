#include "runtime/forecast/accuracy_book.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/percentile.hpp"

namespace orrery::runtime {
namespace {

constexpr std::size_t kOutcomesKept = 10'000;
constexpr std::size_t kLatestTold = 100;

std::string line_of(const ForecastOutcome& outcome) {
  std::string out = std::to_string(outcome.job.value);
  for (const Instant at : {outcome.submitted, outcome.foretold_at, outcome.foretold})
    out += " " + std::to_string(at.ns);
  out += " " + (outcome.started.is_never() ? std::string("-") : std::to_string(outcome.started.ns));
  return out + " " + outcome.name + "\n";
}

std::optional<ForecastOutcome> read_line(const std::string& line) {
  std::istringstream in(line);
  ForecastOutcome out;
  std::string started;
  in >> out.job.value >> out.submitted.ns >> out.foretold_at.ns >> out.foretold.ns >> started >>
      out.name;
  if (!in || out.name.empty() || out.job.is_none()) return std::nullopt;
  out.started = Instant::never();
  if (started == "-") return out;
  std::istringstream number(started);
  if (!(number >> out.started.ns) || !number.eof()) return std::nullopt;
  return out;
}

Error unusable(const std::string& file, const std::string& why) {
  return Error{.code = ErrorCode::Unavailable,
               .file = file,
               .message = why +
                          ", forecasts are kept there to be compared with what comes; until "
                          "this is mended they are forgotten when the controller ends"};
}

// Makes the file where there is none, for its owner alone: names of jobs stand in it.
void make_private(const std::string& file) {
  if (const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); made >= 0)
    ::close(made);
}

double seconds_off(const ForecastOutcome& outcome) {
  return std::abs((outcome.foretold - outcome.started).in_seconds());
}

}  // namespace

Status AccuracyBook::open() {
  if (file_.empty()) return Done{};
  std::error_code code;
  if (std::filesystem::exists(file_, code)) {
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);)
      if (const auto outcome = read_line(line)) take(*outcome);
    if (in.bad()) return unusable(std::exchange(file_, {}), "cannot be read");
  }
  const std::string fresh = file_ + ".new";
  std::filesystem::remove(fresh, code);
  make_private(fresh);
  std::ofstream out(fresh, std::ios::trunc);
  for (const ForecastOutcome& outcome : outcomes_) out << line_of(outcome);
  for (const auto& [job, outcome] : waiting_) out << line_of(outcome);
  out.close();
  if (out) std::filesystem::rename(fresh, file_, code);
  if (!out || code) return unusable(std::exchange(file_, {}), "cannot be written");
  return Done{};
}

void AccuracyBook::take(const ForecastOutcome& outcome) {
  if (outcome.started.is_never()) {
    waiting_[outcome.job] = outcome;
    return;
  }
  waiting_.erase(outcome.job);
  outcomes_.push_back(outcome);
  if (outcomes_.size() > kOutcomesKept) outcomes_.pop_front();
}

void AccuracyBook::append(const ForecastOutcome& outcome) {
  if (file_.empty()) return;
  make_private(file_);
  std::ofstream out(file_, std::ios::app);
  out << line_of(outcome);
}

void AccuracyBook::foretold(const ForecastOutcome& outcome) {
  if (knows(outcome.job)) return;
  take(outcome);
  append(outcome);
}

std::vector<ForecastOutcome> AccuracyBook::look(const State& state) {
  std::vector<ForecastOutcome> came;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const JobState* job = state.find(at->first);
    const bool same = job != nullptr && job->spec->name == at->second.name &&
                      job->row.submitted == at->second.submitted;
    if (same && job->started_at.is_never() && !is_final(job->row.phase)) {
      ++at;
      continue;
    }
    if (same && !job->started_at.is_never()) {
      came.push_back(at->second);
      came.back().started = job->started_at;
    }
    at = waiting_.erase(at);
  }
  return came;
}

void AccuracyBook::note(const ForecastOutcome& outcome) {
  take(outcome);
  append(outcome);
}

ForecastAccuracy AccuracyBook::accuracy() const {
  ForecastAccuracy out;
  out.outcomes = outcomes_.size();
  out.waiting = waiting_.size();
  std::vector<double> errors;
  std::vector<double> seconds;
  for (const ForecastOutcome& outcome : outcomes_) {
    errors.push_back(outcome.error());
    seconds.push_back(seconds_off(outcome));
  }
  out.error_p50 = percentile_by_selection(errors, 0.5);
  out.error_p90 = percentile_by_selection(errors, 0.9);
  out.error_s_p50 = percentile_by_selection(seconds, 0.5);
  out.error_s_p90 = percentile_by_selection(seconds, 0.9);
  for (auto at = outcomes_.rbegin(); at != outcomes_.rend() && out.latest.size() < kLatestTold;
       ++at)
    out.latest.push_back(*at);
  return out;
}

}  // namespace orrery::runtime
