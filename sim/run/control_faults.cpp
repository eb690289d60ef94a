#include "sim/run/control_faults.hpp"

#include <algorithm>

namespace orrery::sim {

using scenarios::Fault;
using scenarios::FaultKind;

void ControlFaults::strike(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::ControllerCrash:
      switch (fault.point) {
        case scenarios::CrashPoint::Anywhere:
          return crash(CrashPoint::Now, 0, TailLoss::Prefix, fault.lasting);
        case scenarios::CrashPoint::BeforeDurable:
          return crash(CrashPoint::AfterAppend, 0, TailLoss::All, fault.lasting);
        case scenarios::CrashPoint::AfterDurable:
          return crash(CrashPoint::AtOrder, 0, TailLoss::None, fault.lasting);
        case scenarios::CrashPoint::BetweenOrders:
          return crash(CrashPoint::AtOrder, 1, TailLoss::None, fault.lasting);
      }
      return;
    case FaultKind::StoreTorn:
      return crash(CrashPoint::AfterAppend, 0, TailLoss::Torn, fault.lasting);
    case FaultKind::SecondLeader:
      if (const auto second = host_.start_leader()) latest_ = *second;
      return;
    case FaultKind::ControllerPause:
      if (const auto leader = host_.leading()) {
        host_.pause(*leader, world_.now() + fault.lasting);
        world_.pause(*leader, world_.now() + fault.lasting);
      }
      return;
    case FaultKind::StoreSlow:
    case FaultKind::StoreFail:
      store_faults_.push_back(
          {fault, fault.lasting.is_forever() ? Instant::never() : world_.now() + fault.lasting});
      return judge_store();
    default:
      return;
  }
}

void ControlFaults::crash(CrashPoint point, std::uint32_t orders, TailLoss loss, Duration lasting) {
  const auto leader = host_.leading();
  if (!leader) return;
  successor_after_ = lasting;
  host_.crash(*leader, {point, orders, loss});
}

void ControlFaults::judge_store() {
  StoreFaults faults;
  for (const StoreFault& active : store_faults_) {
    if (active.fault.kind == FaultKind::StoreSlow)
      faults.latency = std::max(faults.latency, active.fault.added);
    else
      faults.appends_fail = true;
  }
  host_.journal().set_faults(faults);
}

void ControlFaults::see_to_it() {
  const Instant now = world_.now();
  if (std::erase_if(store_faults_, [&](const StoreFault& f) { return f.until <= now; }) > 0)
    judge_store();
  // One that was deposed by a leader that is gone may have nothing to write, and never hears of it.
  const bool missing = !host_.holds_journal(latest_);
  if (!missing) return;
  if (successor_at_.is_never()) {
    if (successor_after_.is_forever()) return;
    successor_at_ = now + successor_after_;
    successor_after_ = kSuccessor;
  }
  if (successor_at_ > now) return;
  const auto started = host_.start_leader();
  successor_at_ = started ? Instant::never() : now + kStartAgain;
  if (started) latest_ = *started;
}

Instant ControlFaults::next() const {
  Instant next = successor_at_;
  for (const StoreFault& active : store_faults_) next = std::min(next, active.until);
  return next;
}

}  // namespace orrery::sim
