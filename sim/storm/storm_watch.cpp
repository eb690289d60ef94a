#include "sim/storm/storm_watch.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/control/status.hpp"
#include "core/driver/term_orders.hpp"
#include "core/record/codec.hpp"

namespace orrery::sim {
namespace {

double rate_max(const scenarios::Scenario& scenario, const scenarios::ScenarioJob& job) {
  std::int32_t replicas = job.spec.roles[elastic_role(job.spec).index()].max_replicas;
  for (const scenarios::TimedRequest& request : scenario.requests)
    if (request.job == job.spec.name && request.change && request.change->replicas)
      replicas = std::max(replicas, request.change->replicas->max);
  // The number of a fixed role is its user's.
  for (const scenarios::TimedRequest& request : scenario.requests)
    if (request.job == job.spec.name && request.scale) replicas += request.scale->replicas;
  double most = 0;
  for (std::int32_t n = 1; n <= replicas; ++n)
    most = std::max(most, scenarios::rate_of(job.work, n));
  double fastest = 1;
  for (const NodeGroup& group : scenario.groups)
    fastest = std::max(fastest, scenarios::speed_of(scenario.device_models, group.device_model));
  return job.work.follows_model ? most * fastest : most;
}

bool has_scripted_success(const scenarios::ScenarioJob& job) {
  return std::any_of(job.workers.begin(), job.workers.end(), [](const auto& worker) {
    return worker.kind == scenarios::ScriptKind::Exit && worker.exit_code == 0;
  });
}

// The users' view of a state.
class StateReader final : public StatusReader {
 public:
  explicit StateReader(const State& state) : state_(state) {}

  bool knows(JobId job) const override { return state_.find(job) != nullptr; }

  JobStatus status(JobId job) const override { return status_of(state_, *state_.find(job)); }

  UserEvent event(const Notice& notice) const override { return user_event(notice); }

