// What the agent and its controller say to each other.
#include <algorithm>
#include <utility>

#include "runtime/agent/node_agent.hpp"

namespace orrery::runtime {
namespace {

// Reasons for which there is no connection that are told, each once until there is one.
constexpr std::size_t kWhysMax = 16;

// Facts that wait for a controller; older ones go.
constexpr std::size_t kFactsMax = 1000;

bool same_lease(const Settings& a, const Settings& b) {
  return a.node_lease == b.node_lease && a.fence_margin == b.fence_margin;
}

}  // namespace

void NodeAgent::take_line() {
  for (const ConnectionEvent& event : connection_.take(boot_time())) {
    if (std::holds_alternative<ConnectionOpened>(event)) {
      say_hello();
    } else if (const auto* closed = std::get_if<ConnectionClosed>(&event)) {
      if (welcomed_ || hello_said_)
        say("lost the controller: " + closed->why);
      else if (whys_.size() < kWhysMax && whys_.insert(closed->why).second)
        say("no connection to the " + closed->why);
      hello_said_ = false;
      welcomed_ = false;
      registered_ = false;
      logs_.clear();
    } else {
      hear(std::get<ControllerMessage>(event));
    }
  }
}

void NodeAgent::say_hello() {
  Hello hello;
  hello.program = host_.version;
  hello.node = config_.node;
  hello.group = config_.group;
  hello.address = config_.address;
  hello.session = state_.record().session;
  hello.inventory = host_.inventory;
  hello.folder_id = state_.id();
  hello.unknown = !state_.record().known;
  connection_.send(hello);
  hello_said_ = true;
  registered_ = false;
  // A controller that stood still has perhaps not read them before the stream ended.
  while (!sent_notices_.empty()) {
    notices_.push_front(std::move(sent_notices_.back().notice));
    sent_notices_.pop_back();
  }
}

void NodeAgent::hear(const ControllerMessage& message) {
  // Orders and renewals mean the node that was welcomed on this stream.
  const bool may_come_first =
      std::holds_alternative<Welcome>(message) || std::holds_alternative<Refusal>(message);
  if (!welcomed_ && !may_come_first) return;
  std::visit([this](const auto& body) { heard(body); }, message);
}

void NodeAgent::heard(const Welcome& welcome) {
  const NodeRecord& record = state_.record();
  const bool other_cluster = welcome.settings.cluster != record.settings.cluster;
  if (record.known && (other_cluster || welcome.node != record.node)) return leave_cluster();
  starts_.set_server_url(welcome.server_url);
  if (!record.known || !agent_ || !same_lease(welcome.settings, record.settings))
    return begin_life(welcome);
  if (!welcomed_)
    say("the controller of epoch " + std::to_string(welcome.epoch.value) + " is there");
  welcomed_ = true;
  whys_.clear();
  connection_.works(record.settings.node_lease, boot_time());
  send_tokens();
  step_without_acting(EpochAnnounced{welcome.epoch});
  step_without_acting(Connected{});
  carry_out();
  send_facts();
}

/// The durations of a lease hold for a whole session, so new ones begin a new one.
void NodeAgent::begin_life(const Welcome& welcome) {
  const Status kept = state_.know(welcome.node, welcome.settings);
  if (!kept) return cannot_be_kept(kept);
  if (agent_) return begin_session();
  const NodeRecord& record = state_.record();
  agent_.emplace(AgentSettings::of(record.node, record.session, record.settings));
  out_.clear();
  heard(welcome);
}

/// Whatever runs here runs on, and is told to the controller as what an agent finds that restarts.
void NodeAgent::begin_session(std::uint64_t above) {
  const Status begun = state_.begin_session(above);
  if (!begun) return cannot_be_kept(begun);
  welcomed_ = false;
  if (agent_) {
    AgentRestarted found{fence_.epoch(), fence_.lease_until(), {}, {}};
    for (const auto& [name, worker] : agent_->workers())
      if (worker.state != AgentWorkerState::Waiting) found.living.push_back(worker);
    // The controller may not have heard of them: it was away, or the report is on its way.
    for (const auto& [name, ended] : agent_->ended()) found.ended.push_back(ended);
    const NodeRecord& record = state_.record();
    agent_.emplace(AgentSettings::of(record.node, record.session, record.settings));
    out_.clear();
    step_without_acting(found);
    carry_out();
  }
  connection_.restart(boot_time());  // The controller must hear of the session.
}

void NodeAgent::cannot_be_kept(const Status& why) {
  say(why.errors()[0].text());
  connection_.refused({"the node's record cannot be kept", true, {}}, boot_time());
}

void NodeAgent::heard(const Refusal& refusal) {
  if (whys_.size() < kWhysMax && whys_.insert(refusal.reason).second)
    say("refused: " + refusal.reason);
  welcomed_ = false;
  hello_said_ = false;
  if (refusal.session_above >= state_.record().session) return begin_session(refusal.session_above);
  if (!refusal.again && !state_.record().known && table_.empty()) end_ = AgentEnd::NotWelcome;
  connection_.refused(refusal, boot_time());
}

void NodeAgent::heard(const Order& order) {
  Command command;
  command.sequence = order.sequence;
  command.index = order.index;
  command.epoch = order.epoch;
  command.body = order.body;
  const bool stale = order.epoch < agent_->epoch();
  step(CommandReceived{std::move(command)});
  const auto* clean = std::get_if<CleanJob>(&order.body);
  if (clean == nullptr || stale) return;
  table_.clean(clean->job);
  cleaned_jobs_.insert(clean->job);
  forget_idle_jobs();
}

void NodeAgent::heard(const Renewal& renewal) {
  // It answers a beat, and what was sent before that was heard before it.
  registered_ = true;
  while (!sent_notices_.empty() && sent_notices_.front().at < renewal.sent_at)
    sent_notices_.pop_front();
  step(LeaseRenewed{renewal.epoch, renewal.sent_at});
}

void NodeAgent::heard(const CheckRequest& request) {
  if (!host_.check) {
    CheckResult result;
    result.request = request.request;
    result.error = "this agent cannot check its node";
    return connection_.send(result);
  }
  host_.check(request, [inbox = inbox_](CheckResult result) { inbox->push(std::move(result)); });
}

void NodeAgent::say_beat(const Heartbeat& heartbeat) {
  Beat beat = beat_of(heartbeat);
  for (const auto& [worker, values] : measured_) {
    ProfilingChanged change;
    std::tie(change.job, change.generation, change.rank) = worker;
    for (const auto& [key, value] : values) change.values.push_back({key, value});
    beat.measured.push_back(std::move(change));
  }
  measured_.clear();
  if (beat.registers) {
    beat.lost_devices = lost_devices_;
    beat.held = holds_stuck();
    if (leaves_at_) beat.leaves_in = *leaves_at_ - boot_time();
  }
  connection_.send(beat);
}

void NodeAgent::say_fact(EventBody body, Duration leaves_in) {
  Fact fact;
  fact.body = std::move(body);
  fact.leaves_in = leaves_in;
  facts_.push_back({std::move(fact), boot_time()});
  while (facts_.size() > kFactsMax) facts_.pop_front();
  send_facts();
}

void NodeAgent::send_facts() {
  if (!welcomed_) return;
  for (WaitingFact& each : std::exchange(facts_, {})) {
    each.fact.age = boot_time() - each.at;
    if (!each.fact.leaves_in.is_forever())
      each.fact.leaves_in = std::max(each.fact.leaves_in - each.fact.age, Duration::zero());
    connection_.send(each.fact);
  }
}

WorkerToken NodeAgent::token_of(const WorkerRecord& record) {
  return {record.job,
          record.incarnation,
          record.birth_rank,
          record.token,
          record.call_port,
          record.call_certificate};
}

// A new leader, or a new stream of the same one, knows no worker's tokens.
void NodeAgent::send_tokens() {
  constexpr std::size_t kAtOnce = 1000;
  WorkerTokens some;
  for (const WorkerRecord& record : table_.records()) {
    if (record.token.empty()) continue;
    some.tokens.push_back(token_of(record));
    if (some.tokens.size() == kAtOnce) connection_.send(std::exchange(some, {}));
  }
  if (!some.tokens.empty()) connection_.send(some);
}

/// A controller of another journal knows nothing of our workers, and its numbers mean others.
void NodeAgent::leave_cluster() {
  say("the controller is of another cluster: what runs here is killed and forgotten");
  leaving_cluster_ = true;
  welcomed_ = false;
  agent_.reset();
  out_.clear();
  facts_.clear();
  notices_.clear();
  sent_notices_.clear();
  measured_.clear();
  table_.signal_all(WorkerSignal::Kill);
  connection_.restart(boot_time());
}

void NodeAgent::forget_cluster() {
  table_.forget_all();
  jobs_.keep_only([](JobId) { return false; });
  const Status forgotten = state_.forget();
  if (!forgotten) return say(forgotten.errors()[0].text());
  leaving_cluster_ = false;
  fence_ = ShimFence{};
  lease_.write({});
  connection_.restart(boot_time());
}

}  // namespace orrery::runtime
