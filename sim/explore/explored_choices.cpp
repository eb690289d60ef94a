// What may happen next in an explored world.
#include <algorithm>
#include <cstddef>

#include "sim/explore/explored_world.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kBits = 4;  // Of the second number of a choice, in one that is held up.

Choice choice(ChoiceKind kind, std::size_t a = 0, std::size_t b = 0) {
  return {kind, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b)};
}

// Deadlines of agents and fences are late or not; time is what all others are held up for.
bool may_be_held(ChoiceKind kind) {
  return kind < ChoiceKind::Advance && kind != ChoiceKind::NodeTimer;
}

}  // namespace

Choice hold_of(const Choice& what) {
  return choice(ChoiceKind::Hold,
                static_cast<std::size_t>(what.kind),
                (std::size_t{what.a} << kBits) + what.b);
}

Choice held_by(const Choice& hold) {
  return choice(static_cast<ChoiceKind>(hold.a), hold.b >> kBits, hold.b & ((1U << kBits) - 1));
}

std::size_t ExploredWorld::slot_of(LeaderNumber leader) const {
  for (std::size_t l = 0; l < leaders_.size(); ++l)
    if (leaders_[l].is_there() && leaders_[l].get().number() == leader) return l;
  return leaders_.size();
}

// Rather one where nothing of an earlier leader is still on its way.
std::size_t ExploredWorld::free_slot() const {
  std::size_t free = leaders_.size();
  for (std::size_t slot = leaders_.size(); slot-- > 0;) {
    if (leaders_[slot].is_there()) continue;
    bool is_quiet = true;
    for (std::size_t n = 0; n < bounds_.nodes; ++n) is_quiet = is_quiet && !link(slot, n).node_end;
    if (is_quiet || free == leaders_.size()) free = slot;
  }
  return free;
}

bool ExploredWorld::is_due(const ExploredNode& node) const {
  if (!node.host.is_up() || node.host.next_wake() > now()) return false;
  return node.host.agent_is_up() || node.host.shims_must_kill(now());
}

void ExploredWorld::leaders_choices(std::vector<Choice>& out) const {
  for (std::size_t l = 0; l < leaders_.size(); ++l)
    if (leaders_[l].is_there() && leaders_[l].get().has_work())
      out.push_back(choice(ChoiceKind::Turn, l));
  if (journal_.get().not_durable() > 0) out.push_back(choice(ChoiceKind::Commit));
}

void ExploredWorld::links_choices(std::vector<Choice>& out) const {
  for (std::size_t l = 0; l < leaders_.size(); ++l)
    for (std::size_t n = 0; n < bounds_.nodes; ++n)
      if (link(l, n).node_end && !link(l, n).to_node.empty())
        out.push_back(choice(ChoiceKind::ToNode, l, n));
  for (std::size_t l = 0; l < leaders_.size(); ++l)
    for (std::size_t n = 0; n < bounds_.nodes; ++n)
      if (!link(l, n).to_leader.empty()) out.push_back(choice(ChoiceKind::ToLeader, l, n));
}

void ExploredWorld::nodes_choices(std::vector<Choice>& out) const {
  for (std::size_t n = 0; n < bounds_.nodes; ++n)
    if (!node(n).unseen.empty()) out.push_back(choice(ChoiceKind::Seen, n));
  for (std::size_t n = 0; n < bounds_.nodes; ++n) {
    std::size_t index = 0;
    for (const auto& [name, process] : node(n).host.processes()) {
      if (process.state == AgentWorkerState::Starting && !node(n).asked.contains(name))
        out.push_back(choice(ChoiceKind::Ready, n, index));
      ++index;
    }
  }
  for (std::size_t n = 0; n < bounds_.nodes; ++n)
    if (is_due(node(n)) && !node(n).late) out.push_back(choice(ChoiceKind::NodeTimer, n));
  for (std::size_t l = 0; l < leaders_.size(); ++l)
    if (leaders_[l].is_there() && leaders_[l].get().timer_is_due())
      out.push_back(choice(ChoiceKind::LeaderTimer, l));
}

// An agent without a connection takes any leader that leads; one that has a connection leaves it
// for a younger leader only.
bool ExploredWorld::may_connect(std::size_t l, std::size_t n) const {
  if (!leaders_[l].is_there() || !leaders_[l].get().is_established()) return false;
  if (!node(n).host.agent_is_up()) return false;
  return leaders_[l].get().number() > node(n).following;
}

void ExploredWorld::clients_choices(std::vector<Choice>& out) const {
  for (std::size_t l = 0; l < leaders_.size(); ++l)
    for (std::size_t n = 0; n < bounds_.nodes; ++n) {
      const ExploredLink& each = link(l, n);
      if (each.broken && each.node_end) out.push_back(choice(ChoiceKind::NoticeNode, l, n));
    }
  for (std::size_t l = 0; l < leaders_.size(); ++l)
    for (std::size_t n = 0; n < bounds_.nodes; ++n)
      if (link(l, n).broken && leaders_[l].is_there() &&
          leaders_[l].get().is_open(NodeId{static_cast<std::uint32_t>(n)}))
        out.push_back(choice(ChoiceKind::NoticeLeader, l, n));
  for (std::size_t l = 0; l < leaders_.size(); ++l)
    for (std::size_t n = 0; n < bounds_.nodes; ++n)
      if (may_connect(l, n)) out.push_back(choice(ChoiceKind::Connect, l, n));
  if (clients_wait_) return;
  for (std::size_t l = 0; l < leaders_.size(); ++l) {
    if (!leaders_[l].is_there() || !leaders_[l].get().is_established()) continue;
    for (std::size_t c = 0; c < rest_.get().clients.size(); ++c) {
      const ExploredClient& client = rest_.get().clients[c];
      if (!client.accepted.is_none()) continue;
      const bool waits = slot_of(client.asked) < leaders_.size();
      if (!waits || rest_.get().resends < bounds_.resends)
        out.push_back(choice(ChoiceKind::Submit, l, c));
    }
  }
}

