#include "sim/calibration/observed_times.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sim/rehearsal/job_truth.hpp"
#include "sim/rehearsal/standstill.hpp"
#include "sim/rehearsal/work_follow.hpp"

namespace orrery::sim {
namespace {

/// A report that comes with a change comes within so many times the noise.
constexpr std::int64_t kLateReport = 6;

/// Whether a start went on from what was saved: what the job says first after it. Where it says
/// nothing more, a job that had not worked before cannot have; of another one nobody knows.
std::optional<bool> goes_on(const RecordedJob& job, const StartSample& start, Duration noise) {
  for (const WorkFact& fact : job.facts)
    if (fact.kind == WorkFact::Kind::Report && fact.rate > 0 && fact.at >= start.up_at - noise)
      return fact.done > 0;
  if (start.restores) return std::nullopt;
  return false;
}

/// Whether a worker of the job ended by itself then, or any node or device was lost.
bool failed_between(const RecordedRun& run, const RecordedJob& job, Instant from, Instant to) {
  return !first_failure(run, job, from, to).is_never();
}

/// Follows the work of one job for what stood still, between each two of its reports: for changes
/// of membership, and for checkpoints.
///
/// A report tells how fast work goes on from then, so what is missing at the next one stood still.
/// It is the changes' where nothing else happened: the same workers work, none failed, no node or
/// device was lost. A change at the instant of a report, give or take the noise, comes before it.
/// Where the work stands still up to a report, the pause of the last change may go on behind it, so
/// that the next one tells how long it was.
class StandstillReader {
 public:
  StandstillReader(const RecordedRun& run,
                   const RecordedJob& job,
                   Duration noise,
                   ObservedTimes& out)
      : run_(run), job_(job), noise_(noise), out_(out) {}

  void run() {
    for (const WorkFact& fact : job_.facts) {
      switch (fact.kind) {
        case WorkFact::Kind::Members:
          members(fact);
          break;
        case WorkFact::Kind::Report:
          report(fact);
          break;
        case WorkFact::Kind::End:
          if (all_units_ > 0) look(all_units_, fact.at);
          break;
      }
    }
    // Of several it is not certain that they were as long.
    std::vector<Duration>& pauses = out_.of(TimeKind::Rescale);
    const std::vector<Duration>& clear = single_.empty() ? several_ : single_;
    pauses.insert(pauses.end(), clear.begin(), clear.end());
  }

 private:
  /// Something that happened since the last report.
  struct Happened {
    Instant at;
    bool change = false;  ///< Another membership,
    bool resize = false;  ///< another number of workers that work.
  };

  void members(const WorkFact& fact) {
    if (!fact.any_ready) {
      from_.reset();
      lasting_.reset();
      happened_.clear();
    } else {
      happened_.push_back(
          {fact.at, fact.generation != generation_ && was_ready_, fact.replicas != size_});
    }
    was_ready_ = fact.any_ready;
    generation_ = fact.generation;
    size_ = fact.replicas;
  }

  void report(const WorkFact& fact) {
    // How far it had come before a failure says nothing of the time after.
    if (fact.rate <= 0) {
      from_.reset();
      lasting_.reset();
      saved_.reset();
      return;
    }
    if (fact.source == EstimateSource::Oracle && !fact.remaining.is_forever())
      all_units_ = fact.done + fact.rate * fact.remaining.in_seconds();
    look(fact.done, fact.at);
    note_checkpoint(fact);
    std::erase_if(happened_, [&](const Happened& each) { return each.at < fact.at - noise_; });
    from_ = fact;
  }

  /// The job had done so much by `at`.
  void look(double done, Instant at) {
    if (!from_) return;
    std::vector<Instant> changes;
    if (lasting_) changes.push_back(*std::exchange(lasting_, std::nullopt));
    const bool carried = !changes.empty();
    const bool tainted = std::exchange(tainted_, false);
    for (const Happened& each : happened_) {
      if (each.at >= at - noise_) continue;
      if (each.change) changes.push_back(each.at);
      // Where messages take long, this may be the report that comes with the change.
      tainted_ = tainted_ || (each.change && each.at >= at - noise_ * kLateReport);
      if (each.resize && each.at > from_->at + noise_) return;
      if (each.change && each.at > from_->at + noise_) saved_.reset();
    }
    if (changes.empty() || tainted || tainted_ || went_wrong(from_->at, at)) return;
    const WorkStretch stretch{from_->at, from_->rate};
    const Duration pause = pause_of_each({&stretch, 1}, changes, done - from_->done, at);
    if (changes.back() + pause > at - noise_) {
      lasting_ = changes.back();
      return;
    }
    const bool alone = changes.size() == 1;
    // It was over by the last report, and so long at most.
    if (alone && carried && changes.back() + pause <= from_->at + noise_) return;
    (alone ? single_ : several_).push_back(pause);
  }

