#include "sim/run/run_account.hpp"

#include <utility>

#include "core/job/turns.hpp"
#include "core/record/event_jobs.hpp"

namespace orrery::sim {
namespace {

// Of the whole history and of the state that it led to.
std::string digest_of_run(Digest chain, const State& state) {
  ByteWriter bytes;
  state.save(bytes);
  Digester digester(chain);
  digester.update(bytes.bytes());
  return digester.finish().to_hex();
}

}  // namespace

RunAccount::RunAccount(const State& state, const RunOptions& options, Labels take_label)
    : state_(state), options_(options), take_label_(std::move(take_label)) {}

void RunAccount::expect_filling(std::vector<std::pair<Bundle, std::int64_t>> mix) {
  if (!mix.empty()) arrivals_.emplace(std::move(mix));
}

void RunAccount::expect(const Event& event) {
  for_each_job_of(event, [&](JobId job) { metrics_->expect(job); });
}

void RunAccount::on_event(Sequence sequence, const Event& event) {
  events_ = sequence.value;
  const auto* submitted = std::get_if<JobSubmitted>(&event.body);
  if (submitted == nullptr || state_.totals.submitted == submitted_) return;
  submitted_ = state_.totals.submitted;
  const JobId id{state_.next_job().value - 1};
  const JobSpec& spec = *submitted->spec;
  if (arrivals_) arrivals_->submitted(spec, state_);
  const std::string label = take_label_(submitted->request);
  JobFacts facts;
  facts.name = label.empty() ? display_name(spec.name) : std::string_view(label);
  facts.profile = *spec.profile;
  facts.submitted = event.occurred_at;
  if (!spec.roles.empty())
    for (std::size_t r = 0; r < spec.roles.size(); ++r) {
      const bool sized = spec.rigid_replicas > 0 && elastic_role(spec).index() == r;
      const Bundle& bundle = spec.roles[r].bundle;
      const std::int32_t replicas = sized ? spec.rigid_replicas : spec.roles[r].min_replicas;
      facts.devices_requested += replicas * bundle.devices;
      facts.thousandths_requested +=
          std::int64_t{replicas} * bundle.devices * bundle.share.thousandths;
    }
  if (const JobState* job = state_.find(id); job != nullptr && is_seated(spec)) {
    // Devices on which roles take turns count once; the controller knows which they are.
    const JobRow& row = job->row;
    const std::int32_t devices = row.rest_devices + row.min_replicas * row.demand.devices;
    if (devices > 0) {
      facts.devices_requested = devices;
      facts.thousandths_requested =
          row.rest_thousandths + row.min_replicas * row.demand.thousandths();
    }
  }
  facts.time_requested = spec.estimate;
  facts.name_space = namespace_of(spec.name);
  facts.group = *spec.group;
  metrics_->submitted(id, facts);
  for (RunListener* listener : options_.listeners) listener->on_submitted(id, spec, facts);
}

void RunAccount::on_notices(std::span<const Notice> notices, const State& state) {
  for (const Notice& notice : notices) {
    metrics_->observe(notice);
    if (notice.kind == NoticeKind::PolicyChosen)
      choices_.push_back({(notice.at - Instant::zero()).in_seconds(),
                          state.chosen.choice.candidate,
                          state.chosen.choice.reason});
  }
  fragments_.observe(state);
  queues_.changed();
  for (RunListener* listener : options_.listeners)
    listener->on_notices(notices, state, metrics_->jobs());
}

void RunAccount::on_instant_over(const State& state) { queues_.look(state); }

void RunAccount::decided(Instant at, PlanTrigger trigger, std::size_t grants, Duration wall) {
  metrics_->decided(wall);
  for (RunListener* listener : options_.listeners) listener->on_decided(at, trigger, grants, wall);
}

bool RunAccount::should_stop() {
  if (options_.listeners.empty()) return false;
  const bool many_turns = ++turns_ % 1'024 == 0;
  const bool many_records = events_ >= next_progress_;
  if (!many_turns && !many_records) return false;
  const RunProgress progress{state_.now, submitted_, metrics_->jobs_over(), events_};
  if (many_turns)
    for (RunListener* listener : options_.listeners) listener->on_turns(progress);
  if (!many_records) return false;
  next_progress_ = events_ + 65'536;
  bool stop = false;
  for (RunListener* listener : options_.listeners) stop = listener->on_progress(progress) || stop;
  return stop;
}

void RunAccount::sum_up_fragments(Instant end, std::int64_t devices, Summary& summary) const {
  if (devices == 0) return;
  summary.fragmentation_avg =
      fragments_.mean(metrics_->makespan_end(end)) / static_cast<double>(devices);
  summary.fragmentation_max = fragments_.highest() / static_cast<double>(devices);
}

std::vector<QueueSamples::Point> RunAccount::sum_up_queues(Instant end, Summary& summary) {
  queues_.look(state_);
  summary.queues = queues_.means(end);
  return queues_.take_points();
}

void RunAccount::take_reasons() {
  state_.for_each_job([&](const JobState& job) { metrics_->left_with(job.row.id, job.reason); });
}

RunReport RunAccount::close(const scenarios::Scenario& scenario,
                            const Policy& policy,
                            Digest chain,
                            std::uint64_t events,
                            RunEnd end,
                            Instant now) {
  RunFacts facts;
  facts.scenario = scenario.name;
  facts.policy = std::string(policy.name());
  facts.world = orrery::to_string(scenario.world);
  facts.seed = scenario.seed;
  facts.end = now;
  facts.devices = state_.ledger.devices_total();
  facts.events = events;
  facts.state_digest = digest_of_run(chain, state_);
  facts.wall = Duration{std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::steady_clock::now() - start_)
                            .count()};
  RunReport report;
  report.end = end;
  report.ended_at = now;
  take_reasons();
  report.summary = metrics_->summarise(facts);
  report.summary.measured.peak_rss_mb = peak_rss_mb();  // What it took to sum up is part of it.
  sum_up_fragments(now, facts.devices, report.summary);
  report.queue_points = sum_up_queues(now, report.summary);
  report.summary.policy_choices = std::move(choices_);
  if (arrivals_) report.summary.arrivals = arrivals_->close(state_);
  report.metrics = std::move(metrics_);
  return report;
}

}  // namespace orrery::sim
