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
        figure.took_s = (incident.recovered - incident.at).in_seconds();
    }
    return out;
  }

 private:
  DecisionLog decisions_;
  RecoveryRecord recoveries_;
};

/// How long one unit takes at each size, over all stretches in which nothing else happened.
std::map<std::int32_t, double> steps_of(const RecordedJob& job, double units, Duration noise) {
  std::map<std::int32_t, std::pair<double, double>> sums;  // Seconds and units, by replicas.
  std::optional<WorkFact> from;
  std::int32_t size = 0;
  Instant changed;
  const auto look = [&](double done, Instant at) {
    if (!from || done <= from->done || size <= 0 || changed > from->at + noise) return;
    auto& [seconds, work] = sums[size];
    seconds += (at - from->at).in_seconds();
    work += done - from->done;
  };
  for (const WorkFact& fact : job.facts) {
    switch (fact.kind) {
      case WorkFact::Kind::Members:
        // What changes at the instant of a report changes after the stretch that it ends.
        changed = fact.at;
        size = fact.any_ready ? fact.replicas : 0;
        if (!fact.any_ready) from.reset();
        break;
      case WorkFact::Kind::Report: {
        const bool just_changed = changed > fact.at - noise || changed == fact.at;
        if (!just_changed) look(fact.done, fact.at);
        from = fact.rate > 0 ? std::optional(fact) : std::nullopt;
        break;
      }
      case WorkFact::Kind::End:
        if (units > 0) look(units, fact.at);
        break;
    }
  }
  std::map<std::int32_t, double> out;
  for (const auto& [replicas, sum] : sums) out[replicas] = sum.first / sum.second;
  return out;
}

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
    figures.step_s = steps_of(job, all == units.end() ? 0 : all->second, noise);
    figures.recoveries = listener.of(job.id);
  }
  return out;
}

}  // namespace orrery::sim
