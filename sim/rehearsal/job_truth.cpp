#include "sim/rehearsal/job_truth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "sim/rehearsal/size_rates.hpp"
#include "sim/rehearsal/work_follow.hpp"

namespace orrery::sim {
namespace {

constexpr double kLeast_s = 1e-3;  ///< Work that is left at least of a job that was not done.
constexpr double kSame = 1e-9;     ///< Shares by which two figures of one job are the same.

/// The roundest number by which `same` holds: what was once written down, not what came of it.
template <class Same>
double rounded(double value, Same same) {
  std::array<char, 40> text{};
  for (int digits = 3; digits <= 16; ++digits) {
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    const double candidate = std::strtod(text.data(), nullptr);
    if (same(candidate)) return candidate;
  }
  return value;
}

/// All work of a job that came to its end, so that by the last rate it ends at the same instant.
double units_to_end(const WorkFollow& follow) {
  // The last stretch at one rate, as the model has it.
  const double rate = follow.last_rate();
  const double units = follow.done();
  if (rate <= 0) return units;
  // Of the last stretch: from_seconds rounds to nanoseconds, so a little less or more is the same.
  return rounded(units,
                 [&](double candidate) { return std::abs(candidate - units) / rate <= 0.4e-9; });
}

void set_speeds(JobTruth& truth, const std::map<std::int32_t, double>& rates, const JobSpec& spec) {
  set_rates(truth.job.work, rates, spec);
  const RoleSpec& role = spec.roles[elastic_role(spec).index()];
  truth.sizes_assumed =
      role.min_replicas < rates.begin()->first || role.max_replicas > rates.rbegin()->first;
}

/// Lives that end other than by order. What ended with all work done ends so again: those that
/// ended well with the job are among them only where `with_last`.
std::vector<WorkerLife> lives_of(const RecordedJob& job, bool with_last) {
  std::vector<WorkerLife> out;
  for (const RecordedEnd& end : job.ends)
    if (with_last || !is_well(end.life) || end.at < job.finished) out.push_back(end.life);
  std::ranges::sort(out);
  return out;
}

/// What jobs that came to their end tell of those that did not.
class History {
 public:
  void add(const RecordedJob& job, double seconds) {
    by_kind_[kind_of(job)].push_back(seconds);
    all_.push_back(seconds);
  }

  std::optional<double> seconds_of(const RecordedJob& job) const {
    const auto kind = by_kind_.find(kind_of(job));
    if (kind != by_kind_.end()) return median(kind->second);
    if (!all_.empty()) return median(all_);
    return std::nullopt;
  }

 private:
  static std::string kind_of(const RecordedJob& job) {
    return job.user + '\n' + *job.spec->group + '\n' + *job.spec->profile + '\n' +
           std::string(namespace_of(job.spec->name)) + '\n' +
           std::to_string(job.spec->roles[elastic_role(*job.spec).index()].bundle.devices);
  }

  static double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  std::map<std::string, std::vector<double>> by_kind_;
  std::vector<double> all_;
};

class TruthMaker {
 public:
  TruthMaker(const RecordedRun& run, std::optional<Duration> rescale_said)
      : run_(run), rescale_said_(rescale_said) {}

  RunTruth make() {
    out_.jobs.resize(run_.jobs.size());
    for (const RecordedJob& job : run_.jobs) habits_.push_back(habits_of(run_, job, rescale_said_));
    Losses pauses;
    for (std::size_t i = 0; i < run_.jobs.size(); ++i) follow_of(i, &pauses).run();
    out_.timing.rescale = pauses.pause(rescale_said_);
    for (std::size_t i = 0; i < run_.jobs.size(); ++i) follow_of(i, &losses_).run();
    find_start_times();
    find_checkpoints();
    find_stop_time();
    out_.planner_latency = usual(run_.plan_delays).value_or(Duration::zero());
    for (std::size_t i = 0; i < run_.jobs.size(); ++i) begin(i);
    for (std::size_t i = 0; i < run_.jobs.size(); ++i) finish(i);
    return std::move(out_);
  }

 private:
  // By what a change of membership costs as far as it is known.
  WorkFollow follow_of(std::size_t i, Losses* losses) const {
    return {run_, run_.jobs[i], out_.timing.rescale, habits_[i], losses};
  }

  void find_stop_time() {
    std::vector<Duration> stops;
    for (const StopSample& stop : run_.stops) stops.push_back(stop.took);
    // Else it is known that it takes longer than those had who were lost meanwhile.
    out_.timing.stop = usual(stops).value_or(run_.stopping_max * 2);
    if (!stops.empty() || run_.stopping_max == Duration::zero()) return;
    out_.assumed.push_back({"timing.stop",
                            "no worker was seen to end when it was told to stop: that it takes " +
                                seconds_text(out_.timing.stop) +
                                " s, twice as long as one had, is assumed; --set timing.stop=... "
                                "says otherwise"});
  }