bool ExploredWorld::may_advance() const {
  if (now() >= Instant::zero() + Duration::seconds(bounds_.seconds)) return false;
  for (std::size_t n = 0; n < bounds_.nodes; ++n)
    if (is_due(node(n)) && !node(n).late) return false;
  return true;
}

void ExploredWorld::everyday(std::vector<Choice>& out) const {
  leaders_choices(out);
  links_choices(out);
  nodes_choices(out);
  clients_choices(out);
  for (std::size_t n = 0; n < bounds_.nodes; ++n) {
    std::size_t index = 0;
    for (const auto& [name, process] : node(n).host.processes()) {
      if (node(n).asked.contains(name)) out.push_back(choice(ChoiceKind::EndAsked, n, index));
      ++index;
    }
  }
  if (may_advance()) out.push_back(choice(ChoiceKind::Advance));
}

void ExploredWorld::faults(std::vector<Choice>& out) const {
  const ExploredRest& rest = rest_.get();
  if (rest.losses < bounds_.losses)
    for (std::size_t l = 0; l < leaders_.size(); ++l)
      for (std::size_t n = 0; n < bounds_.nodes; ++n)
        if (!link(l, n).broken) out.push_back(choice(ChoiceKind::Break, l, n));
  const bool crashes = rest.crashes < bounds_.crashes;
  const std::size_t tail = journal_.get().not_durable();
  for (std::size_t l = 0; crashes && l < leaders_.size(); ++l) {
    if (!leaders_[l].is_there()) continue;
    const bool writes = journal_.get().is_of(leaders_[l].get().number());
    for (std::size_t kept = 0; kept <= (writes ? tail : 0); ++kept)
      out.push_back(choice(ChoiceKind::CrashLeader, l, kept));
  }
  if (rest.started.value < bounds_.leaders && free_slot() < leaders_.size())
    for (std::size_t kept = 0; kept <= tail; ++kept)
      out.push_back(choice(ChoiceKind::StartLeader, free_slot(), kept));
  for (std::size_t l = 0; rest.stops < bounds_.stops && l < leaders_.size(); ++l) {
    if (!leaders_[l].is_there() || !leaders_[l].get().is_established()) continue;
    for (std::size_t c = 0; c < rest.clients.size(); ++c)
      if (!rest.clients[c].accepted.is_none() && !rest.clients[c].stopped)
        out.push_back(choice(ChoiceKind::Stop, l, c));
  }
  for (std::size_t n = 0; n < bounds_.nodes; ++n) {
    const ExploredNode& each = node(n);
    if (crashes && each.host.agent_is_up()) out.push_back(choice(ChoiceKind::CrashAgent, n));
    if (crashes && each.host.is_up()) out.push_back(choice(ChoiceKind::CrashNode, n));
    if (each.host.is_up() && !each.host.agent_is_up())
      out.push_back(choice(ChoiceKind::ReturnAgent, n));
    if (!each.host.is_up()) out.push_back(choice(ChoiceKind::BootNode, n));
    for (std::size_t p = 0; rest.exits < bounds_.exits && p < each.host.processes().size(); ++p) {
      out.push_back(choice(ChoiceKind::Exit, n, p));
      out.push_back(choice(ChoiceKind::Fail, n, p));
    }
    const bool is_just_due = is_due(each) && each.host.next_wake() == now();
    if (rest.late < bounds_.late && is_just_due && !each.late)
      out.push_back(choice(ChoiceKind::Late, n));
  }
}

// Of the everyday the first that is not held up; what may be held up from now on or no longer is.
void ExploredWorld::with_delays(std::vector<Choice>& out) const {
  const ExploredRest& rest = rest_.get();
  std::vector<Choice> all;
  everyday(all);
  std::erase_if(all, [&](const Choice& each) {
    return std::binary_search(rest.held.begin(), rest.held.end(), each);
  });
  if (!all.empty()) out.push_back(all.front());
  if (rest.delays < *bounds_.delays)
    for (const Choice& each : all)
      if (may_be_held(each.kind)) out.push_back(hold_of(each));
  for (const Choice& each : rest.held) {
    Choice release = hold_of(each);
    release.kind = ChoiceKind::Release;
    out.push_back(release);
  }
}

void ExploredWorld::choices(std::vector<Choice>& out) const {
  if (bounds_.delays && !clients_wait_)
    with_delays(out);
  else
    everyday(out);
  if (!clients_wait_) faults(out);
}

}  // namespace orrery::sim
