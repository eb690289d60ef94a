#include "runtime/controller/leader_term.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string_view>
#include <utility>

#include "core/placer/registry.hpp"
#include "runtime/controller/relaunch_text.hpp"

namespace orrery::runtime {
namespace {

constexpr int kTurnsAtOnce = 64;  // Before the inbox is looked at again.
// Jobs that end one after another are forgotten together.
constexpr Duration kRetirementRest = Duration::seconds(1);

/// The controller's own times, and what the policy wants to be asked for.
Settings settings_of(const ControllerConfig& config, const Policy& policy, const State& state) {
  Settings settings = config.settings;
  const Triggers triggers = policy.triggers();
  settings.policy = std::string(policy.name());
  if (settings.placer.empty()) settings.placer = placers::named(policy.usual_placer()).name();
  settings.plan_on_submission = triggers.submission;
  settings.plan_on_completion = triggers.completion;
  settings.plan_on_capacity = triggers.capacity;
  settings.plan_period = triggers.period;
  settings.policy_sizes = policy.sizes_jobs();
  settings.queues = std::string(policy.queues());
  settings.cluster = state.settings.cluster;
  // Drawn once for each journal, and part of it from then on.
  while (settings.cluster == 0) {
    std::random_device device;
    settings.cluster = std::uint64_t{device()} << 32 | device();
  }
  return settings;
}

/// The job that an event is about; none for others.
JobId job_of(const EventBody& body) {
  return std::visit(
      [](const auto& each) {
        if constexpr (requires { each.job; })
          return each.job;
        else
          return JobId::none();
      },
      body);
}

/// What the journal does not know of a configured group: all of it at first, later the nodes that
/// were added to it since. A group has no more spares than it says.
NodeGroup undeclared_of(const NodeGroup& group, const State& state) {
  std::map<std::string_view, const NodeState*> known;
  for (const NodeState& node : state.nodes) known.emplace(node.name, &node);
  NodeGroup missing = group;
  missing.node_names.clear();
  std::int32_t spares = 0;
  std::int32_t wanted = group.spares;
  for (std::size_t i = 0; i < group.node_names.size(); ++i) {
    const auto found = known.find(group.node_names[i]);
    const bool is_last = static_cast<std::int32_t>(group.node_names.size() - i) <= group.spares;
    if (found == known.end()) {
      missing.node_names.push_back(group.node_names[i]);
      spares += is_last ? 1 : 0;
    } else if (found->second->spare || !found->second->stands_in_for.is_none()) {
      --wanted;
    }
  }
  missing.count = static_cast<std::int32_t>(missing.node_names.size());
  missing.spares = std::clamp(wanted, 0, spares);
  return missing;
}

std::uint64_t* request_in(EventBody& body) {
  return std::visit(
      [](auto& each) -> std::uint64_t* {
        if constexpr (requires { each.request; })
          return &each.request;
        else
          return nullptr;
      },
      body);
}

}  // namespace

Result<std::unique_ptr<LeaderTerm>> LeaderTerm::begin(LeaderTermParts parts) {
  auto controller = std::make_unique<Controller>();
  const Result<JournalEnd> end = replay(parts.store, *controller);
  if (!end) return end.errors();
  std::unique_ptr<LeaderTerm> term(new LeaderTerm(std::move(parts), std::move(controller), *end));
  if (Status opened = term->open(); !opened) return opened.errors();
  return term;
}

LeaderTerm::LeaderTerm(LeaderTermParts parts,
                       std::unique_ptr<Controller> replayed,
                       const JournalEnd& end)
    : parts_(std::move(parts)),
      controller_(std::move(replayed)),
      clock_(controller_->state().now),
      epoch_(std::max(controller_->state().epoch.next(), parts_.epoch_min)),
      settings_(settings_of(parts_.config, parts_.policy, controller_->state())),
      store_(std::make_unique<BackgroundStore>(parts_.store, parts_.wake)),
      planner_(parts_.planner != nullptr
                   ? std::move(parts_.planner)
                   : std::make_unique<InlinePlanner>(parts_.policy, Duration::zero(), nullptr)),
      driver_(*controller_,
              *this,
              *store_,
              *planner_,
              this,
              DriverOptions{.snapshot_every = parts_.config.store.snapshot_every,
                            .fingerprints_orders = true}),
      sessions_(parts_.links, controller_->state(), epoch_),
      leader_(epoch_,
              controller_->state(),
              settings_,
              static_cast<std::uint32_t>(controller_->state().nodes.size()),
              clock_.now(),
              Duration::zero(),
              sessions_),
      logs_([post = parts_.post, weak = std::weak_ptr(self_)](std::uint64_t number, NodeId node) {
        post([weak, number, node] {
          LogRequest cancel;
          cancel.request = number;
          cancel.cancel = true;
          if (const auto self = weak.lock()) (*self)->sessions_.send(node, cancel);
        });
      }),
      checks_({[this](NodeId node, const CheckRequest& request) {
                 return sessions_.send(node, request);
               },
               [this](NodeId node) { return sessions_.facts()[node.index()].address; },
               [this](NodeId node, bool usable, const std::string& why) {
                 judged(node, usable, why);
               }}) {
  driver_.continue_from(end.chain, end.snapshot);
}

LeaderTerm::~LeaderTerm() {
  for (Waiting& waiting : std::exchange(until_durable_, {})) waiting.then(false);
  const RequestOutcome unknown{RequestOutcome::Kind::Unavailable,
                               JobId::none(),
                               "the controller ended before it could answer; look whether the "
                               "request was carried out, and ask again"};
  for (auto& [request, askers] : std::exchange(asked_, {}))
    for (const auto& done : askers) done(unknown);
  const std::string why = "the controller's term is over";
  sessions_.close_all(why);
  // Streams that wait for their welcome belong to no node yet, and nothing would answer them.
  for (const PendingAgent& pending : std::exchange(pending_, {}))
    parts_.links.close(pending.link, why);
  for (const std::uint64_t link : std::exchange(welcoming_, {}))
    parts_.links.close(LinkId{link}, why);
}

// The begin of the epoch, and what the configuration declares that the journal does not know.
Status LeaderTerm::open() {
  const State& state = controller_->state();
  begun_at_ = state.sequence.next();
  nodes_of_before_ = state.nodes.size();
  const Instant now = clock_.now();
  std::vector<Event> opening{{now, now, Origin::External, EpochStarted{epoch_, settings_}}};
  NodesDeclared declared;
  for (const NodeGroup& group : parts_.config.groups) {
    configured_.insert(group.node_names.begin(), group.node_names.end());
    if (NodeGroup missing = undeclared_of(group, state); missing.count > 0)
      declared.groups.push_back(std::move(missing));
  }
  if (!declared.groups.empty()) opening.push_back({now, now, Origin::External, declared});
  std::vector<Quota> quotas;
  for (const QuotaUse& use : state.quotas) quotas.push_back(use.quota);
  if (quotas != parts_.config.quotas)
    opening.push_back({now, now, Origin::External, QuotasDeclared{parts_.config.quotas}});
  const auto nodes_before = static_cast<std::uint32_t>(state.nodes.size());
  if (Status opened = driver_.apply(std::move(opening)); !opened) return opened;
  leader_.declare_nodes(static_cast<std::uint32_t>(state.nodes.size()) - nodes_before, now);
  return store_->sync();
}

// --- requests ---

std::uint64_t LeaderTerm::new_request() {
  // Not those of an earlier term, nor those that clients make of their keys (their top bit is set).
  return (std::uint64_t{epoch_.value} << 32 | ++requests_) & ~(std::uint64_t{1} << 63);
}

void LeaderTerm::ask(EventBody request, std::function<void(const RequestOutcome&)> done) {
  const Instant now = clock_.now();
  if (halted_)
    return done({RequestOutcome::Kind::Unavailable,
                 JobId::none(),
                 "the journal cannot be written; see /readyz"});
  if (std::uint64_t* number = request_in(request)) {
    if (*number == 0) *number = new_request();
    asked_[*number].push_back(std::move(done));
    return leader_.told(Origin::External, std::move(request), now, now);
  }
  // These are not answered: what the step did not ignore holds as soon as its record is durable.
  const JobId job = job_of(request);
  std::optional<ProfilingChanged> measured;
  if (auto* profiling = std::get_if<ProfilingChanged>(&request)) {
    measured = *profiling;
    if (profiling->rank.is_none()) profiling->rank = Rank{0};
  }
  ignored_.reset();
  if (!driver_.apply({{now, now, Origin::External, std::move(request)}})) return halt();
  if (ignored_) return done({RequestOutcome::Kind::Refused, job, *ignored_});
  if (measured) leader_.measured(*measured, now);
  answer_when_durable(job, std::move(done));
}

void LeaderTerm::when_durable(std::function<void(const RequestOutcome&)> done) {
  answer_when_durable(JobId::none(), std::move(done));
}

void LeaderTerm::answer_when_durable(JobId job, std::function<void(const RequestOutcome&)> done) {
  until_durable_.push_back(
      {controller_->state().sequence, [job, done = std::move(done)](bool durable) {
         const auto kind =
             durable ? RequestOutcome::Kind::Accepted : RequestOutcome::Kind::Unavailable;
         done({kind, job, durable ? "" : "the journal could not be written; ask again"});
       }});
}

std::unique_ptr<Subscription> LeaderTerm::read_log(const LogQuery& query, LogRequests::Told told) {
  const JobState* job = state().find(query.job);
  const auto no = [&](const std::string& why) -> std::unique_ptr<Subscription> {
    told({.last = true, .error = why});
    return nullptr;
  };
  if (job == nullptr) return no("no such job");
  LogRequest asked;
  NodeId node;
  if (const std::string why = find_log(*job, query, asked, node); !why.empty()) return no(why);
  std::unique_ptr<Subscription> reading = logs_.open(node, asked, std::move(told));
  if (!sessions_.send(node, asked)) logs_.lost(node);
  return reading;
}

// --- the loop ---

void LeaderTerm::work() {
  answer_durable();
  look_at_store();
  establish_if_safe();
  declare_pending();
  look_at_time();
  if (halted_) {
    leader_.drop_news();
  } else if (established_) {
    take_turns();
  }
  answer_durable();
}

// The driver hears of a refusal where it has more to write. A node that waits for what was refused,
// such as its welcome, must not wait for that.
void LeaderTerm::look_at_store() {
  if (halted_ || !store_) return;
  if (Status taken = store_->status(); !taken) halt(taken.errors());
}

bool LeaderTerm::is_deposed() const {
  return halted_ && (driver_.refusal() == RunEnd::Deposed ||
                     std::any_of(store_errors_.begin(), store_errors_.end(), [](const Error& e) {
                       return e.code == ErrorCode::Conflict;
                     }));
}

// Before its epoch is safe a leader decides nothing: reports of what runs come first.
void LeaderTerm::establish_if_safe() {
  if (established_ || halted_) return;
  if (const Status synced = store_->sync(); !synced) return halt(synced.errors());
  if (store_->durable() < begun_at_) return;
  established_ = true;
  leader_.establish(clock_.now());
  parts_.changes.tell(JobId::none());
}

void LeaderTerm::look_at_time() {
  leader_.time_reached(clock_.now());
  checks_.time_reached(clock_.now());
}

// What the check of a node came to.
void LeaderTerm::judged(NodeId node, bool usable, const std::string& why) {
  const Instant now = clock_.now();
  if (!why.empty())
    add_line(now,
             JobId::none(),
             node,
             {Severity::Warning, usable ? "NodeStraggling" : "NodeCheckFailed", why});
  if (!usable) return;
  const std::uint64_t lost = sessions_.facts()[node.index()].lost_devices;
  leader_.lacks(node, lost | withheld(node), is_held(node), now, now);
}

void LeaderTerm::take_turns() {
  for (int i = 0; i < kTurnsAtOnce; ++i) {
    const Turn turn = driver_.turn();
    if (turn == Turn::Refused) return halt();
    if (turn == Turn::Idle) return;
  }
  parts_.wake();
}

void LeaderTerm::answer_durable() {
  if (!store_) return;
  const Sequence durable = store_->durable();
  std::size_t done = 0;
  while (done < until_durable_.size() && until_durable_[done].until <= durable) ++done;
  if (done == 0) return;
  std::vector<Waiting> ready(
      std::make_move_iterator(until_durable_.begin()),
      std::make_move_iterator(until_durable_.begin() + static_cast<std::ptrdiff_t>(done)));
  until_durable_.erase(until_durable_.begin(),
                       until_durable_.begin() + static_cast<std::ptrdiff_t>(done));
  for (Waiting& each : ready) each.then(true);
}

void LeaderTerm::halt(Errors why) {
  if (std::exchange(halted_, true)) return;
  store_errors_ = std::move(why);
  refuse_pending();
  for (Waiting& waiting : std::exchange(until_durable_, {})) waiting.then(false);
  const RequestOutcome unknown{RequestOutcome::Kind::Unavailable,
                               JobId::none(),
                               "the journal cannot be written, and whether the request was is not "
                               "known; see /readyz, and ask again"};
  for (auto& [request, askers] : std::exchange(asked_, {}))
    for (const auto& done : askers) done(unknown);
}

LeaderTerm::Steady::time_point LeaderTerm::next_wake() {
  Instant wake = std::min(leader_.next_deadline(), checks_.next_deadline());
  if (established_ && !halted_)
    wake = std::min({wake, driver_.next_wake(), state().next_retirement(kRetirementRest)});
  return clock_.time_point(wake);
}

void LeaderTerm::add_facts(ControllerFacts& facts) const {
  facts.epoch = epoch_;
  if (store_) facts.durable = store_->durable();
  facts.heartbeats = leader_.liveness().renewals();
  facts.links_open = sessions_.open();
  facts.messages_out = sessions_.sent();
  facts.plans_asked = driver_.plans_asked();
  facts.orders = leader_.orders_sent();
}

// --- the world that the driver sees ---

void LeaderTerm::issue(const Command& command) {
  if (const auto* answer = std::get_if<AnswerRequest>(&command.body)) {
    const auto found = asked_.find(answer->request);
    if (found == asked_.end()) return;
    const std::vector<std::function<void(const RequestOutcome&)>> askers = std::move(found->second);
    asked_.erase(found);
    const auto kind =
        answer->accepted ? RequestOutcome::Kind::Accepted : RequestOutcome::Kind::Refused;
    for (const auto& done : askers) done({kind, answer->job, answer->message});
    return;
  }
  if (const auto* order = std::get_if<RelaunchNodes>(&command.body)) relaunch(*order);
  leader_.order(command);
}

void LeaderTerm::relaunch(const RelaunchNodes& order) {
  std::vector<std::string> names;
  for (const NodeId node : order.nodes) names.push_back(state().nodes[node.index()].name);
  parts_.relaunch(std::move(names),
                  relaunch_text(order, state(), sessions_.facts()),
                  order.timeout,
                  [weak = std::weak_ptr(self_), job = order.job, incident = order.incident](
                      std::vector<std::string> replaced, std::string error) {
                    const auto self = weak.lock();
                    if (self) (*self)->relaunched(job, incident, replaced, std::move(error));
                  });
}

void LeaderTerm::relaunched(JobId job,
                            std::uint32_t incident,
                            const std::vector<std::string>& replaced,
                            std::string error) {
  NodesRelaunched answer{job, incident, {}, std::move(error)};
  for (const std::string& name : replaced)
    if (const auto known = names_.find(name); known != names_.end())
      answer.replaced.push_back(known->second);
  const Instant now = clock_.now();
  const std::vector<NodeId> new_machines = answer.replaced;
  leader_.told(Origin::Reaction, std::move(answer), now, now);
  for (const NodeId node : new_machines) out_of_reach(node);
}

bool LeaderTerm::wait_events(Instant, std::vector<Event>& events) {
  leader_.take_news(events);
  // Finished jobs are forgotten with events, and on an idle cluster there are none.
  if (const Instant now = clock_.now();
      events.empty() && state().next_retirement(kRetirementRest) <= now)
    events.push_back({now, now, Origin::Reaction, TimeReached{}});
  return true;
}

// --- what is told of each step ---

void LeaderTerm::on_event(Sequence, const Event& event) {
  const JobId job = job_of(event.body);
  if (!job.is_none()) parts_.changes.tell(job);
  // The state keeps only that none was replaced.
  if (const auto* answer = std::get_if<NodesRelaunched>(&event.body);
      answer != nullptr && answer->replaced.empty())
    add_line(event.at,
             job,
             NodeId::none(),
             {Severity::Warning,
              "NodeNotReplaced",
              answer->error.empty() ? "relaunch_command named no node that it has replaced"
                                    : answer->error});
  if (const auto* lost = std::get_if<PlanLost>(&event.body))
    ++parts_.plans_lost[static_cast<std::size_t>(lost->loss)];
}

void LeaderTerm::on_notices(std::span<const Notice> notices, const State& state) {
  for (const Notice& notice : notices) {
    if (notice.kind == NoticeKind::IgnoredReport) {
      ignored_ = std::string(in_words(notice.ignored));
      // Of interest to the reporter only: a late report is no notice for people. A plan is.
      if (notice.event_kind != EventKinds(std::in_place_type<PlanProposed>).index()) continue;
    }
    if (!notice.job.is_none()) parts_.changes.tell(notice.job);
    UserEvent event = user_event(notice);
    if (notice.kind == NoticeKind::PlanLost && !state.lost_plans.detail.empty())
      event.message += ": " + state.lost_plans.detail;
    if (notice.kind == NoticeKind::PolicyChosen) event.message = in_words(state.chosen.choice);
    add_line(notice.at, notice.job, notice.node, std::move(event));
  }
}

void LeaderTerm::add_line(Instant at, JobId job, NodeId node, UserEvent event) {
  EventLine line;
  line.at = at;
  if (const JobState* known = state().find(job)) line.job = known->spec->name;
  if (!node.is_none() && node.index() < state().nodes.size())
    line.node = state().nodes[node.index()].name;
  line.event = std::move(event);
  parts_.lines.add(std::move(line));
}

}  // namespace orrery::runtime