  // The longest interval whose multiples are all that was saved, and that no loss exceeds; longer
  // than what was not saved took.
  void find_checkpoints() {
    std::vector<double> saved;
    double lost = 0;
    for (std::size_t i = 0; i < losses_.lost_s.size(); ++i) {
      lost = std::max(lost, losses_.lost_s[i]);
      if (losses_.saved_after_s[i] > 1e-6) saved.push_back(losses_.saved_after_s[i]);
    }
    const double least = std::max(lost, unsaved_s_);
    if (least <= 0) return;
    double interval = 2 * least;
    for (int k = 1; k <= 100'000 && !saved.empty(); ++k) {
      const double candidate = saved.front() / k;
      if (candidate < lost * (1 - kSame) || candidate <= unsaved_s_) break;
      const bool fits = std::ranges::all_of(saved, [&](double each) {
        const double times = each / candidate;
        return std::abs(times - std::round(times)) < 1e-6;
      });
      if (!fits) continue;
      interval = candidate;
      break;
    }
    out_.timing.checkpoint_interval = Duration::from_seconds(
        rounded(interval, [&](double v) { return std::abs(v - interval) < kSame * interval; }));
    const std::string seconds = seconds_text(out_.timing.checkpoint_interval);
    out_.assumed.push_back(
        {"timing.checkpoint_interval",
         (lost > 0 ? "failures took work back: checkpoints at an interval of " + seconds +
                         " s or less explain it"
                   : "workers came up beside others and restored nothing: checkpoints at an "
                     "interval of " +
                         seconds + " s explain it") +
             "; --set timing.checkpoint_interval=... says otherwise"});
  }

  static std::string seconds_text(Duration time) {
    return std::to_string(static_cast<std::int64_t>(std::ceil(time.in_seconds())));
  }

  // Starts that took what first ones do, where others restored something: nothing was saved.
  void find_unsaved_work() {
    for (std::size_t i = 0; i < run_.jobs.size(); ++i)
      for (const StartSample& start : run_.jobs[i].starts)
        if (start.restores && !start.failed && firsts_[i] && start.took == *firsts_[i])
          unsaved_s_ = std::max(unsaved_s_, worked_until(run_.jobs[i], start.up_at - start.took));
  }

  // How long the job had worked then without an end.
  static double worked_until(const RecordedJob& job, Instant until) {
    Instant since = Instant::never();
    for (const WorkFact& fact : job.facts) {
      if (fact.at >= until) break;
      if (fact.kind != WorkFact::Kind::Members) continue;
      if (!fact.any_ready) since = Instant::never();
      if (fact.whole && since.is_never()) since = fact.at;
    }
    return since.is_never() ? 0 : (until - since).in_seconds();
  }

  void find_start_times() {
    std::vector<Duration> first;
    std::vector<Duration> restores;
    firsts_.resize(run_.jobs.size());
    for (std::size_t i = 0; i < run_.jobs.size(); ++i) {
      std::vector<Duration> own;
      for (const StartSample& start : run_.jobs[i].starts)
        if (!start.restores && !start.failed) own.push_back(start.took);
      firsts_[i] = usual(own);
      if (firsts_[i]) first.push_back(*firsts_[i]);
      // It never came up: it was waited for in vain, or ended before.
      if (!firsts_[i] && run_.jobs[i].was_started && run_.jobs[i].phase == JobPhase::Failed) {
        for (const StartSample& start : run_.jobs[i].starts) own.push_back(start.took);
        firsts_[i] = usual(own).value_or(Duration::forever());
      }
      for (const StartSample& start : run_.jobs[i].starts)
        if (start.restores && !start.failed && firsts_[i])
          restores.push_back(std::max(Duration::zero(), start.took - *firsts_[i]));
    }
    out_.timing.start = usual(first).value_or(Duration::zero());
    const std::size_t starts = restores.size();
    std::erase(restores, Duration::zero());
    out_.timing.restore = usual(restores).value_or(Duration::zero());
    if (!restores.empty() && restores.size() < starts) find_unsaved_work();
  }

