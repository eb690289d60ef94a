#include "sim/explore/explored_world.hpp"

#include <algorithm>
#include <utility>

#include "core/agent/worker_reports.hpp"
#include "core/base/invariant.hpp"
#include "core/placer/registry.hpp"

namespace orrery::sim {
namespace {

Settings settings_for(const Policy& policy) {
  Settings settings;
  settings.node_lease = kExploredLease;
  settings.fence_margin = kExploredMargin;
  settings.takeover_grace = kExploredGrace;
  const Triggers triggers = policy.triggers();
  settings.policy = std::string(policy.name());
  settings.placer = placers::named(policy.usual_placer()).name();
  settings.plan_on_submission = triggers.submission;
  settings.plan_on_completion = triggers.completion;
  settings.plan_on_capacity = triggers.capacity;
  settings.plan_period = triggers.period;
  settings.policy_sizes = policy.sizes_jobs();
  return settings;
}

// What is lost is started anew at once, where there is room.
std::shared_ptr<const JobSpec> job_of(std::size_t number, const ExploreBounds& bounds) {
  JobSpec spec;
  spec.name = "default.job-" + std::to_string(number);
  spec.unknown_deadline = Duration::zero();
  spec.backoff_base = Duration::zero();
  spec.drain_grace = Duration::seconds(2);
  spec.recovery = bounds.recovery;
  RoleSpec role;
  role.name = "worker";
  role.min_replicas = role.max_replicas = static_cast<std::int32_t>(bounds.workers);
  role.bundle.cpu = MilliCpu{1000};
  role.bundle.memory = Bytes{1};
  role.bundle.devices = 1;
  spec.roles.push_back(role);
  const Errors errors = check_spec(spec);
  invariant(errors.empty(), "an explored job is sound");
  return std::make_shared<const JobSpec>(std::move(spec));
}

}  // namespace

ExploredWorld::ExploredWorld(const ExploreBounds& bounds, ExploredPolicy policy, bool keeps_each)
    : bounds_(bounds), policy_(std::move(policy)), settings_(settings_for(*policy_())) {
  invariant(bounds.nodes >= 1 && bounds.nodes <= kExploredNodesMax, "one to three nodes");
  const auto count = static_cast<std::int32_t>(bounds.nodes);
  groups_ = {{"group", count, MilliCpu{64000}, Bytes{1 << 20}, 1, "h200", 0}};
  for (std::size_t c = 0; c < bounds.jobs; ++c) specs_.push_back(job_of(c, bounds));
  if (keeps_each) {
    for (Part<ExploredLeader>& each : leaders_) each.keep_each();
    for (Part<ExploredNode>& each : nodes_) each.keep_each();
    for (Part<ExploredLink>& each : links_) each.keep_each();
    journal_.keep_each();
    rest_.keep_each();
  }
  rest_.make().clients.resize(bounds.jobs);
  journal_.make();
  for (std::uint32_t n = 0; n < bounds.nodes; ++n) {
    nodes_[n].make(
        ExploredNode{NodeHost(NodeId{n}, settings_, Duration::zero()), {}, {}, {}, false});
    nodes_[n].edit().host.boot();
  }
  for (Part<ExploredLink>& each : links_) each.make();
  start_leader(0, 0);
  // All that happens by itself at the first instant, in one order.
  for (std::vector<Choice> next;; next.clear()) {
    everyday(next);
    if (next.empty() || next.front().kind == ChoiceKind::Advance) break;
    take(next.front());
  }
  clients_wait_ = false;
}

ExploredWorld::Snapshot ExploredWorld::keep() {
  Snapshot out;
  for (std::size_t i = 0; i < leaders_.size(); ++i) out.leaders[i] = leaders_[i].keep();
  for (std::size_t i = 0; i < nodes_.size(); ++i) out.nodes[i] = nodes_[i].keep();
  for (std::size_t i = 0; i < links_.size(); ++i) out.links[i] = links_[i].keep();
  out.journal = journal_.keep();
  out.rest = rest_.keep();
  return out;
}

void ExploredWorld::put_back(const Snapshot& snapshot) {
  for (std::size_t i = 0; i < leaders_.size(); ++i) leaders_[i].put_back(snapshot.leaders[i]);
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].put_back(snapshot.nodes[i]);
  for (std::size_t i = 0; i < links_.size(); ++i) links_[i].put_back(snapshot.links[i]);
  journal_.put_back(snapshot.journal);
  rest_.put_back(snapshot.rest);
}

Digest ExploredWorld::digest(const Snapshot& snapshot) {
  Digester digester;
  const auto add = [&](const auto& part) {
    const Digest digest = part == nullptr ? Digest{} : part->digest;
    digester.update(digest.high);
    digester.update(digest.low);
  };
  for (const auto& each : snapshot.leaders) add(each);
  for (const auto& each : snapshot.nodes) add(each);
  for (const auto& each : snapshot.links) add(each);
  add(snapshot.journal);
  add(snapshot.rest);
  return digester.finish();
}

