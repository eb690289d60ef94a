#include "policies/twin/twin.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/invariant.hpp"
#include "policies/twin/anew_view.hpp"

namespace orrery::policies {
namespace {

constexpr double kMillion = 1e6;

/// The instant, or the horizon where it lies behind that.
Instant within(Instant at, Instant horizon) { return std::min(at, horizon); }

// From now on: what has passed is the same for all, and would hide what can still be gained.
double time_left_s(const RehearsedRun& run, Instant now, Instant horizon) {
  double sum = 0;
  for (const RehearsedJob& job : run.jobs) sum += (within(job.ended, horizon) - now).in_seconds();
  return sum / static_cast<double>(run.jobs.size());
}

// The last end, and beyond the horizon, which is as late for all, what is not done by then.
double makespan_s(const RehearsedRun& run, Instant now, Instant horizon) {
  Instant last = now;
  std::size_t left = 0;
  for (const RehearsedJob& job : run.jobs) {
    last = std::max(last, within(job.ended, horizon));
    if (job.ended > horizon) ++left;
  }
  const double part = static_cast<double>(left) / static_cast<double>(run.jobs.size());
  return (last - now).in_seconds() * (1 + part);
}

double p99_wait_s(const RehearsedRun& run, Instant horizon) {
  std::vector<Duration> waits;
  for (const RehearsedJob& job : run.jobs)
    waits.push_back(within(job.started, horizon) - job.submitted);
  const std::size_t rank = (waits.size() * 99 + 99) / 100 - 1;
  std::nth_element(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(rank), waits.end());
  return waits[rank].in_seconds();
}

// Where all came to the end: the last of all ends.
Instant horizon_of(std::span<const RehearsedRun> runs, Instant now) {
  Instant horizon = Instant::never();
  for (const RehearsedRun& run : runs) horizon = std::min(horizon, run.until);
  if (!horizon.is_never()) return horizon;
  horizon = now;
  for (const RehearsedRun& run : runs)
    for (const RehearsedJob& job : run.jobs)
      if (!job.ended.is_never()) horizon = std::max(horizon, job.ended);
  return horizon;
}

std::string whole_seconds(double seconds) {
  return std::to_string(static_cast<std::int64_t>(seconds + 0.5)) + " s";
}

std::string_view in_words(TwinObjective objective) {
  switch (objective) {
    case TwinObjective::MeanJct:
      return "mean time to completion";
    case TwinObjective::Makespan:
      return "end of the last job";
    case TwinObjective::P99Wait:
      return "wait of 99 %";
  }
  return {};
}

}  // namespace

std::vector<double> scores_of(TwinObjective objective,
                              Instant now,
                              std::span<const RehearsedRun> runs) {
  const Instant horizon = horizon_of(runs, now);
  std::vector<double> scores;
  for (const RehearsedRun& run : runs) {
    if (run.jobs.empty()) {
      scores.push_back(0);
      continue;
    }
    switch (objective) {
      case TwinObjective::MeanJct:
        scores.push_back(time_left_s(run, now, horizon));
        break;
      case TwinObjective::Makespan:
        scores.push_back(makespan_s(run, now, horizon));
        break;
      case TwinObjective::P99Wait:
        scores.push_back(p99_wait_s(run, horizon));
        break;
    }
  }
  return scores;
}

Twin::Twin(TwinParameters parameters,
           std::vector<TwinCandidate> candidates,
           std::shared_ptr<Rehearsal> rehearsal)
    : parameters_(parameters),
      candidates_(std::move(candidates)),
      rehearsal_(std::move(rehearsal)),
      ahead_(candidates_.size(), 0),
      rested_(candidates_.size(), 0) {
  invariant(!candidates_.empty() && rehearsal_ != nullptr, "a twin has candidates and a model");
  std::int64_t period_ns = parameters_.period.ns;
  std::vector<Duration> periods;
  for (const TwinCandidate& candidate : candidates_) {
    const std::unique_ptr<Policy> policy = candidate.make();
    const Triggers own = policy->triggers();
    triggers_.submission |= own.submission;
    triggers_.completion |= own.completion;
    triggers_.capacity |= own.capacity;
    period_ns = std::gcd(period_ns, own.period.ns);
    periods.push_back(own.period);
    sizes_jobs_ |= policy->sizes_jobs();
    tunes_batches_ |= policy->tunes_batches();
  }
  // Periods that hardly ever meet are not worth a plan each second.
  triggers_.period = std::max(Duration{period_ns}, Duration::seconds(1));
  current_ = candidates_.front().make();
  // What all candidates stand behind is a part of its name, as of theirs.
  const std::string_view first = current_->name();
  name_ += first.substr(std::min(first.find('+'), first.size()));
  put_in_turn(periods);
}

// What is compared ends where the first rehearsal ends with its budget, so that the others need go
// no further. The more often a candidate is asked, the less far it comes.
void Twin::put_in_turn(const std::vector<Duration>& periods) {
  in_turn_.resize(candidates_.size());
  std::iota(in_turn_.begin(), in_turn_.end(), std::size_t{0});
  const auto length = [&](std::size_t i) {
    return periods[i] > Duration::zero() ? periods[i] : Duration::forever();
  };
  std::ranges::stable_sort(in_turn_, {}, length);
}

Plan Twin::allocate(const JobView& job, const ClusterView& view) {
  ended_.pass(view);
  if (!std::exchange(is_new_, false)) return current_->allocate(job, view);
  return current_->allocate(job, AnewView(view));
}

Plan Twin::optimize(const ClusterView& view) {
  ended_.look(view);
  PlanChoice choice;
  if (!std::exchange(told_, true))
    choice = {candidates_[in_force_].name, "in force until another has shown to be better"};
  const std::int64_t cycle = view.now().ns / parameters_.period.ns;
  if (cycle > cycle_) {
    cycle_ = cycle;
    if ((cycle_ >= due_ || is_burst(view)) && is_worth_rehearsing(view))
      if (PlanChoice made = decide(view); !made.empty()) choice = std::move(made);
  }
  Plan plan =
      std::exchange(is_new_, false) ? current_->optimize(AnewView(view)) : current_->optimize(view);
  plan.choice = std::move(choice);
  return plan;
}

// A burst of jobs may want another policy at once.
bool Twin::is_burst(const ClusterView& view) const {
  constexpr std::uint64_t kFewJobs = 4;
  return view.waiting().size() >= 2 * waiting_ + kFewJobs;
}

void Twin::decide_next(const ClusterView& view, bool is_close) {
  constexpr std::int64_t kCalm = 48;  // Eight hours at the default period.
  calm_ = is_close ? 0 : calm_ + 1;
  due_ = cycle_ + std::clamp<std::int64_t>(calm_ / kCalm, 1, parameters_.pause_max);
  waiting_ = view.waiting().size();
}

// While nothing waits and no job can change its size, all candidates do the same: nothing.
bool Twin::is_worth_rehearsing(const ClusterView& view) const {
  if (candidates_.size() < 2) return false;
  if (view.waiting().size() > 0) return true;
  return sizes_jobs_ && std::ranges::any_of(view.holding(), [&](JobId id) {
           const JobRow& row = view.row(id);
           return row.preemptible && row.max_replicas > row.min_replicas;
         });
}

std::unique_ptr<Policy> Twin::copy_of_current() const {
  std::unique_ptr<Policy> copy = candidates_[in_force_].make();
  ByteWriter out;
  current_->save(out);
  ByteReader in(out.bytes());
  copy->load(in);
  return copy;
}

// In the order of candidates. While it is calm, one that is behind by a margin does not come to be
// the best from one period to the next. The first in turn never rests: it says how far the others
// go.
std::vector<std::size_t> Twin::rehearsed_now(const ClusterView& view) {
  constexpr std::int64_t kCalmBeforeRest = 12;  // Two hours at the default period.
  const auto limit = static_cast<std::int64_t>(std::llround(-parameters_.margin * kMillion));
  const bool may_rest = calm_ >= kCalmBeforeRest && !is_burst(view);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const bool rests = may_rest && i != in_force_ && i != in_turn_.front() && ahead_[i] < limit;
    rested_[i] = rests && rested_[i] == 0 ? 1 : 0;
    if (rested_[i] == 0) out.push_back(i);
  }
  return out;
}

