#include "sim/model/node_faults.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {

void NodeFaults::strike(NodeId node, const scenarios::Fault& fault) {
  switch (fault.kind) {
    case scenarios::FaultKind::Down:
      return go_down(node, fault.lasting);
    case scenarios::FaultKind::Up:
      return come_up(node);
    case scenarios::FaultKind::DeviceLost:
      return lose_devices(node, fault.devices, fault.lasting);
    case scenarios::FaultKind::PreemptionNotice:
      return announce_departure(node, fault);
    default:
      return exclude(node, fault);
  }
}

// --- down and up ---

// The node dies with all it runs. Where it is down already, it may stay so for longer.
void NodeFaults::go_down(NodeId id, Duration lasting) {
  ModelNode& node = cluster_.nodes[id];
  const Instant up_at = cluster_.now + lasting;
  if (node.down && up_at <= node.up_at) return;
  node.up_at = up_at;
  if (!up_at.is_never()) {
    ++cluster_.comebacks;
    cluster_.future.push(up_at, FutureKind::NodeUp, id.value);
  }
  if (node.down) return;
  node.down = true;
  processes_.kill_all(id);
  cluster_.listener.on_node_down(id);
}

// A repair is over, unless the node came back earlier or broke again since.
void NodeFaults::repaired(NodeId node) {
  --cluster_.comebacks;
  if (cluster_.nodes[node].up_at <= cluster_.now) come_up(node);
}

// Whatever was wrong with the machine has been mended.
void NodeFaults::come_up(NodeId id) {
  ModelNode& node = cluster_.nodes[id];
  if (!node.down) return;
  node.down = false;
  const bool devices_lost = std::exchange(node.lost_devices, 0) != 0;
  node.whole_at = cluster_.now;
  cluster_.listener.on_node_up(id);
  if (devices_lost) cluster_.listener.on_devices_back(id);
}

void NodeFaults::announce_departure(NodeId node, const scenarios::Fault& fault) {
  if (cluster_.nodes[node].down) return;
  const Instant until = cluster_.now + fault.notice;
  ++cluster_.named_futures;
  cluster_.future.push(
      until, FutureKind::Departure, node.value, 0, static_cast<std::uint32_t>(departures_.size()));
  departures_.push_back(fault.lasting);
  cluster_.listener.on_node_leaving(NodeLeaving{node, until});
}

void NodeFaults::departure(NodeId node, std::uint32_t index) {
  --cluster_.named_futures;
  go_down(node, departures_[index]);
}

// --- devices ---

// The loss is noticed before the workers end of it.
void NodeFaults::lose_devices(NodeId id, std::uint64_t devices, Duration lasting) {
  ModelNode& node = cluster_.nodes[id];
  if (node.down || devices == 0) return;
  node.lost_devices |= devices;
  node.whole_at = std::max(node.whole_at, cluster_.now + lasting);
  if (!node.whole_at.is_never()) {
    ++cluster_.comebacks;
    cluster_.future.push(node.whole_at, FutureKind::DevicesBack, id.value);
  }
  processes_.tell_saved_on(id, devices);
  cluster_.listener.on_devices_lost(DevicesLost{id, node.lost_devices});
  processes_.abort_on(id, devices);
}

void NodeFaults::devices_repaired(NodeId id) {
  --cluster_.comebacks;
  ModelNode& node = cluster_.nodes[id];
  if (node.lost_devices == 0 || node.whole_at > cluster_.now) return;
  node.lost_devices = 0;
  cluster_.listener.on_devices_back(id);
}

// --- slow nodes ---

void NodeFaults::slow_down(NodeId id, const scenarios::Fault& fault) {
  ModelNode& node = cluster_.nodes[id];
  const Instant until = cluster_.now + fault.lasting;
  node.slowdowns.add(fault.factor, until);
  if (!until.is_never()) cluster_.future.push(until, FutureKind::NodeQuick, id.value);
  set_speed(id);
}

void NodeFaults::fast_again(NodeId node) { set_speed(node); }

// As slow as the worst of the faults that last.
void NodeFaults::set_speed(NodeId id) {
  ModelNode& node = cluster_.nodes[id];
  node.slow = node.slowdowns.largest(cluster_.now);
  pace_all_on(id);
}

void NodeFaults::pace_all_on(NodeId node) {
  for (const JobId id : cluster_.jobs.on(node)) {
    LiveJob& job = *cluster_.jobs.find(id);
    const bool here = std::any_of(job.workers.begin(),
                                  job.workers.end(),
                                  [&](const ModelWorker& w) { return w.node == node && w.alive; });
    if (!here) continue;
    job.hampered = true;
    progress_.pace(job, true);
  }
}

// --- what users do with nodes ---

void NodeFaults::exclude(NodeId node, const scenarios::Fault& fault) {
  const bool excluded = fault.kind == scenarios::FaultKind::Cordon;
  if (excluded && !fault.lasting.is_forever()) {
    ++cluster_.comebacks;
    cluster_.future.push(cluster_.now + fault.lasting, FutureKind::LetIn, node.value);
  }
  cluster_.listener.on_outside(ExclusionRequested{0, node, excluded});
}

void NodeFaults::let_in(NodeId node) {
  --cluster_.comebacks;
  cluster_.listener.on_outside(ExclusionRequested{0, node, false});
}

// --- nodes that are replaced ---

void NodeFaults::relaunch(const RelaunchNodes& order) {
  if (cluster_.scenario.relaunch.answer == scenarios::RelaunchAnswer::TimesOut) return;
  ++cluster_.named_futures;
  cluster_.future.push(cluster_.now + cluster_.scenario.relaunch.after,
                       FutureKind::Relaunched,
                       static_cast<std::uint32_t>(relaunches_.size()));
  relaunches_.push_back(order);
}

void NodeFaults::relaunched(std::uint32_t index) {
  --cluster_.named_futures;
  const RelaunchNodes& order = relaunches_[index];
  NodesRelaunched answer{order.job, order.incident, {}, {}};
  switch (cluster_.scenario.relaunch.answer) {
    case scenarios::RelaunchAnswer::Replaced:
      answer.replaced = order.nodes;
      break;
    case scenarios::RelaunchAnswer::Partial: {
      const auto count = static_cast<std::size_t>(cluster_.scenario.relaunch.count);
      answer.replaced.assign(
          order.nodes.begin(),
          order.nodes.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.nodes.size())));
      break;
    }
    case scenarios::RelaunchAnswer::Fails:
      answer.error = "the extension failed, as the scenario says";
      break;
    case scenarios::RelaunchAnswer::None:
    case scenarios::RelaunchAnswer::TimesOut:
      break;
  }
  const std::vector<NodeId> replaced = answer.replaced;
  cluster_.listener.on_outside(std::move(answer));
  for (const NodeId node : replaced) replace(node);
}

// A new machine in place of the old one, which takes along all that it ran.
void NodeFaults::replace(NodeId id) {
  ModelNode& node = cluster_.nodes[id];
  if (!node.down) {
    node.down = true;
    processes_.kill_all(id);
    cluster_.listener.on_node_down(id);
  }
  node.slow = 1;
  node.slowdowns.clear();
  come_up(id);
}

}  // namespace orrery::sim