void ExploredWorld::take(const Choice& choice) {
  processes_changed_ = false;
  switch (choice.kind) {
    case ChoiceKind::Turn:
      turn(choice.a);
      break;
    case ChoiceKind::Commit:
      commit();
      break;
    case ChoiceKind::ToNode:
      to_node(choice.a, choice.b);
      break;
    case ChoiceKind::ToLeader:
      to_leader(choice.a, choice.b);
      break;
    case ChoiceKind::LeaderTimer:
      leaders_[choice.a].edit().time_reached();
      break;
    case ChoiceKind::NoticeNode: {
      ExploredLink& each = edit_link(choice.a, choice.b);
      each.node_end = false;
      each.to_node.clear();
      ExploredNode& node = nodes_[choice.b].edit();
      if (node.following == each.leader) node.following = LeaderNumber{};
      break;
    }
    case ChoiceKind::NoticeLeader:
      edit_link(choice.a, choice.b).to_leader.clear();
      leaders_[choice.a].edit().disconnected(NodeId{choice.b});
      break;
    case ChoiceKind::Connect:
      connect(choice.a, choice.b);
      break;
    case ChoiceKind::Submit:
      submit(choice.a, choice.b);
      break;
    case ChoiceKind::Advance:
      advance();
      break;
    case ChoiceKind::Seen:
    case ChoiceKind::Ready:
    case ChoiceKind::NodeTimer:
    case ChoiceKind::EndAsked:
    case ChoiceKind::Exit:
    case ChoiceKind::Fail:
      take_of_node(choice);
      break;
    default:
      take_fault(choice);
  }
  if (processes_changed_) check_processes();
}

void ExploredWorld::take_of_node(const Choice& choice) {
  const std::size_t n = choice.a;
  switch (choice.kind) {
    case ChoiceKind::Seen: {
      const UnseenEnd end = node(n).unseen.front();
      nodes_[n].edit().unseen.pop_front();
      return step(n, WorkerExited{end.worker, end.exit_code});
    }
    case ChoiceKind::Ready: {
      const WorkerName name = process(n, choice.b);
      nodes_[n].edit().host.became_ready(name, Generation{0});
      if (node(n).host.agent_is_up()) step(n, WorkerReady{name});
      return;
    }
    case ChoiceKind::NodeTimer:
      if (node(n).host.agent_is_up()) return step(n, TimePassed{});
      return kill_by_fence(n);
    case ChoiceKind::EndAsked:
      return end_process(n, process(n, choice.b), 0, false);
    default:
      ++rest_.edit().exits;
      end_process(n, process(n, choice.b), choice.kind == ChoiceKind::Fail ? 1 : 0, false);
  }
}

void ExploredWorld::take_fault(const Choice& choice) {
  ExploredRest& rest = rest_.edit();
  switch (choice.kind) {
    case ChoiceKind::Break:
      ++rest.losses;
      edit_link(choice.a, choice.b).broken = true;
      return;
    case ChoiceKind::CrashLeader:
      ++rest.crashes;
      if (journal_.get().is_of(leaders_[choice.a].get().number())) journal_.edit().crash(choice.b);
      return end_leader(choice.a);
    case ChoiceKind::StartLeader:
      return start_leader(choice.a, choice.b);
    case ChoiceKind::CrashAgent:
      ++rest.crashes;
      return crash_agent(choice.a);
    case ChoiceKind::ReturnAgent:
      nodes_[choice.a].edit().host.agent_returns(now());
      return carry_out(choice.a);
    case ChoiceKind::CrashNode:
      ++rest.crashes;
      return crash_node(choice.a);
    case ChoiceKind::BootNode:
      return nodes_[choice.a].edit().host.boot();
    case ChoiceKind::Stop:
      ++rest.stops;
      leaders_[choice.a].edit().asked(
          StopRequested{stop_of(choice.b), rest.clients[choice.b].accepted});
      return;
    case ChoiceKind::Late:
      ++rest.late;
      nodes_[choice.a].edit().late = true;
      return;
    case ChoiceKind::Hold: {
      ++rest.delays;
      const Choice held = held_by(choice);
      rest.held.insert(std::upper_bound(rest.held.begin(), rest.held.end(), held), held);
      return;
    }
    case ChoiceKind::Release:
      std::erase(rest.held, held_by(choice));
      return;
    default:
      invariant(false, "every kind of choice is taken");
  }
}

// --- leaders ---