std::vector<RehearsedRun> Twin::rehearse(const ClusterView& view,
                                         std::span<const std::size_t> candidates) const {
  RehearsalOptions options;
  options.events_max = parameters_.events_max / candidates_.size();
  options.restart = parameters_.restart;
  options.draw = parameters_.seed + static_cast<std::uint64_t>(cycle_);
  options.ended = ended_.ended();
  std::vector<RehearsedRun> runs(candidates.size());
  for (const std::size_t i : in_turn_) {
    const auto place = std::ranges::find(candidates, i);
    if (place == candidates.end()) continue;
    const std::unique_ptr<Policy> policy =
        i == in_force_ ? copy_of_current() : candidates_[i].make();
    auto run = rehearsal_->run(view, *policy, options);
    if (!run) return {};
    options.until = std::min(options.until, run->until);
    runs[static_cast<std::size_t>(place - candidates.begin())] = std::move(*run);
  }
  return runs;
}

PlanChoice Twin::decide(const ClusterView& view) {
  const std::vector<std::size_t> candidates = rehearsed_now(view);
  const std::vector<RehearsedRun> runs = rehearse(view, candidates);
  if (runs.empty() || runs.front().jobs.empty()) return {};
  const std::vector<double> scores = scores_of(parameters_.objective, view.now(), runs);
  const double of_current = scores[static_cast<std::size_t>(
      std::ranges::find(candidates, in_force_) - candidates.begin())];
  std::size_t best = in_force_;
  for (std::size_t place = 0; place < candidates.size(); ++place) {
    const std::size_t i = candidates[place];
    const double more = of_current - scores[place];
    const double part = of_current > 0 ? more / of_current : 0;
    ahead_[i] = (ahead_[i] + static_cast<std::int64_t>(std::llround(part * kMillion))) / 2;
    if (ahead_[i] > ahead_[best]) best = i;
  }
  const auto margin = static_cast<std::int64_t>(std::llround(parameters_.margin * kMillion));
  decide_next(view, ahead_[best] > margin / 4);
  if (ahead_[best] <= margin) return {};
  const std::size_t before = in_force_;
  adopt(best);
  return {candidates_[best].name, reason_of(candidates, scores, runs, before)};
}

