#include "sim/storm/process_check.hpp"

#include <algorithm>

namespace orrery::sim {

std::string describe(const TrueProcess& process) {
  return "job " + std::to_string(process.name.job.value) + ", role " +
         std::to_string(process.role.value) + "[" + std::to_string(process.local_rank) +
         "], incarnation " + std::to_string(process.name.incarnation.value) + " on node " +
         std::to_string(process.node.value);
}

bool take_turns(JobId a, TurnKey of_a, JobId b, TurnKey of_b) {
  if (a != b) return of_a.beside == b || of_b.beside == a;
  return of_a.group != 0 && of_a.group == of_b.group && of_a.member != of_b.member;
}

ProcessCheck::ProcessCheck(const std::vector<NodeGroup>& groups,
                           Duration stale_after,
                           Violations& found)
    : found_(found), stale_after_(stale_after) {
  for (const NodeGroup& group : groups)
    for (std::int32_t i = 0; i < group.count; ++i) nodes_.push_back({group.cpu, group.memory, {}});
}

void ProcessCheck::began(Instant now, const TrueProcess& process) {
  if (process.node.index() >= nodes_.size()) return;
  Node& node = nodes_[process.node.index()];
  check_devices(now, node, process);
  check_capacity(now, node, process);
  const bool stale = check_places(now, process);
  node.living.push_back({process, stale ? now + stale_after_ : Instant::never(), false});
  if (stale) ++stale_;
  ++living_;
}

// Two parts of one device may live together as long as they are at most the whole of it.
void ProcessCheck::check_devices(Instant now, const Node& node, const TrueProcess& fresh) {
  if (fresh.devices == 0) return;
  std::int32_t taken = fresh.share.thousandths;
  for (const Living& other : node.living) {
    if ((other.process.devices & fresh.devices) == 0) continue;
    if (take_turns(fresh.name.job, fresh.turns, other.process.name.job, other.process.turns))
      continue;
    taken += other.process.share.thousandths;
    const bool parts = !fresh.share.is_whole() && !other.process.share.is_whole();
    if (parts && taken <= 1000) continue;
    found_.add(ViolationKind::DoubleBooked,
               now,
               describe(fresh) + " was started on devices that " + describe(other.process) +
                   " still uses");
    return;
  }
}

void ProcessCheck::check_capacity(Instant now, const Node& node, const TrueProcess& fresh) {
  MilliCpu cpu = fresh.bundle.cpu;
  Bytes memory = fresh.bundle.memory;
  for (const Living& other : node.living) {
    cpu = cpu + other.process.bundle.cpu;
    memory = memory + other.process.bundle.memory;
  }
  if (cpu > node.cpu || memory > node.memory)
    found_.add(ViolationKind::DoubleBooked,
               now,
               describe(fresh) + " was started, and all on its node take " +
                   std::to_string(cpu.count) + " of " + std::to_string(node.cpu.count) +
                   " millicores and " + std::to_string(memory.count) + " of " +
                   std::to_string(node.memory.count) + " bytes");
}

bool ProcessCheck::check_places(Instant now, const TrueProcess& fresh) {
  for (const Node& node : nodes_)
    for (const Living& other : node.living) {
      const TrueProcess& old = other.process;
      if (old.name.job != fresh.name.job || old.role != fresh.role ||
          old.local_rank != fresh.local_rank)
        continue;
      // A start that was long on its way is stale from the beginning.
      if (fresh.name.incarnation < old.name.incarnation) return true;
      found_.add(ViolationKind::TwoEntitled,
                 now,
                 describe(fresh) + " was started while " + describe(old) + " still lived");
      return false;
    }
  return false;
}

ProcessCheck::Living* ProcessCheck::find(const ProcessName& name) {
  for (Node& node : nodes_)
    for (Living& living : node.living)
      if (living.process.name == name) return &living;
  return nullptr;
}

void ProcessCheck::gone(NodeId node, const ProcessName& name) {
  if (node.index() >= nodes_.size()) return;
  std::vector<Living>& living = nodes_[node.index()].living;
  const auto at = std::find_if(
      living.begin(), living.end(), [&](const Living& l) { return l.process.name == name; });
  if (at == living.end()) return;
  if (!at->stale_at.is_never() && !at->told) --stale_;
  living.erase(at);
  --living_;
}

void ProcessCheck::moved(Instant, const ProcessName& name, RoleIndex role, std::int32_t local) {
  if (Living* living = find(name)) {
    living->process.role = role;
    living->process.local_rank = local;
  }
}

void ProcessCheck::membership(Instant now, JobId job, const std::vector<ProcessName>& members) {
  for (Node& node : nodes_)
    for (Living& living : node.living) {
      if (living.process.name.job != job || !living.stale_at.is_never()) continue;
      if (std::find(members.begin(), members.end(), living.process.name) != members.end()) continue;
      living.stale_at = now + stale_after_;
      ++stale_;
    }
}

void ProcessCheck::time_reached(Instant now) {
  if (stale_ == 0) return;
  for (Node& node : nodes_)
    for (Living& living : node.living) {
      if (living.told || living.stale_at > now) continue;
      living.told = true;
      --stale_;
      found_.add(ViolationKind::StaleAlive,
                 now,
                 describe(living.process) + " lives on, its successor was ordered " +
                     std::to_string((now - living.stale_at + stale_after_).ns / 1'000'000) +
                     " ms ago");
    }
}

}  // namespace orrery::sim
