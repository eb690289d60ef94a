#include "sim/agents/messages.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kHead = 64;  // Of every message: names, numbers, framing.
constexpr std::size_t kPerWorker = 32;

std::size_t workers_in(const CommandBody& body) {
  if (const auto* start = std::get_if<StartWorkers>(&body)) return start->workers.size();
  if (const auto* stop = std::get_if<StopWorkers>(&body)) return stop->workers.size();
  if (const auto* update = std::get_if<UpdateMembership>(&body)) return update->members.size();
  return 1;
}

}  // namespace

std::size_t Message::bytes() const {
  switch (kind) {
    case MessageKind::Order:
      return kHead + kPerWorker * workers_in(order->body);
    case MessageKind::Beat:
      return kHead + kPerWorker * beat.workers.size();
    case MessageKind::Reports:
      return kHead + kPerWorker * reports.size();
    case MessageKind::Renewal:
    case MessageKind::Announcement:
    case MessageKind::Fact:
      break;
  }
  return kHead;
}

}  // namespace orrery::sim
