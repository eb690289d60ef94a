#include "sim/rehearsal/forecast.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/control/queue_standings.hpp"
#include "core/control/status.hpp"
#include "core/queues/queue_text.hpp"
#include "sim/rehearsal/forked_run.hpp"
#include "sim/rehearsal/forked_work.hpp"
#include "sim/rehearsal/forked_world.hpp"
#include "sim/rehearsal/recent_arrivals.hpp"
#include "sim/rehearsal/remaining_time.hpp"

namespace orrery::sim {
namespace {

std::string node_name(const State& state, NodeId node) {
  const std::string& name = state.nodes[node.index()].name;
  return name.empty() ? std::to_string(node.value) : name;
}

/// Writes down when jobs start and end.
class ForecastObserver final : public RunObserver {
 public:
  ForecastObserver(Forecast& forecast, const ForecastOptions& options)
      : forecast_(forecast), options_(options) {
    for (std::size_t i = 0; i < forecast.jobs.size(); ++i) {
      const JobForecast& job = forecast.jobs[i];
      if (!job.id.is_none()) set_place(job.id, i);
      if (!job.never_fits) ++left_;
    }
  }

  void on_event(Sequence, const Event&) override { ++forecast_.records; }

  void on_notices(std::span<const Notice> notices, const State& state) override {
    for (const Notice& notice : notices) {
      if (notice.kind != NoticeKind::PhaseChanged) continue;
      JobForecast* job = known(notice.job, state);
      if (job == nullptr) continue;
      if (notice.to == JobPhase::Starting && job->start.is_never()) starts(*job, notice, state);
      if (!is_final(notice.to)) continue;
      if (job->end.is_never() && !job->never_fits) --left_;
      job->end = notice.occurred_at;
      job->succeeds = notice.to == JobPhase::Succeeded;
    }
  }

  bool should_stop() override {
    // Jobs that arrive would come for ever.
    if (options_.draws && options_.draws->arrivals && left_ == 0) return true;
    forecast_.cut_short = forecast_.records >= options_.records_max;
    return forecast_.cut_short || (options_.stop && options_.stop());
  }

 private:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  // The job that was asked for has an id once it is accepted.
  JobForecast* known(JobId id, const State& state) {
    const std::size_t at = id.value - first_.value;  // Wraps around for one before the first.
    if (at < places_.size() && places_[at] != kNowhere) return &forecast_.jobs[places_[at]];
    const JobState* job = state.find(id);
    if (options_.submitted == nullptr || job == nullptr || job->spec != options_.submitted)
      return nullptr;
    JobForecast& submitted = forecast_.jobs.back();
    submitted.id = id;
    submitted.waits_for = status_of(state, *job).message;
    submitted.never_fits = job->row.infeasible;
    if (submitted.never_fits) --left_;
    set_place(id, forecast_.jobs.size() - 1);
    return &submitted;
  }

  // Ids come in order.
  void set_place(JobId id, std::size_t place) {
    if (places_.empty()) first_ = id;
    places_.resize(id.index() - first_.index() + 1, kNowhere);
    places_.back() = static_cast<std::uint32_t>(place);
  }

  static void starts(JobForecast& job, const Notice& notice, const State& state) {
    job.start = notice.at;
    const JobState* now = state.find(job.id);
    if (now == nullptr) return;
    std::vector<NodeId> nodes;
    for (const Worker& worker : now->workers) nodes.push_back(worker.node);
    for (const Worker& worker : now->next) nodes.push_back(worker.node);
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (const NodeId node : nodes)
      if (!node.is_none()) job.nodes.push_back(node_name(state, node));
  }

