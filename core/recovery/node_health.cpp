#include "core/recovery/node_health.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/planted.hpp"

namespace orrery {
namespace {

bool is_healthy(const NodeState& node) {
  return !node.silent && !node.excluded && !node.lost_device && node.leaves_at.is_never();
}

void tell(Step& step, NodeId node, NodeChange change) {
  Notice notice;
  notice.kind = NoticeKind::NodeChanged;
  notice.at = step.at;
  notice.occurred_at = step.occurred_at;
  notice.node = node;
  notice.change = change;
  notice.up = step.state.ledger.node(node).usable;
  step.out.notices.push_back(notice);
}

void set_usable(Step& step, NodeId node) {
  const NodeState& state = step.state.nodes[node.index()];
  const bool usable = is_healthy(state) && !state.spare;
  if (step.state.ledger.node(node).usable == usable) return;
  step.state.ledger.set_usable(node, usable);
  step.state.due.capacity = true;
}

void set_stand_in(State& state, NodeId spare, NodeId for_node) {
  state.nodes[spare.index()].stands_in_for = for_node;
  std::vector<NodeId>& all = state.stand_ins;
  std::erase(all, spare);
  if (!for_node.is_none()) all.insert(std::lower_bound(all.begin(), all.end(), spare), spare);
}

// The node that has the place of `node`; none.
NodeId stand_in_of(const State& state, NodeId node) {
  const auto has_it = [&](NodeId spare) {
    return state.nodes[spare.index()].stands_in_for == node;
  };
  const auto found = std::find_if(state.stand_ins.begin(), state.stand_ins.end(), has_it);
  return found == state.stand_ins.end() ? NodeId::none() : *found;
}

// A spare of the same group takes the place of a node that cannot be used.
void call_spare(Step& step, NodeId for_node) {
  // Its place may still be taken since it could not be used before.
  if (!stand_in_of(step.state, for_node).is_none()) return;
  std::vector<NodeState>& nodes = step.state.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].spare || !is_healthy(nodes[i]) || nodes[i].group != nodes[for_node.index()].group)
      continue;
    const NodeId spare{static_cast<std::uint32_t>(i)};
    nodes[i].spare = false;
    set_stand_in(step.state, spare, for_node);
    set_usable(step, spare);
    tell(step, spare, NodeChange::SpareUsed);
    return;
  }
}

// A node of the group that cannot be used and whose place is not taken; none.
NodeId missed_in(const State& state, const std::string& group) {
  for (std::uint32_t i = 0; i < state.nodes.size(); ++i) {
    const NodeState& node = state.nodes[i];
    if (node.group == group && !node.spare && !is_healthy(node) &&
        stand_in_of(state, NodeId{i}).is_none())
      return NodeId{i};
  }
  return NodeId::none();
}

bool can_stand_by(const State& state, NodeId node) {
  const NodeState& at = state.nodes[node.index()];
  return is_healthy(at) && !at.spare && state.ledger.node(node).first.is_none();
}

// The node is well again. Where another stands in for it, it is a spare from now on. While jobs
// have stayed on it both are in use, until one of the two is empty.
void send_back(Step& step, NodeId node) {
  State& state = step.state;
  const NodeId stand_in = stand_in_of(state, node);
  if (stand_in.is_none()) return;
  const NodeId missed = missed_in(state, state.nodes[stand_in.index()].group);
  if (!missed.is_none()) return set_stand_in(state, stand_in, missed);
  const bool waits = state.settings.rules >= 4 && !planted(Bug::SpareNeverReturned);
  NodeId spare = can_stand_by(state, node) ? node : NodeId::none();
  if (spare.is_none() && waits && can_stand_by(state, stand_in)) spare = stand_in;
  if (spare.is_none() && waits) return;
  // What stood in for another node and is a spare now leaves that one's place to its own stand-in.
  // As a spare it may be called for a third node, and the first would not be missed any more.
  NodeId goes_on_for;
  if (waits && spare == node) {
    goes_on_for = state.nodes[node.index()].stands_in_for;
    set_stand_in(state, node, NodeId::none());
    // Of two that stood in for each other the one that cannot be used has its own place, so that it
    // becomes a spare when it is well.
    if (goes_on_for == stand_in && is_healthy(state.nodes[stand_in.index()]))
      goes_on_for = NodeId::none();
    if (goes_on_for == node) goes_on_for = NodeId::none();
  }
  set_stand_in(state, stand_in, goes_on_for);
  if (spare.is_none() || planted(Bug::SpareNeverReturned)) return;
  state.nodes[spare.index()].spare = true;
  set_usable(step, spare);
  tell(step, spare, NodeChange::SpareAgain);
}

}  // namespace

