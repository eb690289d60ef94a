#include "sim/rehearsal/answer.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/rehearsal/forecast.hpp"

namespace orrery::sim {
namespace {

/// An instant of the model is as exact as what it is told; less is no delay.
constexpr Duration kDelayLeast = Duration::milliseconds(1);

/// Runs from one state.
class Runs {
 public:
  Runs(Controller from, const ForecastQuestion& question, const ForecastMeans& means)
      : from_(std::move(from)),
        question_(question),
        means_(means),
        scenario_(forked_scenario(from_.state())) {}

  /// Run `index`, with the job that is asked about or without it; no other comes after the last.
  Result<Forecast> run(std::uint32_t index, bool with, bool last) {
    const auto policy = means_.policy();
    if (!policy) return policy.errors();
    ForecastOptions options;
    if (with)
      options.submitted = question_.submitted;
    else
      options.without = question_.job;
    options.records_max = question_.records_max;
    options.stop = means_.stop;
    if (question_.runs > 1 || question_.arrivals != Arrivals::None)
      options.draws = ForecastDraws{.seed = question_.seed + index,
                                    .durations = question_.runs > 1,
                                    .arrivals = question_.arrivals == Arrivals::Recent};
    return forecast(last ? std::move(from_) : from_, scenario_, **policy, options);
  }

 private:
  Controller from_;
  const ForecastQuestion& question_;
  const ForecastMeans& means_;
  scenarios::Scenario scenario_;
};

/// What the runs told of each job, and of those that it delays.
class Gathered {
 public:
  explicit Gathered(const ForecastQuestion& question) : question_(question) {}

  bool is_asked(const JobForecast& job) const {
    return question_.submitted != nullptr ? job.name == question_.submitted->name
                                          : job.id == question_.job;
  }

  void add(Forecast run) {
    ++runs_;
    // Every run has the same jobs, in the same order.
    starts_.resize(run.jobs.size());
    ends_.resize(run.jobs.size());
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
      starts_[i].push_back(run.jobs[i].start);
      ends_[i].push_back(run.jobs[i].end);
    }
    records_ = std::max(records_, run.records);
    cut_short_ = cut_short_ || run.cut_short;
    if (std::exchange(empty_, false)) first_ = std::move(run);
  }

  void add_delays(const Forecast& with, const Forecast& without) {
    std::map<JobId, Instant> before;
    for (const JobForecast& job : without.jobs) before[job.id] = job.end;
    for (const JobForecast& job : with.jobs) {
      const auto found = before.find(job.id);
      if (is_asked(job) || found == before.end() || found->second.is_never()) continue;
      delays_[job.name].push_back(job.end.is_never() ? Duration::forever()
                                                     : job.end - found->second);
    }
  }

  ForecastAnswer take(Sequence sequence, bool has_delays) {
    ForecastAnswer out;
    out.now = first_.now;
    out.sequence = sequence;
    out.runs = runs_;
    out.records = records_;
    out.cut_short = cut_short_;
    out.refused = std::move(first_.refused);
    out.has_delays = has_delays;
    const bool all = question_.submitted == nullptr && question_.job.is_none();
    for (std::size_t i = 0; i < first_.jobs.size(); ++i)
      if (all || is_asked(first_.jobs[i])) out.jobs.push_back(take_job(i));
    for (auto& [name, by] : delays_) add_delay(out, name, by);
    std::ranges::stable_sort(out.delays, std::greater<>(), &ForetoldDelay::by);
    return out;
  }

 private:
  ForetoldJob take_job(std::size_t i) {
    JobForecast& job = first_.jobs[i];
    ForetoldJob out;
    // The number that it got in the run is nobody's.
    if (question_.submitted == nullptr) out.id = job.id;
    out.name = std::move(job.name);
    out.runs = job.runs;
    out.known = job.known;
    out.remaining = job.remaining;
    out.start = spread_of(starts_[i]);
    out.end = spread_of(ends_[i]);
    out.succeeds = job.succeeds;
    out.nodes = std::move(job.nodes);
    out.waits_for = std::move(job.waits_for);
    out.never_fits = job.never_fits;
    return out;
  }

  // In runs that it is not in, a job is not delayed.
  void add_delay(ForecastAnswer& out, const std::string& name, std::vector<Duration>& by) const {
    by.resize(runs_, Duration::zero());
    const auto middle = by.begin() + static_cast<std::ptrdiff_t>((by.size() - 1) / 2);
    std::nth_element(by.begin(), middle, by.end());
    if (*middle >= kDelayLeast) out.delays.push_back({name, *middle});
  }

  const ForecastQuestion& question_;
  Forecast first_;
  std::vector<std::vector<Instant>> starts_;  ///< By job, then by run.
  std::vector<std::vector<Instant>> ends_;
  std::map<std::string, std::vector<Duration>> delays_;
  std::uint32_t runs_ = 0;  ///< Fewer than were asked for where they were stopped.
  std::uint64_t records_ = 0;
  bool cut_short_ = false;
  bool empty_ = true;
};

std::optional<Error> wrong_with(const State& state, const ForecastQuestion& question) {
  if (question.runs < 1 || question.runs > kForecastRunsMax)
    return Error{.subject = "runs",
                 .message = "are " + std::to_string(question.runs) + ", 1 to " +
                            std::to_string(kForecastRunsMax) + " are needed; say for example 20"};
  if (question.job.is_none()) return std::nullopt;
  const JobState* job = state.find(question.job);
  if (job != nullptr && !is_final(job->row.phase)) return std::nullopt;
  return Error{.code = ErrorCode::NotFound,
               .subject = "job " + std::to_string(question.job.value),
               .message = "is over or unknown, a job that waits or runs is needed; name another"};
}

}  // namespace

Result<ForecastAnswer> answer(Controller from,
                              const ForecastQuestion& question,
                              const ForecastMeans& means) {
  const State& state = from.state();
  if (auto wrong = wrong_with(state, question)) return *wrong;
  const Sequence sequence = state.sequence;
  const JobState* asked = question.job.is_none() ? nullptr : state.find(question.job);
  const bool waits = question.submitted != nullptr || (asked != nullptr && !asked->row.holds);
  Runs runs(std::move(from), question, means);
  Gathered gathered(question);
  for (std::uint32_t r = 0; r < question.runs; ++r) {
    const bool last = r + 1 == question.runs;
    auto with = runs.run(r, true, last && !waits);
    if (!with) return with.errors();
    if (!with->refused.empty()) {
      ForecastAnswer out;
      out.now = with->now;
      out.sequence = sequence;
      out.runs = question.runs;
      out.refused = std::move(with->refused);
      return out;
    }
    if (waits) {
      const auto without = runs.run(r, false, last);
      if (!without) return without.errors();
      gathered.add_delays(*with, *without);
    }
    gathered.add(std::move(*with));
    if (means.stop && means.stop()) break;
  }
  return gathered.take(sequence, waits);
}

}  // namespace orrery::sim
