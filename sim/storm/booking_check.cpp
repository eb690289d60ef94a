#include "sim/storm/booking_check.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "core/job/turns.hpp"

namespace orrery::sim {
namespace {

bool may_end(const Event& event) {
  if (const auto* changed = std::get_if<WorkersChanged>(&event.body)) return !is_up(changed->fact);
  return std::holds_alternative<NodeSilent>(event.body) ||
         std::holds_alternative<NodesRelaunched>(event.body) ||
         std::holds_alternative<NodeReturned>(event.body);
}

// Whether a fact that may end bookings says that the worker, booked on that node, has left.
bool ends(const Event& event, NodeId node, const ProcessName& name) {
  if (const auto* changed = std::get_if<WorkersChanged>(&event.body))
    return name.job == changed->job && name.incarnation == changed->incarnation &&
           name.birth_rank >= changed->first &&
           name.birth_rank.value - changed->first.value < changed->count;
  if (const auto* silent = std::get_if<NodeSilent>(&event.body)) return silent->node == node;
  if (const auto* relaunched = std::get_if<NodesRelaunched>(&event.body)) {
    const std::vector<NodeId>& replaced = relaunched->replaced;
    return std::find(replaced.begin(), replaced.end(), node) != replaced.end();
  }
  const auto& returned = std::get<NodeReturned>(event.body);
  if (returned.node != node) return false;
  return std::none_of(
      returned.workers.begin(), returned.workers.end(), [&](const RunningWorker& w) {
        return w.job == name.job && w.incarnation == name.incarnation && w.rank == name.birth_rank;
      });
}

}  // namespace

std::vector<BookingCheck::Booking>& BookingCheck::on(NodeId node) {
  if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
  return nodes_[node.index()];
}

void BookingCheck::ordered(Instant now,
                           const Command& command,
                           const StartWorkers& order,
                           const JobSpec* spec) {
  for (const WorkerStart& start : order.workers) {
    if (start.node.is_none() || start.node.index() > UINT16_MAX) continue;
    const ProcessName name{order.job, start.incarnation, start.rank};
    if (command.epoch < epoch_ && ended_since(command.sequence, start.node, name)) continue;
    std::vector<Booking>& booked = on(start.node);
    const bool again =
        std::any_of(booked.begin(), booked.end(), [&](const Booking& b) { return b.name == name; });
    if (again) continue;
    const bool known = spec != nullptr && start.role.index() < spec->roles.size();
    TurnKey turns = known ? turns_of(*spec, start.role) : TurnKey{};
    turns.beside = start.beside;
    std::int32_t taken = start.share.thousandths;
    for (const Booking& other : booked) {
      if (start.first_port != 0 && other.first_port == start.first_port)
        found_.add(ViolationKind::OrderedTwice,
                   now,
                   "job " + std::to_string(order.job.value) + " was ordered to listen at " +
                       std::to_string(start.first_port) + " of node " +
                       std::to_string(start.node.value) + ", where job " +
                       std::to_string(other.name.job.value) + " was not told to have left");
      if ((other.devices & start.devices) == 0) continue;
      if (take_turns(order.job, turns, other.name.job, other.turns)) continue;
      taken += other.share.thousandths;
      if (!start.share.is_whole() && !other.share.is_whole() && taken <= 1000) continue;
      found_.add(ViolationKind::OrderedTwice,
                 now,
                 "job " + std::to_string(order.job.value) + ", incarnation " +
                     std::to_string(start.incarnation.value) + " was ordered on devices of node " +
                     std::to_string(start.node.value) + " that job " +
                     std::to_string(other.name.job.value) + ", incarnation " +
                     std::to_string(other.name.incarnation.value) + " was not told to have left");
      break;
    }
    booked.push_back({name, start.devices, start.share, start.first_port, turns});
  }
}

void BookingCheck::appended(Sequence sequence, const Event& event) {
  if (const auto* begun = std::get_if<EpochStarted>(&event.body)) epoch_ = begun->epoch;
  if (!may_end(event)) return;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    std::erase_if(nodes_[n], [&](const Booking& b) { return ends(event, NodeId{n}, b.name); });
  facts_.push_back({sequence, event});
}

void BookingCheck::crashed(Sequence last) {
  std::erase_if(facts_, [&](const Fact& fact) { return fact.sequence > last; });
}

bool BookingCheck::ended_since(Sequence sequence, NodeId node, const ProcessName& name) const {
  return std::any_of(facts_.begin(), facts_.end(), [&](const Fact& fact) {
    return fact.sequence > sequence && ends(fact.event, node, name);
  });
}

}  // namespace orrery::sim