  Forecast& forecast_;
  const ForecastOptions& options_;
  JobId first_;
  std::vector<std::uint32_t> places_;  ///< [id less the first] -> index in the forecast's jobs.
  std::size_t left_ = 0;               ///< Jobs that can end and have not.
};

JobForecast foretold(const State& state,
                     const JobState& job,
                     const Remaining& remaining,
                     const QueueStandings& queues) {
  JobForecast out;
  out.id = job.row.id;
  out.name = job.spec->name;
  // Who waits for places that others still give back has not started.
  out.runs = job.row.holds && job.row.phase != JobPhase::Pending;
  out.known = remaining.known;
  out.remaining = remaining.left;
  if (out.runs && !job.started_at.is_never()) out.start = job.started_at;
  if (!out.runs) out.waits_for = status_of(state, job, &queues).message;
  out.never_fits = job.row.infeasible;
  return out;
}

/// What is asked before it is run: nobody has answered it.
std::string refusal_of(const Controller& from, const JobSpec& spec) {
  Controller copy = from;
  Commands commands;
  const State& state = from.state();
  copy.step({state.now,
             state.now,
             Origin::External,
             JobSubmitted{0, std::make_shared<const JobSpec>(spec)}},
            commands);
  for (const CommandBody& order : commands.orders)
    if (const auto* answer = std::get_if<AnswerRequest>(&order))
      if (!answer->accepted) return answer->message;
  return {};
}

}  // namespace

scenarios::Scenario forked_scenario(const State& state) {
  scenarios::Scenario scenario;
  scenario.name = "forecast";
  scenario.seed = state.settings.seed;
  scenario.groups = state.declared;
  scenario.settings = state.settings;
  scenario.policy.name = state.settings.policy.substr(0, state.settings.policy.find('/'));
  if (!state.settings.queues.empty())
    scenario.policy.parameters.push_back(
        {std::string(kQueuesParameter), state.settings.queues, {}});
  for (std::uint32_t n = 0; n < state.nodes.size(); ++n) {
    if (!state.nodes[n].silent) continue;
    scenarios::Fault fault;
    fault.kind = scenarios::FaultKind::Down;
    fault.nodes = {NodeId{n}};
    scenario.faults.push_back(fault);
  }
  return scenario;
}

Result<Forecast> forecast(Controller from,
                          const scenarios::Scenario& scenario,
                          Policy& policy,
                          const ForecastOptions& options) {
  const State& state = from.state();
  Forecast out;
  out.now = state.now;
  const RunHistory history(state);
  const std::uint64_t seed = options.draws ? options.draws->seed : 0;
  // A stream for each job: with and without another one, what is drawn of it is the same.
  const auto remaining_of = [&](const JobState& job) {
    if (!options.draws || !options.draws->durations) return history.remaining(job, state.now);
    Random random = Random::stream(seed, "remaining of " + job.spec->name);
    return history.drawn(job, state.now, random);
  };
  const QueueStandings queues(state);
  std::vector<ForkedJob> live;
  state.for_each_job([&](const JobState& job) {
    const bool lingers = std::ranges::any_of(job.workers, &Worker::is_alive);
    if (is_final(job.row.phase) && !lingers) return;
    const Remaining remaining = remaining_of(job);
    ForkedJob forked;
    forked.id = job.row.id;
    forked.job.spec = job.spec;
    const std::int32_t size =
        job.row.holds && job.row.replicas > 0 ? job.row.replicas : rigid_replicas(*job.spec);
    forked.job.work = forked_work(remaining.left, size, job.row.progress.rate);
    forked.done = job.row.progress.done;
    live.push_back(std::move(forked));
    if (!is_final(job.row.phase)) out.jobs.push_back(foretold(state, job, remaining, queues));
  });
  std::vector<ModelJob> to_come;
  if (options.submitted != nullptr) {
    out.refused = refusal_of(from, *options.submitted);
    if (!out.refused.empty()) return out;
    JobState asked;
    asked.spec = options.submitted;
    asked.row.estimate = options.submitted->estimate;
    const Remaining remaining = remaining_of(asked);
    to_come.push_back(forked_arrival(asked, state.now, remaining.left));
    JobForecast foretold_of;
    foretold_of.name = options.submitted->name;
    foretold_of.known = remaining.known;
    foretold_of.remaining = remaining.left;
    out.jobs.push_back(std::move(foretold_of));
  }
  std::optional<RecentArrivals> arrivals;
  if (options.draws && options.draws->arrivals)
    arrivals.emplace(state, history, Random::stream(seed, "arrivals"));
  ForkedJobs source(
      state.now, std::move(live), std::move(to_come), arrivals ? &*arrivals : nullptr);
  ForecastObserver observer(out, options);
  ForkedRun run(from, scenario, source, policy, observer);
  Driver& driver = run.driver();
  if (!options.without.is_none()) {
    const Status stopped =
        driver.apply({{state.now, state.now, Origin::External, StopRequested{0, options.without}}});
    if (!stopped) return stopped.errors();
  }
  const RunEnd end = driver.run(Instant::never());
  if (end == RunEnd::StoreFailed || end == RunEnd::Deposed) return driver.store_errors();
  return out;
}

}  // namespace orrery::sim
