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

// A spare of the same group takes the place of a node that cannot be used.
void call_spare(Step& step, NodeId for_node) {
  std::vector<NodeState>& nodes = step.state.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].spare || !is_healthy(nodes[i]) || nodes[i].group != nodes[for_node.index()].group)
      continue;
    const NodeId spare{static_cast<std::uint32_t>(i)};
    nodes[i].spare = false;
    nodes[i].stands_in_for = for_node;
    set_usable(step, spare);
    tell(step, spare, NodeChange::SpareUsed);
    return;
  }
}

// The node is well again. Where another stands in for it, it is a spare from now on, unless
// somebody has stayed on it.
void send_back(Step& step, NodeId node) {
  std::vector<NodeState>& nodes = step.state.nodes;
  const auto stand_in = std::find_if(
      nodes.begin(), nodes.end(), [&](const NodeState& n) { return n.stands_in_for == node; });
  if (stand_in == nodes.end()) return;
  // There may be another node by now whose place is not taken.
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId other{static_cast<std::uint32_t>(i)};
    const bool missed = nodes[i].group == stand_in->group && !nodes[i].spare &&
                        !is_healthy(nodes[i]) &&
                        std::none_of(nodes.begin(), nodes.end(), [&](const NodeState& n) {
                          return n.stands_in_for == other;
                        });
    if (!missed) continue;
    stand_in->stands_in_for = other;
    return;
  }
  stand_in->stands_in_for = NodeId::none();
  if (!step.state.ledger.node(node).first.is_none() || planted(Bug::SpareNeverReturned)) return;
  nodes[node.index()].spare = true;
  set_usable(step, node);
  tell(step, node, NodeChange::SpareAgain);
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
  }
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