void ExploredWorld::start_leader(std::size_t slot, std::size_t kept) {
  ExploredRest& rest = rest_.edit();
  rest.started = rest.started.next();
  ExploredJournal& journal = journal_.edit();
  for (Part<ExploredLeader>& older : leaders_)
    if (older.is_there()) {
      const bool writes = journal.is_of(older.get().number());
      const Sequence durable = writes ? journal.durable() : older.get().durable();
      older.edit().succeeded(now() + kExploredGrace, durable);
    }
  journal.open(rest.started, kept);
  for (std::size_t n = 0; n < bounds_.nodes; ++n) {
    ExploredLink& each = edit_link(slot, n);
    if (each.node_end && node(n).following == each.leader)
      nodes_[n].edit().following = LeaderNumber{};
    each = ExploredLink{};
  }
  ExploredLeader& leader =
      leaders_[slot].make(static_cast<LeaderSurroundings&>(*this), slot, rest.started);
  const Epoch before = journal.epoch();
  const Status begun = leader.begin(settings_, groups_);
  if (!begun) {
    add(ViolationKind::JournalBroken, "a leader cannot begin: " + begun.errors().front().message);
    return end_leader(slot);
  }
  if (leader.epoch() <= before)
    add(ViolationKind::EpochNotRaised,
        "a leader begins in epoch " + std::to_string(leader.epoch().value) + " after epoch " +
            std::to_string(before.value));
  check_begun(leader);
}

void ExploredWorld::end_leader(std::size_t slot) {
  leaders_[slot].end();
  for (std::size_t n = 0; n < bounds_.nodes; ++n) {
    if (link(slot, n).leader == LeaderNumber{}) continue;
    ExploredLink& each = edit_link(slot, n);
    each.broken = true;
    each.to_leader.clear();
  }
}

void ExploredWorld::turn(std::size_t slot) {
  if (leaders_[slot].edit().turn() == Turn::Refused) return end_leader(slot);
}

void ExploredWorld::commit() {
  journal_.edit().commit();
  for (Part<ExploredLeader>& each : leaders_)
    if (each.is_there() && journal_.get().is_of(each.get().number())) each.edit().committed();
}

void ExploredWorld::issued(ExploredLeader& leader, const Command& command) {
  const std::string order = "an order of record " + std::to_string(command.sequence.value);
  if (command.sequence > leader.durable())
    add(ViolationKind::ActBeforeDurable, order + " goes out before that is durable");
  if (command.epoch != leader.epoch())
    add(ViolationKind::WrongEpoch,
        order + " carries epoch " + std::to_string(command.epoch.value) + " in epoch " +
            std::to_string(leader.epoch().value));
  const auto* answer = std::get_if<AnswerRequest>(&command.body);
  if (answer == nullptr || !answer->accepted) return;
  answered(*answer);
}

// --- connections ---

void ExploredWorld::say(const ExploredLeader& leader, NodeId node, Message message) {
  const ExploredLink& each = link(leader.slot(), node.index());
  if (each.broken) return;
  message.leader = leader.number();
  message.node = node;
  message.sent_at = now();
  edit_link(leader.slot(), node.index())
      .to_node.push_back(std::make_shared<const Message>(std::move(message)));
}

void ExploredWorld::hang_up(const ExploredLeader& leader, NodeId node) {
  ExploredLink& each = edit_link(leader.slot(), node.index());
  each.broken = true;
  each.to_leader.clear();
}

void ExploredWorld::connect(std::size_t slot, std::size_t n) {
  let_go(n);
  ExploredLink& fresh = edit_link(slot, n);
  fresh = ExploredLink{};
  fresh.leader = leaders_[slot].get().number();
  fresh.broken = false;
  fresh.node_end = true;
  nodes_[n].edit().following = fresh.leader;
  leaders_[slot].edit().connected(NodeId{static_cast<std::uint32_t>(n)});
  step(n, Connected{});
}

// The agent leaves the connection that it has; what has come that far it may still read.
void ExploredWorld::let_go(std::size_t n) {
  const LeaderNumber followed = node(n).following;
  if (followed == LeaderNumber{}) return;
  nodes_[n].edit().following = LeaderNumber{};
  for (std::size_t l = 0; l < leaders_.size(); ++l)
    if (link(l, n).leader == followed) edit_link(l, n).broken = true;
}

void ExploredWorld::to_node(std::size_t slot, std::size_t n) {
  ExploredLink& each = edit_link(slot, n);
  const InFlight message = each.to_node.front();
  each.to_node.pop_front();
  switch (message->kind) {
    case MessageKind::Order:
      if (const auto* clean = std::get_if<CleanJob>(&message->order->body))
        nodes_[n].edit().host.cleaned(clean->job);
      return step(n, CommandReceived{*message->order});
    case MessageKind::Renewal:
      return step(n, LeaseRenewed{message->epoch, message->heard_of});
    case MessageKind::Announcement:
      return step(n, EpochAnnounced{message->epoch});
    default:
      invariant(false, "an agent hears what leaders say");
  }
}