  void begin(std::size_t i) {
    const RecordedJob& job = run_.jobs[i];
    JobTruth& truth = out_.jobs[i];
    truth.job.spec = job.spec;
    truth.job.submit = job.submit;
    truth.job.waits_for_all = habits_[i].waits_for_all;
    if (firsts_[i] && *firsts_[i] != out_.timing.start)
      truth.job.times.edit().ready_after = *firsts_[i];
    if (job.is_up_by_running)
      truth.job.times.edit().hello_after = usual(job.hellos).value_or(Duration::forever());
    set_lives(truth, lives_of(job, false));
    WorkFollow follow = follow_of(i, nullptr);
    follow.run();
    if (!follow.ended()) return;
    scenarios::WorkSpec& work = truth.job.work;
    history_.add(job, follow.worked_s());
    if (!follow.reports()) {
      truth.known = WorkKnown::Timed;
      work.units = follow.done();
      std::map<std::int32_t, double> rates;
      const std::int32_t size = std::max(1, follow.last_size());
      rates[size] = follow.last_rate() > 0 ? follow.last_rate() : 1;
      set_speeds(truth, rates, *job.spec);
    } else if (follow.is_exact()) {
      truth.known = WorkKnown::Observed;
      work.units = units_to_end(follow);
      set_speeds(truth, follow.rates(), *job.spec);
    } else {
      truth.known = WorkKnown::Averaged;
      std::map<std::int32_t, double> rates = follow.mean_rates();
      if (rates.empty()) rates = follow.rates();
      work.units = follow.done();
      set_speeds(truth, rates, *job.spec);
    }
    if (work.units <= 0) work.units = 1e-9;  // It ended as soon as it began.
    // Its workers ended well before all was done: it had done more already, and lost it.
    const double rate = follow.last_rate();
    if (follow.told_most() - work.units <= kLeast_s * rate) return;
    work.units = follow.told_most() + kLeast_s * rate;
    set_lives(truth, lives_of(job, true));
  }

  static void set_lives(JobTruth& truth, std::vector<WorkerLife> lives) {
    if (!lives.empty()) truth.job.lives.edit() = std::move(lives);
  }

  // What did not come to its end.
  void finish(std::size_t i) {
    const RecordedJob& job = run_.jobs[i];
    JobTruth& truth = out_.jobs[i];
    if (truth.job.work.units > 0) return;
    WorkFollow follow = follow_of(i, nullptr);
    follow.run();
    follow.go_on_to(std::min(run_.end, job.finished));
    std::map<std::int32_t, double> rates = follow.is_exact() ? follow.rates() : follow.mean_rates();
    const RoleSpec& role = job.spec->roles[elastic_role(*job.spec).index()];
    if (rates.empty()) rates[std::max(1, role.min_replicas)] = 1;
    set_speeds(truth, rates, *job.spec);
    truth.job.work.units = unfinished_units(job, follow, rates, truth.known);
  }

  double unfinished_units(const RecordedJob& job,
                          const WorkFollow& follow,
                          const std::map<std::int32_t, double>& rates,
                          WorkKnown& known) const {
    const double rate = rates.begin()->second;
    const auto at_least = [&](double units) {
      // It did not end in all the time that it worked.
      const double worked = std::max(follow.done(), rate * follow.worked_s());
      return std::max(units, worked + rate * kLeast_s);
    };
    for (std::size_t k = job.facts.size(); k-- > 0;) {
      const WorkFact& fact = job.facts[k];
      if (fact.kind != WorkFact::Kind::Report || fact.remaining.is_forever() || fact.rate <= 0)
        continue;
      known = WorkKnown::Reported;
      const double units = fact.done + fact.rate * fact.remaining.in_seconds();
      return at_least(
          rounded(units, [&](double v) { return std::abs(v - units) / fact.rate <= 0.6e-9; }));
    }
    if (job.spec->estimate > Duration::zero() && !job.spec->estimate.is_forever()) {
      known = WorkKnown::Stated;
      return at_least(rate * job.spec->estimate.in_seconds());
    }
    if (const auto seconds = history_.seconds_of(job)) {
      known = WorkKnown::History;
      return at_least(rate * *seconds);
    }
    known = WorkKnown::Nothing;
    const double seconds = std::max(follow.worked_s(), 1.0);
    return at_least(rate * 2 * seconds);
  }

  const RecordedRun& run_;
  std::optional<Duration> rescale_said_;
  RunTruth out_;
  std::vector<WorkHabits> habits_;  ///< [submission].
  Losses losses_;
  double unsaved_s_ = 0;  ///< Longest that work had gone on with nothing of it saved.
  std::vector<std::optional<Duration>> firsts_;
  History history_;
};

}  // namespace

ObservedLosses observed_losses(const RecordedRun& run, Duration rescale) {
  Losses losses;
  ObservedLosses out;
  for (std::size_t i = 0; i < run.jobs.size(); ++i) {
    const WorkHabits habits = habits_of(run, run.jobs[i], std::nullopt);
    WorkFollow(run, run.jobs[i], rescale, habits, &losses).run();
    out.job.resize(losses.lost_s.size(), i);
  }
  out.lost_s = std::move(losses.lost_s);
  out.saved_after_s = std::move(losses.saved_after_s);
  out.from = std::move(losses.from);
  out.to = std::move(losses.to);
  return out;
}

RunTruth truth_of(const RecordedRun& run, std::optional<Duration> rescale_said) {
  return TruthMaker(run, rescale_said).make();
}

}  // namespace orrery::sim
