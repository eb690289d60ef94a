// One modelled node: its agent, the shims' fence, and the table of processes that outlives the
// agent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/agent/shim_fence.hpp"
#include "core/base/bytes.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "sim/agents/world_tap.hpp"

namespace orrery::sim {

/// Hosts a real Agent as its daemon does. All times of its interface are the world's; inside, the
/// node goes by a monotonic clock of its own, which is not shared and no step of a wall clock
/// moves.
class NodeHost {
 public:
  /// `ahead`: the node's clock less the world's at the world's second 0; `rate_ppm`: how many
  /// microseconds it gains in one of the world's seconds, may be below 0.
  NodeHost(NodeId node, const Settings& settings, Duration ahead, std::int32_t rate_ppm = 0)
      : node_(node), settings_(settings), ahead_(ahead), rate_ppm_(rate_ppm) {}

  NodeId id() const { return node_; }

  // --- the machine and its agent ---

  bool is_up() const { return up_; }

  bool agent_is_up() const { return agent_.has_value(); }

  /// The agent's life, counted up.
  std::uint64_t session() const { return session_; }

  /// The machine is up and runs nothing; a new agent begins.
  void boot();

  /// The machine dies with all it runs.
  void die();

  /// The agent dies; processes and the shims' fence live.
  void agent_dies() { agent_.reset(); }

  /// A new agent finds what the shims know. The machine must be up, and the agent dead.
  void agent_returns(Instant now);

  /// One step of the agent, which must be up. What it gives stands in `out` until the next `clear`.
  void step(const AgentEvent& event, Instant now);

  AgentOutput& out() { return out_; }

  const Agent& agent() const { return *agent_; }

  /// When the agent must be stepped, or where it is dead, when the shims' fence falls.
  Instant next_wake() const;

  /// Whether the agent is dead and its lease over while processes live.
  bool shims_must_kill(Instant now) const;

  // --- the table of processes ---

  /// A process was created.
  void spawned(const SpawnWorker& order);

  /// A process was told its place.
  void told(const TellMembership& order);

  /// A process is able to work.
  /// `environment`: whose membership a process has that has said no hello; 0: it has.
  void became_ready(const WorkerName& name, Generation environment);

  /// A process is gone. Its end is remembered until its job is cleaned; `by_fence`: for lack of a
  /// lease. Returns what it was; nothing where it was not known.
  std::optional<AgentWorker> ended(const WorkerName& name,
                                   WorkerFact fact,
                                   std::int32_t exit_code,
                                   bool by_fence,
                                   const Diagnosis& diagnosis = {});

  /// A process was killed and has not ended: the kernel holds it. The shim kills it no more.
  void doomed(const WorkerName& name) { doomed_.insert(name); }

  /// The job is over: its ends need not be remembered.
  void cleaned(JobId job);

  const std::map<WorkerName, AgentWorker>& processes() const { return processes_; }

  WorldProcess truth_of(const AgentWorker& worker) const;

  Instant lease_until() const { return world_time(fence_.lease_until()); }

  Epoch lease_epoch() const { return fence_.epoch(); }

  std::uint64_t steps() const { return steps_; }

  /// All that decides what comes next here, for comparison: see Agent::save.
  void save(ByteWriter& out) const;

 private:
  Instant own_time(Instant world) const;

  /// The first instant at which the node's clock says `own` or more.
  Instant world_time(Instant own) const;

  NodeId node_;
  Settings settings_;
  Duration ahead_;
  std::int32_t rate_ppm_;
  bool up_ = false;
  std::uint64_t session_ = 0;
  std::optional<Agent> agent_;
  ShimFence fence_;
  AgentOutput out_;
  std::map<WorkerName, AgentWorker> processes_;
  std::map<WorkerName, EndedWorker> ended_;
  std::set<WorkerName> doomed_;
  std::uint64_t steps_ = 0;
};

}  // namespace orrery::sim
