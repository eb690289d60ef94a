#include "sim/agents/agent_world.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::sim {

AgentWorld::AgentWorld(const scenarios::Scenario& scenario,
                       JobSource& source,
                       WorldTap* tap,
                       ControlTransport* transport,
                       Fabric* fabric)
    : scenario_(scenario),
      tap_(tap),
      transport_(transport),
      network_(scenario.seed, static_cast<std::size_t>(scenario.node_count()), NetworkSettings{}),
      following_(static_cast<std::size_t>(scenario.node_count())),
      jitter_(Random::stream(scenario.seed, "jitter")),
      cluster_(scenario, source, *this, fabric) {
  Random clocks = Random::stream(scenario.seed, "clocks");
  Random rates = Random::stream(scenario.seed, "clock rates");
  nodes_.reserve(following_.size());
  for (std::uint32_t n = 0; n < following_.size(); ++n) {
    // Monotonic clocks begin at the boot of their machine, whenever that was.
    const Duration ahead = Duration::seconds(clocks.between(0, 86'400));
    const std::int32_t most = scenario.jitter.clocks_ppm;
    const auto rate = static_cast<std::int32_t>(most == 0 ? 0 : rates.between(-most, most));
    nodes_.emplace_back(NodeId{n}, scenario.settings, ahead, rate);
    nodes_.back().boot();
    wake_node_at(nodes_.back());
  }
}

AgentWorld::~AgentWorld() = default;

// --- leaders ---

LeaderPort* AgentWorld::find(LeaderNumber leader) {
  for (const std::unique_ptr<LeaderPort>& port : ports_)
    if (port->number() == leader) return port.get();
  return nullptr;
}

LeaderPort* AgentWorld::youngest() {
  for (std::size_t i = ports_.size(); i-- > 0;)
    if (ports_[i]->leader().is_established()) return ports_[i].get();
  return nullptr;
}

World& AgentWorld::port(LeaderNumber leader, Epoch epoch, const State& state) {
  const Duration ahead = std::max(wall_ahead_, state.now - now());
  for (const std::unique_ptr<LeaderPort>& older : ports_)
    older->grant_until(now() + scenario_.settings.takeover_grace);
  ports_.push_back(std::make_unique<LeaderPort>(static_cast<PortOwner&>(*this),
                                                leader,
                                                epoch,
                                                state,
                                                scenario_.settings,
                                                static_cast<std::uint32_t>(nodes_.size()),
                                                ahead));
  return *ports_.back();
}

void AgentWorld::established(LeaderNumber leader) {
  LeaderPort* port = find(leader);
  if (port == nullptr) return;
  port->leader().establish(now());
  wake_port_at(*port);
  // The first leader is waited for; of a later one the agents learn little by little.
  const Duration longest = leader.value > 1 ? Duration::seconds(1) : Duration::zero();
  for (NodeHost& node : nodes_)
    if (node.agent_is_up()) seek_leader(node.id(), network_.draw(longest));
  for (const auto& [request, asked] : asked_) futures_.push(now(), WorldFutureKind::Ask, request);
}

void AgentWorld::close(LeaderNumber leader) {
  const auto gone = std::find_if(
      ports_.begin(), ports_.end(), [&](const auto& port) { return port->number() == leader; });
  if (gone == ports_.end()) return;
  ear_calls_of_past_ += (*gone)->leader().calls();
  const std::vector<std::uint32_t> unheard = std::exchange((*gone)->unheard(), {});
  ports_.erase(gone);
  for (const std::uint32_t slot : unheard) deliver(slot);  // Dropped.
  for (NodeHost& node : nodes_) {
    Following& following = following_[node.id().index()];
    if (following.leader != leader) continue;
    following.leader = LeaderNumber{};
    if (node.agent_is_up()) seek_leader(node.id(), network_.draw(Duration::seconds(1)));
  }
}

void AgentWorld::pause(LeaderNumber leader, Instant until) {
  if (LeaderPort* port = find(leader)) port->sleep_until(until);
}

void AgentWorld::wake_port_at(LeaderPort& port) {
  const Leader& leader = port.leader();
  if (!leader.is_established() || leader.next_deadline().is_never()) return;
  const Instant deadline = std::max({leader.next_deadline(), port.asleep_until(), now()});
  if (deadline >= port.awaited()) return;
  port.set_awaited(deadline);
  futures_.push(late(deadline), WorldFutureKind::WakePort, port.number().value);
}

// A leader that is awake has something to take. Where it takes batches late, it does so after a
// while, with what has come meanwhile.
void AgentWorld::wake_leaders() {
  const Duration longest = scenario_.jitter.batches;
  if (longest == Duration::zero()) {
    interrupted_ = true;
  } else if (take_news_at_.is_never()) {
    take_news_at_ = now() + Duration{jitter_.between(1, longest.ns)};
    futures_.push(take_news_at_, WorldFutureKind::TakeNews, 0);
  }
}

bool AgentWorld::waits_to_be_taken(const LeaderPort& port) const {
  return port.leader().has_news() && port.asleep_until() <= now();
}

// When a leader or agent wakes that waits for `due`.
Instant AgentWorld::late(Instant due) {
  const Duration longest = scenario_.jitter.timers;
  if (longest == Duration::zero() || due.is_never()) return due;
  return due + Duration{jitter_.between(1, longest.ns)};
}

// --- time ---

// When something happens next, as far as it is no later than `until`.
Instant AgentWorld::next_until(Instant until) {
  const Instant mine = futures_.next();
  const Instant own = std::min(mine, cluster_.next(std::min(mine, until)));
  return transport_ == nullptr ? own : std::min(own, transport_->next(std::min(own, until)));
}

void AgentWorld::take_arrived() {
  transport_->take_arrived(now(), arrived_);
  for (std::size_t i = 0; i < arrived_.size(); ++i) deliver(arrived_[i]);
  arrived_.clear();
}

void AgentWorld::advance(Instant until) {
  interrupted_ = !control_faults_.empty() || !struck_.empty();
  for (const std::unique_ptr<LeaderPort>& port : ports_)
    if (!interrupted_ && waits_to_be_taken(*port)) wake_leaders();
  while (!interrupted_) {
    const Instant next = next_until(until);
    if (next > until || next.is_never()) {
      if (!until.is_never()) cluster_.wait_to(until);
      return;
    }
    cluster_.pass_to(std::max(next, now()));
    drain();
    if (transport_ != nullptr) take_arrived();
    while (futures_.next() <= now()) happen(futures_.pop());
    interrupted_ = interrupted_ || !control_faults_.empty() || !struck_.empty();
  }
}

void AgentWorld::happen(const WorldFuture& future) {
  const auto subject = static_cast<std::uint32_t>(future.subject);
  switch (future.kind) {
    case WorldFutureKind::Listen:
      if (LeaderPort* port = find(LeaderNumber{subject})) listen(*port);
      return;
    case WorldFutureKind::Deliver:
      return deliver(subject);
    case WorldFutureKind::Ask:
      return ask_again(future.subject);
    case WorldFutureKind::FaultOver:
      return network_.end(subject);
    case WorldFutureKind::AgentUp: {
      NodeHost& node = nodes_[subject];
      if (!node.is_up() || node.agent_is_up()) return;
      if (tap_ != nullptr) tap_->on_agent(now(), node.id(), true);
      node.agent_returns(now());
      carry_out(node);
      drain();
      return seek_leader(node.id(), Duration::zero());
    }
    case WorldFutureKind::Attempt:
      if (future.stamp == following_[subject].attempt) try_to_connect(NodeId{subject});
      return;
    case WorldFutureKind::Connected:
      if (future.stamp == following_[subject].attempt)
        connect(NodeId{subject}, LeaderNumber{static_cast<std::uint32_t>(future.detail)});
      return;
    case WorldFutureKind::WakeNode:
      return wake_node(nodes_[subject]);
    case WorldFutureKind::WakePort: {
      LeaderPort* port = find(LeaderNumber{subject});
      // An earlier deadline has taken its place.
      if (port == nullptr || port->awaited() > now()) return;
      port->set_awaited(Instant::never());
      if (port->asleep_until() <= now()) port->leader().time_reached(now());
      if (port->leader().has_news()) wake_leaders();
      return wake_port_at(*port);
    }
    case WorldFutureKind::TakeNews:
      take_news_at_ = Instant::never();
      interrupted_ = true;
      return;
  }
}

// --- for the runner of the scenario ---

std::vector<scenarios::Fault> AgentWorld::take_control_faults() {
  return std::exchange(control_faults_, {});
}

std::vector<std::uint32_t> AgentWorld::take_struck() { return std::exchange(struck_, {}); }

bool AgentWorld::work_left() const {
  return cluster_.work_left() || !asked_.empty() || under_way_ > 0 || !pending_.empty();
}

// What is woken acts at once, so no deadline of it lies behind, unless it has just begun and its
// wake is under way.
std::string AgentWorld::missed_timer() const {
  const Duration slack = scenario_.jitter.timers * 2 + Duration::milliseconds(1);
  const Instant before = now() - slack;
  for (const NodeHost& node : nodes_) {
    if (following_[node.id().index()].wake <= now() + slack) continue;
    if (node.agent_is_up() ? node.next_wake() < before : node.shims_must_kill(before))
      return "the agent or the fence of node " + std::to_string(node.id().value);
  }
  for (const std::unique_ptr<LeaderPort>& port : ports_) {
    const Instant due = std::max(port->leader().next_deadline(), port->asleep_until());
    if (port->leader().is_established() && due < before && port->awaited() > now())
      return "the session of leader " + std::to_string(port->number().value);
  }
  return {};
}

WorldSteps AgentWorld::steps() const {
  WorldSteps steps;
  for (const NodeHost& node : nodes_) steps.agents += node.steps();
  steps.ears = ear_calls_of_past_;
  for (const std::unique_ptr<LeaderPort>& port : ports_) steps.ears += port->leader().calls();
  return steps;
}

}  // namespace orrery::sim