void ExploredWorld::to_leader(std::size_t slot, std::size_t n) {
  ExploredLink& each = edit_link(slot, n);
  const InFlight message = each.to_leader.front();
  each.to_leader.pop_front();
  leaders_[slot].edit().heard(*message);
}

void ExploredWorld::submit(std::size_t slot, std::size_t c) {
  ExploredRest& rest = rest_.edit();
  ExploredClient& client = rest.clients[c];
  if (slot_of(client.asked) < leaders_.size()) ++rest.resends;
  client.asked = leaders_[slot].get().number();
  leaders_[slot].edit().asked(JobSubmitted{submission_of(c), specs_[c], {}});
}

void ExploredWorld::advance() {
  rest_.edit().now = now() + kExploredTick;
  for (std::size_t n = 0; n < bounds_.nodes; ++n)
    if (node(n).late) nodes_[n].edit().late = false;
}

// --- nodes ---

WorkerName ExploredWorld::process(std::size_t n, std::size_t index) const {
  return std::next(node(n).host.processes().begin(), static_cast<std::ptrdiff_t>(index))->first;
}

void ExploredWorld::step(std::size_t n, const AgentEvent& event) {
  nodes_[n].edit().host.step(event, now());
  carry_out(n);
}

// First what the agent orders, then what it reports, then its complete list.
void ExploredWorld::carry_out(std::size_t n) {
  AgentOutput out = std::exchange(nodes_[n].edit().host.out(), {});
  for (const AgentAction& action : out.actions) act(n, action);
  if (!out.reports.empty()) {
    pack_reports(out.reports);
    Message message;
    message.kind = MessageKind::Reports;
    message.reports = std::move(out.reports);
    send(n, std::move(message));
  }
  if (!out.heartbeat) return;
  Message message;
  message.kind = MessageKind::Beat;
  message.beat = *std::move(out.heartbeat);
  send(n, std::move(message));
}

void ExploredWorld::send(std::size_t n, Message message) {
  const std::size_t slot = slot_of(node(n).following);
  if (slot == leaders_.size() || link(slot, n).broken) return;
  message.leader = node(n).following;
  message.node = NodeId{static_cast<std::uint32_t>(n)};
  message.sent_at = now();
  edit_link(slot, n).to_leader.push_back(std::make_shared<const Message>(std::move(message)));
}

void ExploredWorld::act(std::size_t n, const AgentAction& action) {
  ExploredNode& node = nodes_[n].edit();
  if (const auto* spawn = std::get_if<SpawnWorker>(&action)) {
    processes_changed_ = true;
    node.host.spawned(*spawn);
  } else if (const auto* tell = std::get_if<TellMembership>(&action)) {
    processes_changed_ = true;
    node.host.told(*tell);
  } else if (const auto* signal = std::get_if<SignalWorker>(&action)) {
    if (!node.host.processes().contains(signal->worker)) return;
    if (signal->signal == WorkerSignal::Ask) {
      node.asked.insert(signal->worker);
      return;
    }
    const auto known = node.host.agent().workers().find(signal->worker);
    const bool by_fence = known != node.host.agent().workers().end() && known->second.fenced;
    end_process(n, signal->worker, 137, by_fence);
  }
}

void ExploredWorld::end_process(std::size_t n,
                                const WorkerName& name,
                                std::int32_t exit_code,
                                bool by_fence) {
  ExploredNode& node = nodes_[n].edit();
  (void)node.host.ended(name, WorkerFact::Exited, exit_code, by_fence);
  node.asked.erase(name);
  if (node.host.agent_is_up()) node.unseen.push_back({name, exit_code});
}

void ExploredWorld::kill_by_fence(std::size_t n) {
  std::vector<WorkerName> names;
  for (const auto& [name, process] : node(n).host.processes()) names.push_back(name);
  for (const WorkerName& name : names) end_process(n, name, 137, true);
}

void ExploredWorld::crash_agent(std::size_t n) {
  let_go(n);
  ExploredNode& node = nodes_[n].edit();
  node.host.agent_dies();
  node.unseen.clear();
  node.late = false;
  for (std::size_t l = 0; l < leaders_.size(); ++l) {
    if (!link(l, n).node_end) continue;
    ExploredLink& each = edit_link(l, n);
    each.node_end = false;
    each.to_node.clear();
  }
}

void ExploredWorld::crash_node(std::size_t n) {
  if (node(n).host.agent_is_up()) crash_agent(n);
  ExploredNode& node = nodes_[n].edit();
  node.host.die();
  node.asked.clear();
  node.late = false;
}

}  // namespace orrery::sim