 private:
  const State& state_;
};

}  // namespace

CheckerFacts checker_facts(const scenarios::Scenario& scenario) {
  CheckerFacts facts;
  facts.plans_garbled = scenario.jitter.plans_garbled > 0;
  facts.groups = scenario.groups;
  // A process that is not stopped is fenced at the end of its lease; one that is asked to has its
  // grace before that.
  const scenarios::TimeSpread& stops = scenario.timing.spread.stop;
  Duration grace = (stops.empty() ? scenario.timing.stop : stops.longest()) + Duration::seconds(10);
  for (const scenarios::ScenarioJob& job : scenario.jobs) {
    grace = std::max(grace, job.spec.drain_grace + Duration::seconds(10));
    facts.work[job.spec.name] = {
        job.work.units, rate_max(scenario, job), has_scripted_success(job)};
  }
  facts.stale_after = scenario.settings.node_lease + scenario.settings.takeover_grace + grace;
  // Clocks of nodes drift by a twentieth in storms, in scenarios by what they say.
  const Duration lease = scenario.settings.node_lease - scenario.settings.fence_margin;
  const std::int64_t drift_ppm = std::max<std::int64_t>(50'000, scenario.jitter.clocks_ppm);
  facts.agents.lease = lease + Duration{lease.ns / 1'000'000 * drift_ppm};
  facts.agents.late_max = scenario.jitter.timers + Duration::milliseconds(100);
  // As late as its timers, and as the batches that it takes before them.
  facts.late_max = scenario.jitter.timers + scenario.jitter.batches + Duration::seconds(2);
  return facts;
}

StormWatch::StormWatch(const scenarios::Scenario& scenario)
    : StormWatch(scenario, checker_facts(scenario)) {}

StormWatch::StormWatch(const scenarios::Scenario& scenario, const CheckerFacts& facts)
    : checker_(facts),
      live_(scenario, facts.stale_after, facts.late_max, checker_.violations()),
      triggers_(scenario),
      fold_(this) {}

void StormWatch::compare(const State& state, Digest digest) {
  if (recorder_) recorder_->state_was(digest);
  const State* folded = fold_.state_at(state.sequence);
  checker_.compared(now(), state.sequence, digest, folded == nullptr ? Digest{} : folded->digest());
  checker_.leader_has(now(), state.sequence, counts_in(state));
}

void StormWatch::folded(Sequence sequence,
                        const Event& event,
                        const Commands& decided,
                        const State& state) {
  checker_.folded(now(), {sequence, event, decided}, StateReader(state), state);
  if (terms_) fingerprint(sequence, event, decided);
}

void StormWatch::fingerprint(Sequence sequence, const Event& event, const Commands& decided) {
  if (const auto* begun = std::get_if<EpochStarted>(&event.body)) {
    FoldedTerm& fresh = terms_->emplace_back();
    fresh.epoch = begun->epoch;
    fresh.first = sequence;
  }
  if (terms_->empty()) return;
  FoldedTerm& term = terms_->back();
  term.last = sequence;
  if (decided.orders.empty()) return;
  ByteWriter bytes;
  Encoder encoder(bytes);
  encoder.put(sequence.value);
  for (const CommandBody& order : decided.orders) encoder.put(order);
  term.digester.update(bytes.bytes());
  term.orders += decided.orders.size();
}

std::vector<std::string> StormWatch::false_terms(StateStore& store) {
  const auto told = orders_of_terms(store);
  if (!told) return {"the orders of the terms: " + told.errors().front().text()};
  if (!terms_ || terms_->empty() || terms_->back().last != store.durable()) return {};
  if (told->size() != terms_->size())
    return {"the journal has " + std::to_string(terms_->size()) + " terms, the orders of " +
            std::to_string(told->size()) + " are told"};
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < told->size(); ++i) {
    const FoldedTerm& term = (*terms_)[i];
    const TermOrders& is = (*told)[i];
    const std::string text =
        "epoch " + std::to_string(term.epoch.value) + ": " + std::to_string(term.orders) +
        " orders of records " + std::to_string(term.first.value) + " to " +
        std::to_string(term.last.value) + ", digest " + term.digester.finish().to_hex();
    if (is.text() != text) wrong.push_back("found \"" + is.text() + "\", it is \"" + text + "\"");
  }
  return wrong;
}

void StormWatch::on_started(LeaderNumber leader, Epoch epoch, Sequence replayed, Digest state) {
  ++leaders_;
  checker_.agents().leader(epoch);
  youngest_ = leader;
  if (recorder_) recorder_->state_was(state);
  const State* folded = fold_.state_at(replayed);
  checker_.compared(now(), replayed, state, folded == nullptr ? Digest{} : folded->digest());
  if (folded != nullptr) checker_.leader_has(now(), replayed, fold_.counts());
}

void StormWatch::on_appended(LeaderNumber, Epoch writer, const StoredRecord& record) {
  checker_.appended(now(), writer, {record.sequence, record.chain, record.bytes});
  fold_.append(record);
  if (recorder_) recorder_->appended(record);
}

void StormWatch::on_lost(Sequence last) {
  checker_.store_crashed(now(), last);
  fold_.lose(last);
}

void StormWatch::on_order(LeaderNumber, const Command& order) {
  checker_.released(now(), order);
  if (recorder_) recorder_->ordered(now(), order);
  if (triggers_.any() && state_ != nullptr) triggers_.on_order(order.body, *state_, now());
}

void StormWatch::on_ended(LeaderNumber leader, LeaderEnd how, Sequence stepped, Digest state) {
  state_ = nullptr;
  if (recorder_) recorder_->state_was(state);
  if (how == LeaderEnd::NoProgress)
    checker_.add(ViolationKind::NoProgress,
                 now(),
                 "a leader took endless turns at one instant, time has to pass between them");
  // The last records of one that was succeeded are not those of the journal any more.
  if (leader != youngest_) return;
  if (const State* folded = fold_.state_at(stepped))
    checker_.compared(now(), stepped, state, folded->digest());
}

void StormWatch::on_process_started(Instant at, const WorldProcess& p) {
  if (recorder_) recorder_->process(at, p, true);
  checker_.agents().began(at, p);
  checker_.process_began(at,
                         {{p.job, p.incarnation, p.birth_rank},
                          p.born,
                          p.role,
                          p.local_rank,
                          p.node,
                          p.devices,
                          p.share,
                          {},
                          {0, 0, p.beside}});
}

void StormWatch::on_process_ended(Instant at, const WorldProcess& p) {
  if (recorder_) recorder_->process(at, p, false);
  checker_.agents().ended(at, p.node, {p.job, p.incarnation, p.birth_rank});
  checker_.process_gone(at, p.node, {p.job, p.incarnation, p.birth_rank});
}

// True work as it stands now.
void StormWatch::measure(JobId job) {
  if (cluster_ == nullptr || job.is_none()) return;
  if (const LiveJob* live = cluster_->job(job)) checker_.worked(now(), job, live->done_at(now()));
}

// Allocations stay as they are where a policy gives no plan.
void StormWatch::check_lost_plan(std::span<const Notice> notices) {
  if (!std::exchange(lost_plan_, false)) return;
  for (const Notice& notice : notices)
    if (notice.kind != NoticeKind::PlanLost)
      checker_.add(ViolationKind::LostPlanActed,
                   now(),
                   checker_.name_of(notice.job) + ": " + std::string(to_string(notice.kind)) +
                       " since a plan was lost, nothing may follow from that");
}

void StormWatch::on_notices(std::span<const Notice> notices, const State& state) {
  state_ = &state;
  if (recorder_) recorder_->told(notices, state);
  check_lost_plan(notices);
  for (const Notice& notice : notices)
    if (notice.kind == NoticeKind::PhaseChanged && is_final(notice.to)) measure(notice.job);
  checker_.stepped(now(), state.sequence, notices);
  if (triggers_.any()) triggers_.on_notices(notices, state);
}

void StormWatch::on_event(Sequence, const Event& event) {
  if (const auto* plan = std::get_if<PlanProposed>(&event.body))
    cycles_ += plan->trigger == PlanTrigger::Period ? 1 : 0;
  lost_plan_ = std::holds_alternative<PlanLost>(event.body);
  plans_lost_ += lost_plan_ ? 1 : 0;
  if (const auto* progress = std::get_if<ProgressReported>(&event.body)) measure(progress->job);
  if (cluster_ != nullptr) live_.stepped(now(), event, *cluster_);
  if (triggers_.any() && state_ != nullptr) triggers_.on_event(event, *state_);
}

}  // namespace orrery::sim
