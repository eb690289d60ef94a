#include "sim/storm/leader_faults.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

using scenarios::FaultKind;

constexpr Duration kRetry = Duration::milliseconds(500);
/// A leader that was deposed by one that is gone is succeeded so much later, as where leaders hold
/// a lease.
constexpr Duration kLeaderLease = Duration::seconds(15);

Crash crash_of(const scenarios::Fault& fault, Random& random) {
  Crash crash;
  switch (fault.point) {
    case scenarios::CrashPoint::Anywhere:
      crash.point = CrashPoint::Now;
      break;
    case scenarios::CrashPoint::BeforeDurable:
      crash.point = random.chance(0.2) ? CrashPoint::BeforeSnapshot : CrashPoint::AfterAppend;
      break;
    case scenarios::CrashPoint::AfterDurable:
      crash.point = CrashPoint::AtOrder;
      break;
    case scenarios::CrashPoint::BetweenOrders:
      crash.point = CrashPoint::AtOrder;
      crash.orders = static_cast<std::uint32_t>(random.between(1, 3));
      break;
  }
  crash.loss = static_cast<TailLoss>(random.below(EnumNames<TailLoss>::kNames.size()));
  return crash;
}

}  // namespace

LeaderFaults::LeaderFaults(ControllerHost& host,
                           std::uint64_t seed,
                           std::function<void(LeaderNumber, Instant)> pause_ears)
    : host_(host),
      random_(Random::stream(seed, "control faults")),
      pause_ears_(std::move(pause_ears)) {}

Instant LeaderFaults::next() const { return due_.empty() ? Instant::never() : due_.begin()->first; }

void LeaderFaults::strike(const scenarios::Fault& fault, Instant now) {
  switch (fault.kind) {
    case FaultKind::ControllerCrash:
    case FaultKind::StoreTorn:
      return crash(fault, now);
    case FaultKind::SecondLeader:
      return second_leader(fault, now);
    case FaultKind::ControllerPause:
      if (const auto leader = host_.leading()) {
        host_.pause(*leader, now + fault.lasting);
        pause_ears_(*leader, now + fault.lasting);
      }
      return;
    case FaultKind::StoreSlow:
    case FaultKind::StoreFail:
      return break_store(fault, now);
    default:
      return;
  }
}

void LeaderFaults::crash(const scenarios::Fault& fault, Instant now) {
  Crash crash = crash_of(fault, random_);
  if (fault.kind == FaultKind::StoreTorn) {
    crash.point = CrashPoint::AfterAppend;
    crash.loss = TailLoss::Torn;
  }
  if (!fault.lasting.is_forever()) absence_ = std::max(fault.lasting, Duration::milliseconds(1));
  if (const auto leader = host_.leading())
    host_.crash(*leader, crash);
  else
    host_.crash_next(crash);
  see_to_leader(now);
}

// The older one goes on for a while and does not know.
void LeaderFaults::second_leader(const scenarios::Fault& fault, Instant now) {
  const auto old = host_.leading();
  if (!host_.start_leader() || !old) return;
  due_.emplace(now + fault.lasting, Due{Task::EndOld, *old});
}

void LeaderFaults::break_store(const scenarios::Fault& fault, Instant now) {
  if (fault.kind == FaultKind::StoreSlow)
    store_.latency = fault.added;
  else if (random_.chance(0.5))
    store_.appends_fail = true;
  else
    store_.syncs_fail = true;
  host_.journal().set_faults(store_);
  if (!fault.lasting.is_forever()) due_.emplace(now + fault.lasting, Due{Task::MendStore, {}});
}

void LeaderFaults::time_reached(Instant now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const Due due = due_.begin()->second;
    due_.erase(due_.begin());
    switch (due.task) {
      case Task::Start:
        start_due_ = false;
        if (!leads()) (void)host_.start_leader();
        absence_ = kRetry;
        break;
      case Task::EndOld:
        host_.crash(due.leader, Crash{});
        break;
      case Task::MendStore:
        store_ = {};
        host_.journal().set_faults(store_);
        break;
    }
  }
  see_to_leader(now);
}

// One that was deposed by a leader that is gone may have nothing to write, and never hears of it.
bool LeaderFaults::leads() const {
  const auto leader = host_.leading();
  return leader && host_.holds_journal(*leader);
}

void LeaderFaults::see_to_leader(Instant now) {
  if (start_due_ || leads()) return;
  start_due_ = true;
  const Duration after = host_.leading() ? std::max(absence_, kLeaderLease) : absence_;
  due_.emplace(now + after, Due{Task::Start, {}});
}

}  // namespace orrery::sim
