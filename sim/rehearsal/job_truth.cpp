#include "sim/rehearsal/job_truth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace orrery::sim {
namespace {

constexpr double kSame = 1e-9;  ///< Shares by which two figures of one job are the same.

/// What most samples are, else their median; nothing where there are none.
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

/// A time that was lost between two reports, in seconds, and what it may have been.
struct Losses {
  std::vector<Duration> pauses;       ///< After a change of membership while work went on.
  std::vector<double> saved_after_s;  ///< From the begin of work to what was saved.
  std::vector<double> lost_s;         ///< From there to the failure.
  std::vector<Instant> from;          ///< The report before,
  std::vector<Instant> to;            ///< and the one after.
};

/// Follows the work of one job through its facts.
class WorkFollow {
 public:
  WorkFollow(const RecordedJob& job, Duration pause, Losses* losses)
      : job_(job), pause_(pause), losses_(losses) {
    find_rates();
    reports_ = !rates_.empty();
    if (const auto all = said_in_all()) said_ = *all;
  }

  void run() {
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
          if (said_ > 0) compare(said_, fact.at);
          advance(fact.at);
          ended_ = true;
          break;
      }
    }
  }

  /// The journal ends, and the job had not.
  void go_on_to(Instant end) {
    if (!ended_) advance(end);
  }

  bool reports() const { return reports_; }

  bool ended() const { return ended_; }

  /// Whether each size had one rate, and reports said what these lead to.
  bool is_exact() const { return reports_ && exact_; }

  /// Work done so far.
  double done() const { return done_; }

  /// Work that failures took.
  double lost() const { return lost_; }

  /// Time during which work went on.
  double worked_s() const { return worked_s_; }

  double last_rate() const { return rate_; }

  std::int32_t last_size() const { return size_; }

  const std::map<std::int32_t, double>& rates() const { return rates_; }

  /// Units per second of each size, over all the time at that size.
  std::map<std::int32_t, double> mean_rates() const {
    std::map<std::int32_t, double> out;
    for (const auto& [size, seconds] : seconds_at_)
      if (seconds > 0 && gained_at_.at(size) > 0) out[size] = gained_at_.at(size) / seconds;
    return out;
  }

  Instant as_of() const { return as_of_; }

  /// All units, as the job itself said; 0: it did not.
  double said() const { return said_; }

 private:
  // In a cluster a report can come before the last worker's readiness: it is of all of them.
  void find_rates() {
    bool formed = false;
    double early = 0;
    for (const WorkFact& fact : job_.facts) {
      if (fact.kind == WorkFact::Kind::Members) {
        formed = fact.any_ready && (formed || fact.whole);
        if (formed && early > 0) rates_.try_emplace(fact.replicas, early);
        if (formed || !fact.any_ready) early = 0;
      } else if (fact.kind == WorkFact::Kind::Report && fact.rate > 0 && fact.replicas > 0) {
        if (formed)
          rates_.try_emplace(fact.replicas, fact.rate);
        else
          early = fact.rate;
      }
    }
  }

  // An oracle tells what remains: then all units are known from the first report on.
  std::optional<double> said_in_all() const {
    for (const WorkFact& fact : job_.facts)
      if (fact.kind == WorkFact::Kind::Report && fact.source == EstimateSource::Oracle &&
          fact.rate > 0 && !fact.remaining.is_forever())
        return fact.done + fact.rate * fact.remaining.in_seconds();
    return std::nullopt;
  }

  double rate_at(std::int32_t size) const {
    if (size <= 0) return 0;
    const auto known = rates_.find(size);
    if (known != rates_.end()) return known->second;
    // Without any report one second with the first size is one unit.
    if (rates_.empty()) return static_cast<double>(size) / std::max(1, first_size_);
    const auto& [some, rate] = *rates_.begin();
    return rate * size / some;
  }

  void advance(Instant to) {
    if (to <= as_of_) return;
    if (working_) {
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

  void members(const WorkFact& fact) {
    if (first_size_ == 0 && fact.whole) first_size_ = fact.replicas;
    advance(fact.at);
    if (fact.whole && !whole_) whole_at_ = fact.at;
    if (!fact.whole && whole_) {
      broken_ = true;
      broken_at_ = fact.at;
    }
    whole_ = fact.whole;
    const bool was_working = working_;
    bool pauses_now = false;
    if (!fact.any_ready) working_ = false;
    if (!working_ && fact.whole) {
      working_ = true;
      working_since_ = fact.at;
    }
    if (was_working && working_ && fact.generation != generation_) {
      paused_until_ = std::max(paused_until_, fact.at + pause_);
      pause_open_ = true;
      pause_from_ = fact.at;
      pauses_now = true;
    } else if (working_ && !was_working) {
      pause_open_ = false;
    }
    generation_ = fact.generation;
    size_ = fact.replicas;
    rate_ = working_ ? rate_at(size_) : 0;
    if (working_ && !was_working && early_ > 0) rate_ = early_;
    if (working_ || !fact.any_ready) early_ = 0;
    if (pauses_now) pause_rate_ = rate_;
  }

  // What the job has done by `at` is known.
  void compare(double done, Instant at) {
    if (!working_ || rate_ <= 0) return;
    const Instant from = std::max(as_of_, paused_until_);
    const double expected = done_ + (at > from ? rate_ * (at - from).in_seconds() : 0);
    // It stood still at the rate that it would have had then.
    const double missing_s = (expected - done) / (pause_open_ ? pause_rate_ : rate_);
    if (missing_s <= 1e-6 || losses_ == nullptr) return;
    // Since the change nothing else has slowed it down.
    if (pause_open_ && pause_rate_ > 0)
      losses_->pauses.push_back(pause_ + Duration::from_seconds(missing_s));
  }

  /// Whether a failure took work back, where less is done than was expected; else the job had gone
  /// on more slowly, or stood still. `next` is the fact after this one, or null.
  bool is_loss(const WorkFact& fact, const WorkFact* next) const {
    // What was saved, and how far it had come.
    if (next != nullptr && next->kind == WorkFact::Kind::Report && next->rate <= 0 &&
        next->at == fact.at && next->done > fact.done)
      return true;
    if (!broken_) return false;
    if (!saved_) return true;
    constexpr double kNear_s = 0.1;
    const Instant from = std::max(whole_at_, told_at_);
    const double began = fact.done - fact.rate * std::max((fact.at - from).in_seconds(), 0.0);
    if (began > *saved_ + kNear_s * fact.rate) return false;  // It did not go back so far.
    return told_at_ != saved_at_ || broken_at_ != saved_at_;  // Else nothing was done since.
  }

  void report(const WorkFact& fact, const WorkFact* next) {
    if (fact.checkpointed) {
      saved_ = fact.done;
      saved_at_ = fact.at;
    }
    if (fact.rate <= 0) return;  // How far it had come before a failure took it back.
    const bool same_rate = rate_at(fact.replicas) == fact.rate;
    if (!same_rate && fact.replicas > 0) exact_ = false;
    if (pause_open_ && fact.at > pause_from_) {
      compare(fact.done, fact.at);
      pause_open_ = false;
    }
    advance(fact.at);
    const double difference = fact.done - done_;
    const double scale = std::max(std::abs(done_), std::abs(fact.done));
    if (std::abs(difference) > kSame * std::max(scale, fact.rate)) {
      if (difference < 0 && !is_loss(fact, next)) {
        gained_at_[size_ > 0 ? size_ : fact.replicas] += difference;
        exact_ = exact_ && broken_;
      } else if (difference < 0) {
        lost_ += -difference;
        if (losses_ != nullptr) {
          losses_->lost_s.push_back(-difference / fact.rate);
          losses_->saved_after_s.push_back((fact.at - working_since_).in_seconds() -
                                           (-difference / fact.rate));
          losses_->from.push_back(told_at_);
          losses_->to.push_back(fact.at);
        }
      } else {
        gained_at_[size_ > 0 ? size_ : fact.replicas] += difference;
        exact_ = false;
      }
    }
    done_ = fact.done;
    told_at_ = fact.at;
    broken_ = broken_ && !whole_;
    if (working_)
      rate_ = fact.rate;
    else
      early_ = fact.rate;
  }

  const RecordedJob& job_;
  Duration pause_;
  Losses* losses_;
  std::map<std::int32_t, double> rates_;
  std::map<std::int32_t, double> gained_at_;
  std::map<std::int32_t, double> seconds_at_;
  bool reports_ = false;
  bool exact_ = true;
  bool ended_ = false;
  bool working_ = false;
  bool pause_open_ = false;
  bool whole_ = false;
  bool broken_ = false;  ///< Some worker has been missing since the last report.
  double done_ = 0;
  double pause_rate_ = 0;
  double rate_ = 0;
  double early_ = 0;  ///< Reported before all workers were ready, for when they are.
  double lost_ = 0;
  double worked_s_ = 0;
  double said_ = 0;
  std::int32_t size_ = 0;
  std::int32_t first_size_ = 0;
  Generation generation_;
  Instant as_of_;
  std::optional<double> saved_;  ///< In the last checkpoint that was told of.
  Instant saved_at_;
  Instant told_at_;
  Instant whole_at_;
  Instant broken_at_;
  Instant pause_from_;
  Instant working_since_;
  Instant paused_until_;
};

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
double units_to_end(const RecordedJob& job, Duration pause) {
  // The last stretch at one rate, as the model has it.
  WorkFollow follow(job, pause, nullptr);
  follow.run();
  const double rate = follow.last_rate();
  const double units = follow.done();
  if (rate <= 0) return units;
  // Of the last stretch: from_seconds rounds to nanoseconds, so a little less or more is the same.
  return rounded(units,
                 [&](double candidate) { return std::abs(candidate - units) / rate <= 0.4e-9; });
}

void set_rates(scenarios::WorkSpec& work,
               const std::map<std::int32_t, double>& rates,
               const JobSpec& spec,
               bool& assumed) {
  const auto& [size, rate] = *rates.begin();
  work.base_replicas = size;
  work.base_rate = rate;
  work.scaling = scenarios::ScalingKind::Linear;
  const RoleSpec& role = spec.roles[elastic_role(spec).index()];
  const std::int32_t most = rates.rbegin()->first;
  assumed = role.min_replicas < size || role.max_replicas > most;
  if (rates.size() == 1) return;
  work.scaling = scenarios::ScalingKind::Table;
  if (size > 1) work.table.push_back({1, 1.0 / size});
  for (const auto& [replicas, each] : rates) {
    // base_rate * throughput has to give the rate to the last bit.
    double throughput = each / rate;
    if (rate * throughput != each)
      for (const double toward : {0.0, std::numeric_limits<double>::max()}) {
        const double near = std::nextafter(throughput, toward);
        if (rate * near == each) throughput = near;
      }
    work.table.push_back({replicas, throughput});
  }
  if (role.max_replicas <= most) return;
  // Beyond what was seen it goes on as between the two largest sizes.
  const scenarios::ScalingPoint& last = work.table.back();
  const scenarios::ScalingPoint& before = work.table[work.table.size() - 2];
  const double slope = (last.throughput - before.throughput) / (last.replicas - before.replicas);
  const double more = std::max(0.0, slope) * (role.max_replicas - most);
  work.table.push_back({role.max_replicas, last.throughput + more});
}

/// Lives that end other than by order. What ended with all work done ends so again.
std::vector<WorkerLife> lives_of(const RecordedJob& job) {
  std::vector<WorkerLife> out;
  for (const RecordedEnd& end : job.ends) {
    const bool well = end.life.fact == WorkerFact::Exited && end.life.exit_code == 0;
    if (!well || end.at < job.finished) out.push_back(end.life);
  }
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
  explicit TruthMaker(const RecordedRun& run) : run_(run) {}

  RunTruth make() {
    out_.jobs.resize(run_.jobs.size());
    Losses pauses;
    for (const RecordedJob& job : run_.jobs) WorkFollow(job, Duration::zero(), &pauses).run();
    out_.timing.rescale = usual(pauses.pauses).value_or(Duration::zero());
    for (const RecordedJob& job : run_.jobs) WorkFollow(job, out_.timing.rescale, &losses_).run();
    find_checkpoints();
    find_start_times();
    std::vector<Duration> stops;
    for (const StopSample& stop : run_.stops) stops.push_back(stop.took);
    out_.timing.stop = usual(stops).value_or(Duration::zero());
    out_.planner_latency = usual(run_.plan_delays).value_or(Duration::zero());
    for (std::size_t i = 0; i < run_.jobs.size(); ++i) begin(i);
    for (std::size_t i = 0; i < run_.jobs.size(); ++i) finish(i);
    return std::move(out_);
  }

 private:
  // The longest interval whose multiples are all that was saved, and that no loss exceeds.
  void find_checkpoints() {
    std::vector<double> saved;
    double lost = 0;
    for (std::size_t i = 0; i < losses_.lost_s.size(); ++i) {
      lost = std::max(lost, losses_.lost_s[i]);
      if (losses_.saved_after_s[i] > 1e-6) saved.push_back(losses_.saved_after_s[i]);
    }
    if (lost <= 0) return;
    double interval = 2 * lost;
    for (int k = 1; k <= 100'000 && !saved.empty(); ++k) {
      const double candidate = saved.front() / k;
      if (candidate < lost * (1 - kSame)) break;
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
    out_.assumed.push_back(
        "failures took work back: checkpoints at an interval of " +
        std::to_string(
            static_cast<std::int64_t>(std::ceil(out_.timing.checkpoint_interval.in_seconds()))) +
        " s or less explain it; --set timing.checkpoint_interval=... says otherwise");
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
    out_.timing.restore = usual(restores).value_or(Duration::zero());
  }

  void begin(std::size_t i) {
    const RecordedJob& job = run_.jobs[i];
    JobTruth& truth = out_.jobs[i];
    truth.job.spec = job.spec;
    truth.job.submit = job.submit;
    if (firsts_[i] && *firsts_[i] != out_.timing.start)
      truth.job.times.edit().ready_after = *firsts_[i];
    if (auto lives = lives_of(job); !lives.empty()) truth.job.lives.edit() = std::move(lives);
    WorkFollow follow(job, out_.timing.rescale, nullptr);
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
      set_rates(work, rates, *job.spec, truth.sizes_assumed);
    } else if (follow.is_exact()) {
      truth.known = WorkKnown::Observed;
      work.units = units_to_end(job, out_.timing.rescale);
      set_rates(work, follow.rates(), *job.spec, truth.sizes_assumed);
    } else {
      truth.known = WorkKnown::Averaged;
      std::map<std::int32_t, double> rates = follow.mean_rates();
      if (rates.empty()) rates = follow.rates();
      work.units = follow.done();
      set_rates(work, rates, *job.spec, truth.sizes_assumed);
    }
    if (work.units <= 0) work.units = 1e-9;  // It ended as soon as it began.
  }

  // What did not come to its end.
  void finish(std::size_t i) {
    const RecordedJob& job = run_.jobs[i];
    JobTruth& truth = out_.jobs[i];
    if (truth.job.work.units > 0) return;
    WorkFollow follow(job, out_.timing.rescale, nullptr);
    follow.run();
    follow.go_on_to(std::min(run_.end, job.finished));
    std::map<std::int32_t, double> rates = follow.is_exact() ? follow.rates() : follow.mean_rates();
    const RoleSpec& role = job.spec->roles[elastic_role(*job.spec).index()];
    if (rates.empty()) rates[std::max(1, role.min_replicas)] = 1;
    set_rates(truth.job.work, rates, *job.spec, truth.sizes_assumed);
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
      return std::max(units, worked + rate * 1e-3);
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
  RunTruth out_;
  Losses losses_;
  std::vector<std::optional<Duration>> firsts_;
  History history_;
};

}  // namespace

ObservedLosses observed_losses(const RecordedRun& run, Duration rescale) {
  Losses losses;
  ObservedLosses out;
  for (std::size_t i = 0; i < run.jobs.size(); ++i) {
    WorkFollow(run.jobs[i], rescale, &losses).run();
    out.job.resize(losses.lost_s.size(), i);
  }
  out.lost_s = std::move(losses.lost_s);
  out.saved_after_s = std::move(losses.saved_after_s);
  out.from = std::move(losses.from);
  out.to = std::move(losses.to);
  return out;
}

RunTruth truth_of(const RecordedRun& run) { return TruthMaker(run).make(); }

}  // namespace orrery::sim