void Twin::adopt(std::size_t candidate) {
  in_force_ = candidate;
  current_ = candidates_[candidate].make();
  is_new_ = true;
  std::ranges::fill(ahead_, 0);
  std::ranges::fill(rested_, 0);
}

std::string Twin::reason_of(std::span<const std::size_t> candidates,
                            std::span<const double> scores,
                            std::span<const RehearsedRun> runs,
                            std::size_t before) const {
  std::uint64_t events = 0;
  for (const RehearsedRun& run : runs) events += run.events;
  std::string text = "in place of " + candidates_[before].name + ": rehearsed " +
                     std::string(in_words(parameters_.objective)) + " of " +
                     std::to_string(runs.front().jobs.size()) + " jobs ";
  for (std::size_t i = 0; i < scores.size(); ++i)
    text += (i == 0 ? "" : ", ") + candidates_[candidates[i]].name + " " + whole_seconds(scores[i]);
  return text + " (" + std::to_string(events) + " events)";
}

void Twin::save(ByteWriter& out) const {
  out.varint(in_force_);
  out.boolean(is_new_);
  out.boolean(told_);
  out.signed_varint(cycle_);
  out.signed_varint(due_);
  out.signed_varint(calm_);
  out.varint(waiting_);
  for (const std::int64_t ahead : ahead_) out.signed_varint(ahead);
  for (const std::uint8_t rested : rested_) out.u8(rested);
  ended_.save(out);
  ByteWriter own;
  current_->save(own);
  out.string(own.text());
}

void Twin::load(ByteReader& in) {
  in_force_ = static_cast<std::size_t>(in.varint()) % candidates_.size();
  is_new_ = in.boolean();
  told_ = in.boolean();
  cycle_ = in.signed_varint();
  due_ = in.signed_varint();
  calm_ = in.signed_varint();
  waiting_ = in.varint();
  for (std::int64_t& ahead : ahead_) ahead = in.signed_varint();
  for (std::uint8_t& rested : rested_) rested = in.u8();
  ended_.load(in);
  current_ = candidates_[in_force_].make();
  const std::string own(in.string());
  ByteReader reader(std::as_bytes(std::span(own)));
  current_->load(reader);
}

}  // namespace orrery::policies
