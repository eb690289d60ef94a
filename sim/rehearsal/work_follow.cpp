#include "sim/rehearsal/work_follow.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/rehearsal/size_rates.hpp"

namespace orrery::sim {
namespace {

constexpr double kEqual = 1e-9;  // Shares by which two figures of one job are the same.

// What is lost in less time than this is what reports of a cluster are late by.
constexpr double kReportNoise_s = 0.02;

// A restored job has gone on for so long at most when its first report is made.
constexpr double kFirstReport_s = 0.1;

}  // namespace

Duration Losses::pause(std::optional<Duration> said) const {
  Duration least;
  for (const Duration each : pauses_least) least = std::max(least, each);
  return usual(pauses).value_or(std::max(least, said.value_or(least)));
}

std::optional<Duration> usual(std::vector<Duration> samples) {
  if (samples.empty()) return std::nullopt;
  std::ranges::sort(samples);
  std::size_t best = 0;
  Duration mode;
  for (std::size_t i = 0; i < samples.size();) {
    std::size_t j = i;
    while (j < samples.size() && samples[j] == samples[i]) ++j;
    if (j - i > best) {
      best = j - i;
      mode = samples[i];
    }
    i = j;
  }
  return best * 2 > samples.size() ? mode : samples[samples.size() / 2];
}

WorkFollow::WorkFollow(const RecordedRun& run,
                       const RecordedJob& job,
                       Duration pause,
                       WorkHabits habits,
                       Losses* losses)
    : run_(run), job_(job), pause_(pause), habits_(habits), losses_(losses) {
  find_rates();
  reports_ = !rates_.empty();
  if (reports_) set_rates(speeds_, rates_, *job_.spec);
  if (const auto all = said_in_all()) said_ = *all;
}

void WorkFollow::run() {
  for (std::size_t i = 0; i < job_.facts.size(); ++i) {
    const WorkFact& fact = job_.facts[i];
    switch (fact.kind) {
      case WorkFact::Kind::Members:
        members(fact);
        break;
      case WorkFact::Kind::Report:
        report(fact, i + 1 < job_.facts.size() ? &job_.facts[i + 1] : nullptr);
        break;
      case WorkFact::Kind::End:
        if (said_ > 0) note(pause_until(said_, fact.at));
        advance(fact.at);
        ended_ = true;
        break;
    }
  }
}

std::map<std::int32_t, double> WorkFollow::mean_rates() const {
  std::map<std::int32_t, double> out;
  for (const auto& [size, seconds] : seconds_at_)
    if (seconds > 0 && gained_at_.at(size) > 0) out[size] = gained_at_.at(size) / seconds;
  return out;
}

// In a cluster a report can come before the last worker's readiness: it is of all of them.
void WorkFollow::find_rates() {
  bool formed = false;
  double early = 0;
  double last = 0;
  std::map<std::int32_t, double> kept;
  for (const WorkFact& fact : job_.facts) {
    if (fact.kind == WorkFact::Kind::Members) {
      formed = fact.any_ready && (fact.whole || (formed && !habits_.waits_for_all));
      if (formed && early > 0) rates_.try_emplace(fact.replicas, early);
      if (formed && last > 0 && fact.replicas > 0) kept.try_emplace(fact.replicas, last);
      if (formed || !fact.any_ready) early = 0;
    } else if (fact.kind == WorkFact::Kind::Report && fact.rate > 0 && fact.replicas > 0) {
      last = fact.rate;
      if (formed)
        rates_.try_emplace(fact.replicas, fact.rate);
      else
        early = fact.rate;
    }
  }
  if (habits_.keeps_rate) rates_.merge(kept);
}

// An oracle tells what remains: then all units are known from the first report on.
std::optional<double> WorkFollow::said_in_all() const {
  for (const WorkFact& fact : job_.facts)
    if (fact.kind == WorkFact::Kind::Report && fact.source == EstimateSource::Oracle &&
        fact.rate > 0 && !fact.remaining.is_forever())
      return fact.done + fact.rate * fact.remaining.in_seconds();
  return std::nullopt;
}

double WorkFollow::rate_at(std::int32_t size) const {
  if (size <= 0) return 0;
  const auto known = rates_.find(size);
  if (known != rates_.end()) return known->second;
  // Without any report one second with the first size is one unit.
  if (rates_.empty()) return static_cast<double>(size) / std::max(1, first_size_);
  return rate_of(speeds_, size);
}

void WorkFollow::advance(Instant to) {
  if (to <= as_of_) return;
  if (goes_on_) {
    const Instant from = std::max(as_of_, paused_until_);
    const double gained = to > from ? rate_ * (to - from).in_seconds() : 0;
    done_ += gained;
    const double seconds = (to - as_of_).in_seconds();
    worked_s_ += seconds;
    gained_at_[size_] += gained;
    seconds_at_[size_] += seconds;
  }
  as_of_ = to;
}

void WorkFollow::members(const WorkFact& fact) {
  if (first_size_ == 0 && fact.whole) first_size_ = fact.replicas;
  advance(fact.at);
  if (fact.whole && !whole_) whole_at_ = fact.at;
  if (!fact.whole && whole_ && !broken_) broken_ = {fact.at, done_};
  whole_ = fact.whole;
  const bool was_working = working_;
  if (!fact.any_ready) working_ = false;
  if (!working_ && fact.whole) {
    working_ = true;
    working_since_ = fact.at;
  }
  if (was_working && working_ && fact.generation != generation_) {
    paused_until_ = std::max(paused_until_, fact.at + pause_);
    changes_.push_back(fact.at);
  } else if (working_ && !was_working) {
    changes_.clear();
  }
  generation_ = fact.generation;
  size_ = fact.replicas;
  const bool was_going_on = was_working && goes_on_;
  goes_on_ = working_ && (fact.whole || !habits_.waits_for_all);
  const bool as_told = goes_on_ && !was_going_on && early_ > 0;
  go_at(fact.at, as_told ? early_ : goes_on_ ? rate_at(size_) : 0);
  if (goes_on_ || !fact.any_ready) early_ = 0;
}

void WorkFollow::go_at(Instant from, double rate) {
  rate_ = rate;
  if (stretches_.empty() || stretches_.back().rate != rate) stretches_.push_back({from, rate});
}

WorkFollow::Pause WorkFollow::pause_until(double done, Instant at) const {
  if (changes_.empty()) return {};
  const Instant newest = changes_.back();
  if (!working_ || rate_ <= 0) return {newest >= at};
  const Duration took = pause_of_each(stretches_, changes_, done - told_, at);
  // What waits for others until now may pause yet.
  const bool waits = habits_.waits_for_all && at <= whole_at_;
  const bool stands = took > Duration::zero() && newest + took >= at - Duration{1'000};
  return {newest >= at || waits || stands, took};
}

// Of pauses that are as long the last one is over last.
void WorkFollow::note(const Pause& pause) {
  if (pause.may_last)
    changes_ = {changes_.back()};
  else
    changes_.clear();
  if (losses_ == nullptr || pause.took == Duration::zero()) return;
  (pause.may_last ? losses_->pauses_least : losses_->pauses).push_back(pause.took);
}

// A failure that leaves more than was saved before tells what it leaves, and then how far the work
// had come. Else the work is what was saved then, and what was done since by who was left.
WorkFollow::Taken WorkFollow::taken_back(const WorkFact& fact, const WorkFact* next) const {
  if (next != nullptr && next->kind == WorkFact::Kind::Report && next->at == fact.at &&
      next->done > fact.done && (next->rate <= 0 || tells_of_a_loss(fact)))
    return {next->done - fact.done, fact.at, next->rate > 0};
  if (const double meanwhile = done_by_those_left(fact); meanwhile > 0)
    return {broken_->done - saved_.value_or(0), working_since_, false, meanwhile};
  if (!may_be_back(fact)) return {};
  const double saved = saved_.value_or(0);
  const double since = expected_at(fact.at) - broken_->done;
  if (fact.done > saved + since + kFirstReport_s * fact.rate) return {};
  // No more was saved since, so that this tells nothing of when it is.
  return {broken_->done - saved, working_since_};
}

// Work that goes on beside a checkpoint is told so too, with each that is written.
bool WorkFollow::tells_of_a_loss(const WorkFact& fact) const {
  return fact.checkpointed && !first_failure(run_, job_, fact.at, fact.at).is_never();
}

// Who is left when a node falls silent works on until that is found, and saves that as it stops: it
// counts as gone from the silence on. Had something been saved between the last report and the
// failure, there would be more.
double WorkFollow::done_by_those_left(const WorkFact& fact) const {
  if (!broken_ || goes_on_ || !fact.checkpointed || fact.any_ready) return 0;
  const double saved = saved_.value_or(0);
  const double meanwhile = fact.rate * (fact.at - broken_->at).in_seconds();
  const double noise = kReportNoise_s * fact.rate;
  if (broken_->done - saved <= noise || std::abs(fact.done - saved - meanwhile) > noise) return 0;
  const bool failed = !first_failure(run_, job_, told_at_, fact.at).is_never();
  return failed ? meanwhile : 0;
}

bool WorkFollow::may_be_back(const WorkFact& fact) const {
  if (!broken_ || (fact.checkpointed && fact.done > saved_.value_or(0))) return false;
  if ((broken_->done - saved_.value_or(0)) / fact.rate <= kReportNoise_s) return false;
  return !first_failure(run_, job_, told_at_, fact.at).is_never();
}

double WorkFollow::expected_at(Instant at) const {
  const Instant from = std::max(as_of_, paused_until_);
  return done_ + (at > from ? rate_ * (at - from).in_seconds() : 0);
}

void WorkFollow::lose(const WorkFact& fact, const Taken& taken) {
  if (losses_ == nullptr) return;
  double rate = fact.rate;
  // Those left were not as fast as all were before.
  if (taken.meanwhile > 0)
    for (const WorkStretch& stretch : stretches_)
      if (stretch.rate > 0) rate = stretch.rate;
  const double seconds = taken.units / rate;
  losses_->lost_s.push_back(seconds);
  losses_->saved_after_s.push_back((taken.at - working_since_).in_seconds() - seconds);
  losses_->from.push_back(told_at_);
  losses_->to.push_back(fact.at);
}

void WorkFollow::report(const WorkFact& fact, const WorkFact* next) {
  told_most_ = std::max(told_most_, fact.done);
  if (std::exchange(is_told_as_lost_, false)) return;
  if (fact.rate <= 0) {
    // What it saved as it ended; else how far it had come before a failure took it back.
    if (fact.checkpointed) saved_ = fact.done;
    return;
  }
  const bool early = habits_.waits_for_all && !fact.whole;
  const bool same_rate = early || rate_at(fact.replicas) == fact.rate;
  if (!same_rate && fact.replicas > 0) exact_ = false;
  const Taken back = taken_back(fact, next);
  const double done = fact.done + back.units;
  Pause pause = pause_until(done, fact.at);
  advance(fact.at);
  done_ += back.meanwhile;
  if (back.units > 0) lose(fact, back);
  is_told_as_lost_ = back.by_next;
  const double difference = done - done_;
  const double scale = std::max(std::abs(done_), std::abs(done));
  if (std::abs(difference) > kEqual * std::max(scale, fact.rate)) {
    unexpected_s_ += std::abs(difference) / fact.rate;
    // Of a job that says nothing of checkpoints all that is missing is lost.
    const bool lost =
        back.units <= 0 && !saved_ && may_be_back(fact) && -difference / fact.rate > kReportNoise_s;
    if (lost) {
      lose(fact, {-difference, fact.at});
      pause = {!changes_.empty() && changes_.back() >= fact.at};
    } else {
      gained_at_[size_ > 0 ? size_ : fact.replicas] += difference;
      exact_ = false;
    }
  }
  note(pause);
  if (fact.checkpointed) saved_ = fact.done;
  done_ = told_ = fact.done;
  told_at_ = fact.at;
  broken_.reset();
  stretches_.clear();
  go_at(fact.at, goes_on_ ? fact.rate : rate_);
  if (!goes_on_) early_ = fact.rate;
}

WorkHabits habits_of(const RecordedRun& run,
                     const RecordedJob& job,
                     std::optional<Duration> pause_said) {
  WorkHabits out;
  std::pair<double, Duration> least{0, Duration::forever()};
  for (const WorkHabits habits :
       {WorkHabits{}, WorkHabits{true, false}, WorkHabits{false, true}, WorkHabits{true, true}}) {
    Losses seen;
    WorkFollow(run, job, Duration::zero(), habits, &seen).run();
    const Duration pause = seen.pause(pause_said);
    WorkFollow follow(run, job, pause, habits, nullptr);
    follow.run();
    // Rounding is no difference.
    const std::pair here{std::round(follow.unexpected_s() * 1e6), pause};
    if (!least.second.is_forever() && here >= least) continue;
    out = habits;
    least = here;
    if (here == std::pair{0.0, Duration::zero()}) break;
  }
  return out;
}

Instant first_failure(const RecordedRun& run, const RecordedJob& job, Instant from, Instant to) {
  Instant first = Instant::never();
  const auto take = [&](Instant at) {
    if (at >= from && at <= to) first = std::min(first, at);
  };
  for (const RecordedEnd& end : job.ends)
    if (end.at < job.finished) take(end.at);
  for (const scenarios::Fault& fault : run.faults) take(fault.at);
  return first;
}

}  // namespace orrery::sim
