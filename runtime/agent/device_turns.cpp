#include "runtime/agent/device_turns.hpp"

#include <algorithm>

namespace orrery::runtime {
namespace {

// Of a turn that an earlier life of the agent has given: until its worker has connected again and
// asked with its own, which takes it some seconds at most.
constexpr Duration kAdoptedLease = Duration::seconds(20);

}  // namespace

std::list<DeviceTurns::Wish>::iterator DeviceTurns::find(const WorkerName& worker) {
  return std::ranges::find(wishes_, worker, &Wish::worker);
}

void DeviceTurns::ask(const WorkerName& worker,
                      std::uint64_t devices,
                      Duration lease,
                      Instant now) {
  const auto known = find(worker);
  if (known == wishes_.end()) {
    wishes_.push_back({worker, devices, lease, false, Instant::never()});
    return;
  }
  known->lease = lease;
  if (known->granted) known->until = now + lease;
}

bool DeviceTurns::renew(const WorkerName& worker, Instant now) {
  const auto known = find(worker);
  if (known == wishes_.end() || !known->granted) return false;
  known->until = now + known->lease;
  return true;
}

void DeviceTurns::release(const WorkerName& worker) {
  wishes_.remove_if([&](const Wish& wish) { return wish.worker == worker; });
}

void DeviceTurns::adopt(const WorkerName& worker, std::uint64_t devices, Instant now) {
  wishes_.push_back({worker, devices, kAdoptedLease, true, now + kAdoptedLease});
}

std::vector<WorkerName> DeviceTurns::take_granted(Instant now) {
  std::vector<WorkerName> out;
  for (auto wish = wishes_.begin(); wish != wishes_.end(); ++wish) {
    if (wish->granted) continue;
    // One that asked earlier goes first. A holder may also stand behind: it was adopted.
    const auto in_the_way = [&](const Wish& other) {
      return other.worker.job == wish->worker.job && (other.devices & wish->devices) != 0;
    };
    const bool held = std::ranges::any_of(
        wishes_, [&](const Wish& other) { return other.granted && in_the_way(other); });
    if (held || std::any_of(wishes_.begin(), wish, in_the_way)) continue;
    wish->granted = true;
    wish->until = now + wish->lease;
    out.push_back(wish->worker);
  }
  return out;
}

std::vector<WorkerName> DeviceTurns::take_overdue(Instant now) {
  std::vector<WorkerName> out;
  for (Wish& wish : wishes_)
    if (wish.granted && wish.until <= now) {
      wish.until = Instant::never();
      out.push_back(wish.worker);
    }
  return out;
}

Instant DeviceTurns::next_deadline() const {
  Instant out = Instant::never();
  for (const Wish& wish : wishes_) out = std::min(out, wish.until);
  return out;
}

bool DeviceTurns::has_turn(const WorkerName& worker) const {
  return std::ranges::any_of(
      wishes_, [&](const Wish& wish) { return wish.granted && wish.worker == worker; });
}

}  // namespace orrery::runtime