  bool went_wrong(Instant from, Instant to) const {
    return failed_between(run_, job_, from - noise_, to);
  }

  void note_checkpoint(const WorkFact& fact) {
    if (!fact.checkpointed) return;
    if (saved_ && saved_->rate == fact.rate && saved_->generation == fact.generation &&
        fact.done > saved_->done) {
      const Duration gap = fact.at - saved_->at;
      const double worked_s = (fact.done - saved_->done) / fact.rate;
      out_.checkpoint_gaps.push_back(gap);
      out_.of(TimeKind::CheckpointCost)
          .push_back(std::max(Duration::zero(), gap - Duration::from_seconds(worked_s)));
    }
    saved_ = fact;
  }

  const RecordedRun& run_;
  const RecordedJob& job_;
  Duration noise_;
  ObservedTimes& out_;
  std::optional<WorkFact> from_;   ///< The last report, where nothing has ended the work since.
  std::optional<WorkFact> saved_;  ///< The last one that told of a checkpoint.
  std::vector<Happened> happened_;
  std::vector<Duration> single_;    ///< Pauses of changes that stood alone between two reports,
  std::vector<Duration> several_;   ///< and of several.
  std::optional<Instant> lasting_;  ///< The last change, whose pause may end behind `from_`.
  bool tainted_ = false;            ///< `from_` may be the report that came with a change.
  bool was_ready_ = false;
  Generation generation_;
  std::int32_t size_ = 0;
  double all_units_ = 0;
};

/// The rates of a job that has a profile, each size on each model once.
void take_rates(const RecordedJob& job, ObservedTimes& out) {
  if (job.spec->profile->empty()) return;
  std::map<std::pair<std::int32_t, std::string>, double> rates;
  for (const WorkFact& fact : job.facts)
    if (fact.kind == WorkFact::Kind::Report && fact.rate > 0 && fact.whole &&
        !fact.device_model.empty())
      rates[{fact.replicas, fact.device_model}] = fact.rate;  // The last one is the steadiest.
  for (const auto& [where, rate] : rates)
    out.rates.push_back({*job.spec->profile, where.first, where.second, rate});
}

/// Of workers that were asked together the last one to end tells how long a stop takes.
void take_stops(const RecordedRun& run, ObservedTimes& out) {
  std::map<std::pair<JobId, Instant>, std::pair<Duration, bool>> orders;
  for (const StopSample& stop : run.stops) {
    auto& [took, killed] = orders[{stop.job, stop.asked}];
    took = std::max(took, stop.took);
    killed = killed || stop.killed;
  }
  for (const auto& [order, stop] : orders) {
    if (stop.second)
      ++out.stops_killed;
    else
      out.of(TimeKind::Stop).push_back(stop.first);
  }
}

}  // namespace

bool ObservedTimes::empty() const {
  return std::ranges::all_of(samples, [](const auto& each) { return each.empty(); });
}

ObservedTimes observed_times(const RecordedRun& run, Duration noise) {
  ObservedTimes out;
  out.jobs = run.jobs.size();
  out.records = run.records;
  out.length = run.end - Instant::zero();
  for (const RecordedJob& job : run.jobs) {
    for (const StartSample& start : job.starts) {
      if (start.failed)
        ++out.starts_failed;
      else if (const std::optional<bool> saved = goes_on(job, start, noise))
        out.of(*saved ? TimeKind::Restart : TimeKind::Start).push_back(start.took);
    }
    StandstillReader(run, job, noise, out).run();
    take_rates(job, out);
  }
  take_stops(run, out);
  for (const Duration delay : run.plan_delays)
    out.of(TimeKind::Planner).push_back(std::max(Duration::zero(), delay));
  const std::vector<Duration>& pauses = out.of(TimeKind::Rescale);
  std::vector<Duration> sorted = pauses;
  std::ranges::sort(sorted);
  const Duration pause = sorted.empty() ? Duration::zero() : sorted[sorted.size() / 2];
  ObservedLosses losses = observed_losses(run, pause);
  for (std::size_t i = 0; i < losses.lost_s.size(); ++i) {
    if (losses.lost_s[i] <= noise.in_seconds()) continue;
    if (!failed_between(run, run.jobs[losses.job[i]], losses.from[i] - noise, losses.to[i]))
      continue;
    out.lost_s.push_back(losses.lost_s[i]);
    out.saved_after_s.push_back(losses.saved_after_s[i]);
  }
  return out;
}

}  // namespace orrery::sim
