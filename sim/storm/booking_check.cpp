#include "sim/storm/booking_check.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "core/job/turns.hpp"

namespace orrery::sim {

std::vector<BookingCheck::Booking>& BookingCheck::on(NodeId node) {
  if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
  return nodes_[node.index()];
}

void BookingCheck::ordered(Instant now, const StartWorkers& order, const JobSpec* spec) {
  for (const WorkerStart& start : order.workers) {
    if (start.node.is_none() || start.node.index() > UINT16_MAX) continue;
    const ProcessName name{order.job, start.incarnation, start.rank};
    std::vector<Booking>& booked = on(start.node);
    const bool again =
        std::any_of(booked.begin(), booked.end(), [&](const Booking& b) { return b.name == name; });
    if (again) continue;
    const bool known = spec != nullptr && start.role.index() < spec->roles.size();
    const TurnKey turns = known ? turns_of(*spec, start.role) : TurnKey{};
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

void BookingCheck::end_all(NodeId node) {
  if (node.index() < nodes_.size()) nodes_[node.index()].clear();
}

void BookingCheck::appended(const Event& event) {
  if (const auto* changed = std::get_if<WorkersChanged>(&event.body)) {
    if (is_up(changed->fact)) return;
    const auto ends = [&](const Booking& b) {
      return b.name.job == changed->job && b.name.incarnation == changed->incarnation &&
             b.name.birth_rank >= changed->first &&
             b.name.birth_rank.value - changed->first.value < changed->count;
    };
    for (std::vector<Booking>& booked : nodes_) std::erase_if(booked, ends);
  } else if (const auto* silent = std::get_if<NodeSilent>(&event.body)) {
    end_all(silent->node);
  } else if (const auto* replaced = std::get_if<NodesRelaunched>(&event.body)) {
    for (const NodeId node : replaced->replaced) end_all(node);
  } else if (const auto* returned = std::get_if<NodeReturned>(&event.body)) {
    if (returned->node.index() >= nodes_.size()) return;
    std::erase_if(nodes_[returned->node.index()], [&](const Booking& b) {
      return std::none_of(
          returned->workers.begin(), returned->workers.end(), [&](const RunningWorker& w) {
            return w.job == b.name.job && w.incarnation == b.name.incarnation &&
                   w.rank == b.name.birth_rank;
          });
    });
  }
}

}  // namespace orrery::sim
