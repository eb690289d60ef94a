// Between agents and leaders: connections, messages, and the requests of clients.

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/invariant.hpp"
#include "sim/agents/agent_world.hpp"

namespace orrery::sim {
namespace {

constexpr Duration kRetry = Duration::seconds(1);     // Between two attempts to reach a leader.
constexpr Duration kAskAgain = Duration::seconds(5);  // A client's patience.

// Whether a run waits for the message to arrive: there are always heartbeats and their answers.
bool is_counted(MessageKind kind) {
  return kind != MessageKind::Beat && kind != MessageKind::Renewal;
}

}  // namespace

// --- orders ---

void AgentWorld::issue_from(LeaderPort& port, const Command& command) {
  if (const auto* answer = std::get_if<AnswerRequest>(&command.body))
    return answered(port, *answer);
  if (const auto* relaunch = std::get_if<RelaunchNodes>(&command.body))
    return cluster_.obey(*relaunch);
  if (const auto* start = std::get_if<StartWorkers>(&command.body)) make_known(port, start->job);
  if (const auto* clean = std::get_if<CleanJob>(&command.body)) cluster_.obey(*clean);
  port.leader().order(command);
  drain();
}

void AgentWorld::send_order(LeaderPort& port, NodeId node, std::shared_ptr<const Command> order) {
  if (tap_ != nullptr) tell_order_sent(port, node, *order);
  Message* message = compose(port, node, MessageKind::Order);
  message->order = std::move(order);
  send(true);
}

void AgentWorld::tell_order_sent(LeaderPort& port, NodeId node, const Command& order) {
  JobId job;
  if (const auto* start = std::get_if<StartWorkers>(&order.body)) job = start->job;
  if (const auto* update = std::get_if<UpdateMembership>(&order.body)) job = update->job;
  if (const auto* word = std::get_if<TellSubMaster>(&order.body)) job = word->job;
  const JobState* known = job.is_none() ? nullptr : port.state().find(job);
  if (known == nullptr) return tap_->on_order_sent(now(), node, order, true, true);
  const std::map<JobId, Generation>& told = port.link(node).told;
  const auto found = told.find(job);
  const bool knows = found != told.end();
  tap_->on_order_sent(now(), node, order, knows, knows && found->second == known->row.generation);
}

void AgentWorld::send_renewal(LeaderPort& port, NodeId node, Instant heard_of, bool registers) {
  Message* answer = compose(port, node, MessageKind::Renewal);
  answer->epoch = port.epoch();
  answer->heard_of = heard_of;
  send(registers);
}

void AgentWorld::send_announcement(LeaderPort& port, NodeId node) {
  compose(port, node, MessageKind::Announcement)->epoch = port.epoch();
  send(false);
}

// --- messages ---

Message* AgentWorld::compose(LeaderPort& port, NodeId node, MessageKind kind) {
  composing_ = messages_.take();
  Message& message = messages_[composing_];
  message.kind = kind;
  message.leader = port.number();
  message.node = node;
  message.connection = port.link(node).connection;
  message.arrivals = 0;
  message.sent_at = now();
  return &message;
}

// Null where the agent has no connection: what it says is lost, and it knows.
Message* AgentWorld::compose_to_leader(NodeId node, MessageKind kind) {
  LeaderPort* port = find(following_[node.index()].leader);
  if (port == nullptr || !port->leader().is_open(node)) return nullptr;
  return compose(*port, node, kind);
}

// Sends what was composed. A stream that loses a message is broken.
void AgentWorld::send(bool as_stream) {
  const std::uint32_t slot = composing_;
  Message& message = messages_[slot];
  LeaderPort& port = *find(message.leader);
  PortLink& link = port.link(message.node);
  const Way way = message.way();
  if (transport_ != nullptr) {
    message.arrivals = 1;
    if (is_counted(message.kind)) ++under_way_;
    return transport_->send(slot, message.node, way, message.bytes(), now());
  }
  MessageStream& stream = way == Way::ToNode ? link.to_node : link.from_node;
  const MessageFate fate =
      network_.send(message.node, way, message.bytes(), now(), stream, as_stream);
  for (const Instant at : {fate.arrives, fate.arrives_again}) {
    if (at.is_never()) continue;
    ++message.arrivals;
    futures_.push(at, WorldFutureKind::Deliver, slot);
  }
  if (is_counted(message.kind)) under_way_ += message.arrivals;
  if (message.arrivals > 0) return;
  const NodeId node = message.node;
  messages_.drop(slot);
  if (as_stream) break_connection(port, node);
}

void AgentWorld::deliver(std::uint32_t slot) {
  Message& message = messages_[slot];
  LeaderPort* port = find(message.leader);
  if (port != nullptr && message.way() == Way::FromNode && port->asleep_until() > now()) {
    // It waits until the leader listens again, behind those that came before it.
    if (port->unheard().empty())
      futures_.push(port->asleep_until(), WorldFutureKind::Listen, port->number().value);
    port->unheard().push_back(slot);
    return;
  }
  if (is_counted(message.kind)) --under_way_;
  --message.arrivals;
  if (port != nullptr && port->link(message.node).connection == message.connection) {
    if (message.way() == Way::ToNode)
      deliver_to_node(*port, message);
    else
      deliver_to_leader(*port, message);
    drain();
  }
  if (message.arrivals == 0) messages_.drop(slot);
}

void AgentWorld::listen(LeaderPort& port) {
  if (port.asleep_until() > now())
    return futures_.push(port.asleep_until(), WorldFutureKind::Listen, port.number().value);
  for (const std::uint32_t slot : std::exchange(port.unheard(), {})) deliver(slot);
}

void AgentWorld::deliver_to_node(LeaderPort& port, const Message& message) {
  NodeHost& node = nodes_[message.node.index()];
  if (!node.agent_is_up() || port.link(message.node).session != node.session()) return;
  switch (message.kind) {
    case MessageKind::Order:
      if (tap_ != nullptr) tap_->on_order_heard(now(), message.node, *message.order);
      if (const auto* clean = std::get_if<CleanJob>(&message.order->body)) node.cleaned(clean->job);
      return step(node, CommandReceived{*message.order});
    case MessageKind::Renewal:
      return step(node, LeaseRenewed{message.epoch, message.heard_of});
    case MessageKind::Announcement:
      return step(node, EpochAnnounced{message.epoch});
    case MessageKind::Beat:
    case MessageKind::Reports:
    case MessageKind::Fact:
      break;
  }
  invariant(false, "an agent hears what leaders say");
}

void AgentWorld::deliver_to_leader(LeaderPort& port, const Message& message) {
  port.heard(message);
  // It may have had nothing to wait for, or something later than what it waits for now.
  wake_port_at(port);
  if (port.leader().has_news()) wake_leaders();
}

void AgentWorld::send_fact(NodeId node, EventBody fact, bool as_stream) {
  if (Message* message = compose_to_leader(node, MessageKind::Fact)) {
    message->fact = std::move(fact);
    return send(as_stream);
  }
  const auto* progress = std::get_if<ProgressReported>(&fact);
  if (progress == nullptr) return;
  std::vector<ProgressReported>& unsent = following_[node.index()].unsent;
  // Of each job what was said last, and the last checkpoint.
  std::erase_if(unsent, [&](const ProgressReported& p) {
    return p.job == progress->job && (progress->checkpointed || !p.checkpointed);
  });
  unsent.push_back(*progress);
}

// --- connections ---

void AgentWorld::seek_leader(NodeId node, Duration after) {
  futures_.push(
      now() + after, WorldFutureKind::Attempt, node.value, ++following_[node.index()].attempt);
}

void AgentWorld::try_to_connect(NodeId id) {
  Following& following = following_[id.index()];
  if (!nodes_[id.index()].agent_is_up()) return;
  LeaderPort* port = youngest();
  if (port != nullptr && following.leader == port->number() && port->leader().is_open(id)) return;
  const bool reachable =
      port != nullptr && !network_.is_cut(id, Way::ToNode) && !network_.is_cut(id, Way::FromNode);
  if (!reachable) return seek_leader(id, kRetry);
  futures_.push(now() + network_.round_trip(id),
                WorldFutureKind::Connected,
                id.value,
                following.attempt,
                port->number().value);
}

void AgentWorld::connect(NodeId id, LeaderNumber leader) {
  Following& following = following_[id.index()];
  NodeHost& node = nodes_[id.index()];
  LeaderPort* port = find(leader);
  if (!node.agent_is_up()) return;
  if (port == nullptr || network_.is_cut(id, Way::ToNode) || network_.is_cut(id, Way::FromNode))
    return seek_leader(id, kRetry);
  PortLink& link = port->link(id);
  ++link.connection;
  link.session = node.session();
  link.to_node = link.from_node = MessageStream{};
  link.told.clear();
  following.leader = leader;
  following.connection = link.connection;
  port->leader().connected(id);
  step(node, AgentEvent{Connected{}});
  for (ProgressReported& progress : std::exchange(following.unsent, {}))
    send_fact(id, std::move(progress), false);
  drain();
}

// Nothing more goes over it in either direction; both ends find out by and by.
void AgentWorld::break_connection(LeaderPort& port, NodeId node) {
  if (!port.leader().is_open(node)) return;
  port.leader().disconnected(node);
  Following& following = following_[node.index()];
  if (following.leader != port.number()) return;
  following.leader = LeaderNumber{};
  seek_leader(node, Duration{kRetry.ns / 2} + network_.draw(kRetry));
}

// --- clients ---

void AgentWorld::ask_again(std::uint64_t request) {
  const auto found = asked_.find(request);
  if (found == asked_.end()) return;
  LeaderPort* port = youngest();
  if (port == nullptr) return;  // The next leader is asked at once.
  const Asked& asked = found->second;
  const bool external = !std::holds_alternative<NodesRelaunched>(asked.body);
  port->told(external ? Origin::External : Origin::Reaction, asked.body);
  if (port->asleep_until() <= now()) wake_leaders();
  if (asked.dropped || !asked.repeats) {
    asked_.erase(found);
    return;
  }
  futures_.push(now() + kAskAgain, WorldFutureKind::Ask, request);
}

void AgentWorld::answered(LeaderPort&, const AnswerRequest& answer) {
  const auto found = asked_.find(answer.request);
  if (found == asked_.end()) return;
  const bool submission = std::holds_alternative<JobSubmitted>(found->second.body);
  asked_.erase(found);
  if (submission) cluster_.obey(answer);
}

// The answer to a submission may have been lost with the leader that gave it, while the job goes
// on: its truth must be known before its workers start.
void AgentWorld::make_known(LeaderPort& port, JobId job) {
  const JobState* state = port.state().find(job);
  if (cluster_.job(job) != nullptr || state == nullptr) return;
  for (const auto& [request, asked] : asked_) {
    const auto* submitted = std::get_if<JobSubmitted>(&asked.body);
    if (submitted == nullptr || submitted->spec->name != state->spec->name) continue;
    return cluster_.obey(AnswerRequest{request, job, true, {}});
  }
}

}  // namespace orrery::sim
