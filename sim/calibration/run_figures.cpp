#include "sim/calibration/run_figures.hpp"

#include <algorithm>
#include <utility>

#include "sim/expectations/decision_log.hpp"
#include "sim/expectations/recovery_record.hpp"

namespace orrery::sim {
namespace {

/// Hears the recorded run for what its jobs' facts do not have.
class FiguresListener final : public RunListener {
 public:
  void on_submitted(JobId job, const JobSpec& spec, const JobFacts&) override {
    decisions_.on_job(job, spec.name);
  }

  void on_notices(std::span<const Notice> notices, const State&, const JobTable&) override {
    for (const Notice& notice : notices) {
      decisions_.on_notice(notice);
      recoveries_.on_notice(notice);
    }
  }

  std::string decisions() const { return decisions_.text(); }

  std::vector<RecoveryFigure> of(JobId job) const {
    std::vector<RecoveryFigure> out;
    for (const IncidentRecord& incident : recoveries_.incidents()) {
      if (incident.job != job) continue;
      RecoveryFigure& figure = out.emplace_back();
      figure.cause = incident.cause;
      if (!incident.recovered.is_never())
        figure.took_s = (incident.recovered - incident.noticed).in_seconds();
    }
    return out;
  }

 private:
  DecisionLog decisions_;
  RecoveryRecord recoveries_;
};

/// How long one unit takes at each size, over all stretches between two reports in which nothing
/// else happened. A pause at their begin is part of it.
class StepReader {
 public:
  StepReader(double units, Duration noise) : units_(units), noise_(noise) {}

  std::map<std::int32_t, double> read(const std::vector<WorkFact>& facts) {
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const WorkFact& fact = facts[i];
      switch (fact.kind) {
        case WorkFact::Kind::Members:
          members(fact);
          break;
        case WorkFact::Kind::Report:
          // What a failure leaves, then how far the work had come: this is what the stretch made.
          if (i + 1 < facts.size() && is_farther(facts[i + 1], fact)) break;
          look(fact.done, fact.at);
          from_ = fact.rate > 0 ? std::optional(fact) : std::nullopt;
          base_ = size_;
          changes_.clear();
          break;
        case WorkFact::Kind::End:
          if (units_ > 0) look(units_, fact.at);
          break;
      }
    }
    std::map<std::int32_t, double> out;
    for (const auto& [replicas, sum] : sums_) out[replicas] = sum.first / sum.second;
    return out;
  }

 private:
  static bool is_farther(const WorkFact& next, const WorkFact& fact) {
    return next.kind == WorkFact::Kind::Report && next.at == fact.at && next.done > fact.done;
  }

  void members(const WorkFact& fact) {
    size_ = fact.any_ready ? fact.replicas : 0;
    if (!fact.any_ready) from_.reset();
    changes_.emplace_back(fact.at, size_);
  }

  // What changes at the ends of a stretch, as far as that can be told, is what begins or ends it.
  void look(double done, Instant at) {
    if (!from_ || done <= from_->done) return;
    const Duration stretch = at - from_->at;
    const Duration slack = std::max(noise_, Duration{noise_.ns > 0 ? stretch.ns / kSlackPart : 0});
    std::int32_t size = base_;
    for (const auto& [when, replicas] : changes_) {
      if (when <= from_->at + slack)
        size = replicas;
      else if (when < at - slack)
        return;
    }
    if (size <= 0) return;
    auto& [seconds, work] = sums_[size];
    seconds += stretch.in_seconds();
    work += done - from_->done;
  }

  static constexpr std::int64_t kSlackPart = 25;  ///< Of a stretch, where there is noise.

  double units_;
  Duration noise_;
  std::optional<WorkFact> from_;
  std::int32_t base_ = 0;  ///< Replicas that worked at `from_`.
  std::int32_t size_ = 0;
  std::vector<std::pair<Instant, std::int32_t>> changes_;   ///< Since `from_`: when, to what size.
  std::map<std::int32_t, std::pair<double, double>> sums_;  ///< Seconds and units, by replicas.
};

/// What the job did from its submission to `end`.
std::array<double, kJobTimes> times_of(const RecordedJob& job, Instant started, Instant end) {
  std::array<double, kJobTimes> out{};
  const auto spend = [&](JobTime what, Instant from, Instant to) {
    if (to > from) out[static_cast<std::size_t>(what)] += (to - from).in_seconds();
  };
  spend(JobTime::Waiting, job.submit, std::min(started, end));
  if (started >= end) return out;
  JobTime now = JobTime::Starting;
  Instant since = started;
  for (const WorkFact& fact : job.facts) {
    if (fact.kind != WorkFact::Kind::Members || fact.at >= end) continue;
    JobTime next = fact.whole ? JobTime::Whole : fact.any_ready ? JobTime::Partial : JobTime::Down;
    if (now == JobTime::Starting && next != JobTime::Whole) next = JobTime::Starting;
    if (next == now) continue;
    spend(now, since, fact.at);
    now = next;
    since = fact.at;
  }
  spend(now, since, end);
  return out;
}

}  // namespace

Result<RunFigures> run_figures(StateStore& store,
                               const std::string& name,
                               const std::map<std::string, double>& units,
                               Duration noise) {
  FiguresListener listener;
  const auto run = read_recorded_run(store, name, {&listener});
  if (!run) return run.errors();
  RunFigures out;
  out.decisions = listener.decisions();
  for (const RecordedJob& job : run->jobs) {
    if (job.id.is_none()) continue;
    JobFigures& figures = out.jobs.emplace_back();
    figures.name = job.spec->name;
    figures.phase = job.phase;
    if (!job.finished.is_never()) figures.completed_s = (job.finished - job.submit).in_seconds();
    const JobTable& table = run->metrics->jobs();
    const Instant started = table.contains(job.id) ? table[job.id].started : Instant::never();
    figures.spent_s = times_of(job, started, std::min(job.finished, run->end));
    const auto all = units.find(figures.name);
    figures.step_s = StepReader(all == units.end() ? 0 : all->second, noise).read(job.facts);
    figures.recoveries = listener.of(job.id);
  }
  return out;
}

}  // namespace orrery::sim
