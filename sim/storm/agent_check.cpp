#include "sim/storm/agent_check.hpp"

#include <algorithm>

namespace orrery::sim {
namespace {

// Clocks of nodes drift by so much at most.
constexpr double kDrift = 0.03;

Duration shorter(Duration time) {
  return Duration::from_seconds(time.in_seconds() * (1 - kDrift)) - Duration::milliseconds(1);
}

std::string worker_text(const ProcessName& name) {
  return "worker " + std::to_string(name.birth_rank.value) + " of incarnation " +
         std::to_string(name.incarnation.value) + " of job " + std::to_string(name.job.value);
}

template <class Worker>
bool any_on(NodeId node, const std::vector<Worker>& workers) {
  return std::any_of(
      workers.begin(), workers.end(), [&](const Worker& worker) { return worker.node == node; });
}

bool is_of_slot(const WorldProcess& process, JobId job, const WorkerStart& start) {
  return process.job == job && process.role == start.role && process.local_rank == start.local_rank;
}

}  // namespace

// What an order brings about comes with it, before anything else is heard there.
void AgentCheck::settle(Instant now, NodeId id) {
  Node& node = nodes_[id.index()];
  const bool fenced =
      !node.fence_told && !node.processes.empty() && now >= node.lease_until + facts_.late_max;
  if (node.owed.empty() && !fenced) return;
  const std::string on = " on node " + std::to_string(id.value);
  for (const Owed& owed : node.owed) {
    if (owed.since >= now) continue;
    const auto process = node.processes.find(owed.name);
    switch (owed.act) {
      case Owed::Act::Begin:
        say(now, worker_text(owed.name) + on + " was ordered to start, held a lease, and did not");
        break;
      case Owed::Act::Move:
        if (process != node.processes.end())
          say(now, worker_text(owed.name) + on + " was not told its place in a new membership");
        break;
      case Owed::Act::Stop:
        if (process != node.processes.end() && !process->second.killed)
          say(now, worker_text(owed.name) + on + " was ordered to stop, and is not asked to");
        break;
    }
  }
  std::erase_if(node.owed, [&](const Owed& owed) { return owed.since < now; });
  if (!fenced) return;
  for (const auto& [name, process] : node.processes) {
    if (process.killed) continue;
    node.fence_told = true;
    say(now, worker_text(name) + on + " outlives the lease of its node");
  }
}

void AgentCheck::paid(Node& node, const ProcessName& name, Owed::Act act) {
  std::erase_if(node.owed, [&](const Owed& owed) { return owed.name == name && owed.act == act; });
}

void AgentCheck::heard(Instant now, NodeId id, const Command& command) {
  if (id.index() >= nodes_.size()) return;
  settle(now, id);
  const auto nothing = [&](std::string_view kind) {
    say(now,
        std::string(kind) + " of record " + std::to_string(command.sequence.value) +
            " went to node " + std::to_string(id.value) + ", where it changes nothing");
  };
  if (const auto* start = std::get_if<StartWorkers>(&command.body)) {
    if (!any_on(id, start->workers)) nothing("an order to start");
    hear_starts(now, id, command, *start);
  } else if (const auto* stop = std::get_if<StopWorkers>(&command.body)) {
    if (!any_on(id, stop->workers)) nothing("an order to stop");
    hear_stops(now, id, command, *stop);
  } else if (const auto* update = std::get_if<UpdateMembership>(&command.body)) {
    if (!any_on(id, update->members)) nothing("a membership");
    hear_members(now, id, command, *update);
  } else if (const auto* clean = std::get_if<CleanJob>(&command.body)) {
    for (auto& [name, process] : nodes_[id.index()].processes) {
      if (name.job != clean->job) continue;
      process.may_be_asked = true;
      process.kill_from = now;
    }
  } else if (const auto* word = std::get_if<TellSubMaster>(&command.body)) {
    if (word->node != id) nothing("a word to a sub-master");
  } else {
    nothing("an order that is for no agent");
  }
}

void AgentCheck::sent(
    Instant now, NodeId node, const Command& order, bool knows_job, bool knows_members) {
  const bool with_members = std::holds_alternative<StartWorkers>(order.body) ||
                            std::holds_alternative<UpdateMembership>(order.body);
  if (knows_job && (knows_members || !with_members)) return;
  say(now,
      "an order of record " + std::to_string(order.sequence.value) + " goes to node " +
          std::to_string(node.value) + ", which was not told " +
          (knows_job ? "who the members are" : "what the job is"));
}

void AgentCheck::hear_starts(Instant now,
                             NodeId id,
                             const Command& command,
                             const StartWorkers& order) {
  Node& node = nodes_[id.index()];
  for (const WorkerStart& start : order.workers) {
    if (start.node != id) continue;
    const ProcessName name{order.job, start.incarnation, start.rank};
    const bool fresh = node.starts.emplace(name, Start{start, false}).second;
    const bool is_taken =
        std::any_of(node.processes.begin(), node.processes.end(), [&](const auto& entry) {
          // Who was moved has a place that is not told of.
          const bool moved = entry.second.generation != entry.second.truth.born;
          return is_of_slot(entry.second.truth, order.job, start) ||
                 (moved && entry.first.job == order.job);
        });
    const bool is_newest =
        std::none_of(node.starts.begin(), node.starts.end(), [&](const auto& entry) {
          return entry.first.job == order.job && entry.first.incarnation > start.incarnation;
        });
    if (fresh && !node.restarted && !node.killed.contains(order.job) && !is_taken && is_newest &&
        command.epoch == youngest_ && now < node.lease_until)
      node.owed.push_back({name, now, Owed::Act::Begin});
    // What is older in its place is killed for it.
    for (auto& [other, process] : node.processes)
      if (is_of_slot(process.truth, order.job, start) && other.incarnation < start.incarnation)
        process.kill_from = std::min(process.kill_from, now);
  }
}

void AgentCheck::hear_stops(Instant now,
                            NodeId id,
                            const Command& command,
                            const StopWorkers& order) {
  Node& node = nodes_[id.index()];
  for (const WorkerStop& stop : order.workers) {
    if (stop.node != id) continue;
    const Rank birth = stop.birth_rank.is_none() ? stop.rank : stop.birth_rank;
    const ProcessName name{order.job, stop.incarnation, birth};
    const auto process = node.processes.find(name);
    if (process == node.processes.end()) continue;
    const bool first = !process->second.may_be_asked && process->second.kill_from.is_never();
    process->second.may_be_asked = true;
    process->second.kill_from = std::min(process->second.kill_from, now + shorter(order.grace));
    if (first && command.epoch == youngest_) node.owed.push_back({name, now, Owed::Act::Stop});
  }
}

void AgentCheck::hear_members(Instant now,
                              NodeId id,
                              const Command& command,
                              const UpdateMembership& order) {
  Node& node = nodes_[id.index()];
  for (const WorkerStart& member : order.members) {
    if (member.node != id) continue;
    const Rank birth = member.birth_rank.is_none() ? member.rank : member.birth_rank;
    const auto process = node.processes.find({order.job, member.incarnation, birth});
    if (process == node.processes.end() || process->second.generation >= order.generation) continue;
    if (command.epoch == youngest_) node.owed.push_back({process->first, now, Owed::Act::Move});
  }
}

void AgentCheck::began(Instant now, const WorldProcess& process) {
  if (process.node.index() >= nodes_.size()) return;
  settle(now, process.node);
  Node& node = nodes_[process.node.index()];
  const ProcessName name{process.job, process.incarnation, process.birth_rank};
  paid(node, name, Owed::Act::Begin);
  const std::string what =
      worker_text(name) + " began on node " + std::to_string(process.node.value) + " ";
  const auto start = node.starts.find(name);
  if (start == node.starts.end()) {
    say(now, what + "and was not ordered there");
  } else {
    const WorkerStart& order = start->second.order;
    if (order.devices != process.devices || order.share != process.share ||
        order.role != process.role || order.beside != process.beside)
      say(now, what + "otherwise than it was ordered");
    if (std::exchange(start->second.spawned, true)) say(now, what + "a second time");
  }
  if (now >= node.lease_until) say(now, what + "without a lease");
  node.processes[name] = {process, process.generation};
}

void AgentCheck::moved(Instant now, const WorldProcess& process) {
  if (process.node.index() >= nodes_.size()) return;
  Node& node = nodes_[process.node.index()];
  const ProcessName name{process.job, process.incarnation, process.birth_rank};
  paid(node, name, Owed::Act::Move);
  const auto known = node.processes.find(name);
  if (known == node.processes.end()) return;
  if (process.generation < known->second.generation)
    say(now, worker_text(name) + " is told a membership that is older than its own");
  const WorldProcess& was = known->second.truth;
  if (process.generation == known->second.generation && process.rank == was.rank)
    say(now, worker_text(name) + " is told a membership that it knows");
  known->second.truth = process;
  known->second.generation = process.generation;
}

void AgentCheck::signalled(Instant now, NodeId id, const ProcessName& name, bool kill) {
  if (id.index() >= nodes_.size()) return;
  Node& node = nodes_[id.index()];
  paid(node, name, Owed::Act::Stop);
  const auto known = node.processes.find(name);
  if (known == node.processes.end()) return;
  Process& process = known->second;
  const std::string what = worker_text(name) + " on node " + std::to_string(id.value) + " ";
  const bool fenced = now >= node.lease_until;
  if (!kill && !process.may_be_asked) say(now, what + "is asked to stop, nobody has ordered that");
  if (kill && now < process.kill_from && !fenced && !process.killed)
    say(now, what + "is killed before its time");
  process.killed = process.killed || kill;
  if (kill) node.killed.insert(name.job);
}

void AgentCheck::ended(Instant now, NodeId id, const ProcessName& name) {
  if (id.index() >= nodes_.size()) return;
  settle(now, id);
  Node& node = nodes_[id.index()];
  node.processes.erase(name);
  std::erase_if(node.owed, [&](const Owed& owed) { return owed.name == name; });
}

void AgentCheck::lease(Instant now, NodeId id, Instant until) {
  if (id.index() >= nodes_.size()) return;
  settle(now, id);
  Node& node = nodes_[id.index()];
  if (until > now + facts_.lease)
    say(now,
        "the lease of node " + std::to_string(id.value) + " is for " +
            std::to_string((until - now).in_seconds()) + " s, " +
            std::to_string(facts_.lease.in_seconds()) + " s are allowed");
  node.lease_until = until;
}

void AgentCheck::machine(Instant, NodeId id) {
  if (id.index() < nodes_.size()) nodes_[id.index()] = Node{};
}

void AgentCheck::agent(Instant, NodeId id, bool up) {
  if (id.index() >= nodes_.size()) return;
  Node& node = nodes_[id.index()];
  node.restarted = node.restarted || !up;
  node.owed.clear();
  // The new agent may be told anew what the old one had heard and forgot.
  std::erase_if(node.starts,
                [&](const auto& entry) { return !node.processes.contains(entry.first); });
}

}  // namespace orrery::sim
