// The part of the storm's checker that judges agents from outside: what they hear and what they do
// to processes. Nothing begins, moves or is stopped that was not ordered, nothing that was ordered
// is left out, no lease is longer than it may be, and none is outlived.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "sim/agents/world_tap.hpp"
#include "sim/storm/process_check.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// What it must know of the agents beforehand.
struct AgentFacts {
  Duration lease;     ///< So long may the lease of an agent be at most, by the world's clock.
  Duration late_max;  ///< So much later than due may an agent do something.
};

class AgentCheck {
 public:
  AgentCheck(std::size_t nodes, const AgentFacts& facts, Violations& found)
      : facts_(facts), found_(found), nodes_(nodes) {}

  /// A leader begins in this epoch.
  void leader(Epoch epoch) { youngest_ = std::max(youngest_, epoch); }

  /// An order goes out, to a node that knows its job, and its members, or does not.
  void sent(Instant now, NodeId node, const Command& order, bool knows_job, bool knows_members);

  void heard(Instant now, NodeId node, const Command& order);
  void began(Instant now, const WorldProcess& process);
  void moved(Instant now, const WorldProcess& process);
  void signalled(Instant now, NodeId node, const ProcessName& name, bool kill);
  void ended(Instant now, NodeId node, const ProcessName& name);
  void lease(Instant now, NodeId node, Instant until);

  /// The machine, with all that it ran and knew.
  void machine(Instant now, NodeId node);

  /// Its agent alone: what it knew is lost but for what the shims know.
  void agent(Instant now, NodeId node, bool up);

 private:
  struct Start {
    WorkerStart order;
    bool spawned = false;
  };

  struct Process {
    WorldProcess truth;
    Generation generation;
    Instant kill_from = Instant::never();  ///< It may be killed, since it was told to stop.
    bool may_be_asked = false;
    bool killed = false;
  };

  /// What must have followed an order at once.
  struct Owed {
    ProcessName name;
    Instant since;
    enum class Act : std::uint8_t { Begin, Move, Stop } act = Act::Begin;
  };

  struct Node {
    std::map<ProcessName, Start> starts;
    std::map<ProcessName, Process> processes;
    std::vector<Owed> owed;
    std::set<JobId> killed;  ///< Jobs of which it killed a worker, whose end it may wait for.
    Instant lease_until;
    bool restarted = false;  ///< The agent of now may know more than it heard.
    bool fence_told = false;
  };

  void say(Instant now, const std::string& text) {
    found_.add(ViolationKind::AgentWrong, now, text);
  }

  void settle(Instant now, NodeId id);
  void paid(Node& node, const ProcessName& name, Owed::Act act);
  void hear_starts(Instant now, NodeId id, const Command& command, const StartWorkers& order);
  void hear_stops(Instant now, NodeId id, const Command& command, const StopWorkers& order);
  void hear_members(Instant now, NodeId id, const Command& command, const UpdateMembership& order);

  AgentFacts facts_;
  Violations& found_;
  std::vector<Node> nodes_;
  Epoch youngest_;
};

}  // namespace orrery::sim