void refresh_node(Step& step, NodeId node, NodeChange change) {
  const bool before = step.state.ledger.node(node).usable;
  const NodeState& state = step.state.nodes[node.index()];
  set_usable(step, node);
  tell(step, node, change);
  if (!step.state.has_spares) return;
  if (before && !is_healthy(state)) {
    call_spare(step, node);
  } else if (!before && is_healthy(state) && !state.spare) {
    send_back(step, node);
  } else if (is_healthy(state) && state.spare && step.state.settings.rules >= 4) {
    // It was away when another failed. Before rules 4 nobody called it then.
    const NodeId missed = missed_in(step.state, state.group);
    if (!missed.is_none()) call_spare(step, missed);
  }
}

void return_spares(Step& step) {
  if (step.state.stand_ins.empty() || step.state.settings.rules < 4) return;
  std::vector<NodeId> well;
  for (const NodeId stand_in : step.state.stand_ins) {
    const NodeId node = step.state.nodes[stand_in.index()].stands_in_for;
    if (is_healthy(step.state.nodes[node.index()])) well.push_back(node);
  }
  for (const NodeId node : well) send_back(step, node);
}

void exclude_node(Step& step, NodeId node, Instant until) {
  NodeState& state = step.state.nodes[node.index()];
  state.excluded = true;
  state.excluded_until = until;
  refresh_node(step, node, NodeChange::Excluded);
}

void node_timer_reached(Step& step) {
  for (std::size_t i = 0; i < step.state.nodes.size(); ++i) {
    NodeState& state = step.state.nodes[i];
    const NodeId node{static_cast<std::uint32_t>(i)};
    if (stays_after(step.state, state) <= step.at) {
      state.leaves_at = Instant::never();
      refresh_node(step, node, NodeChange::Returned);
      step.state.due.capacity = true;
    }
    if (!state.excluded || state.excluded_until > step.at) continue;
    state.excluded = false;
    state.excluded_until = Instant::never();
    if (!planted(Bug::ExclusionLeavesIncidents)) state.incidents.clear();
    refresh_node(step, node, NodeChange::Included);
  }
  step.state.rebuild_node_timer();
}

void exclude_for_a_while(Step& step, NodeId node) {
  const Duration exclusion = step.state.settings.exclusion;
  exclude_node(step, node, exclusion.is_forever() ? Instant::never() : step.at + exclusion);
  step.state.rebuild_node_timer();
}

void note_node_incident(Step& step, NodeId node) {
  const Settings& settings = step.state.settings;
  if (settings.lemon_incidents <= 0 || node.index() >= step.state.nodes.size()) return;
  NodeState& state = step.state.nodes[node.index()];
  state.incidents.push_back(step.at);
  const Duration window = settings.lemon_window * (planted(Bug::IncidentWindowWrong) ? 2 : 1);
  std::erase_if(state.incidents, [&](Instant at) { return step.at - at >= window; });
  if (state.excluded || state.incidents.size() < static_cast<std::size_t>(settings.lemon_incidents))
    return;
  exclude_for_a_while(step, node);
}

}  // namespace orrery
