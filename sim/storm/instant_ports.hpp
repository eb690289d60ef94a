// Leaders over a machine room without agents or a network: orders reach every worker at once, what
// happens is known at once, and silence is noticed when a lease runs out. What a crashed leader had
// heard and not journaled is told again to its successor, as agents and clients do.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/driver/world.hpp"
#include "scenarios/scenario.hpp"
#include "sim/agents/world_tap.hpp"
#include "sim/control/leader_ports.hpp"
#include "sim/model/event_heap.hpp"
#include "sim/model/machine_room.hpp"

namespace orrery::sim {

class InstantPorts final : public LeaderPorts, private RoomListener {
 public:
  /// `scenario` and `source` outlive the ports; so does `tap`, which may be null.
  InstantPorts(const scenarios::Scenario& scenario, JobSource& source, WorldTap* tap);
  ~InstantPorts() override;

  Instant now() const override { return room_.now(); }

  World& port(LeaderNumber leader, Epoch epoch, const State& state) override;
  void established(LeaderNumber leader) override;
  void close(LeaderNumber leader) override;
  void advance(Instant until) override;

  /// The leader hears nothing until then, as one whose process stands still.
  void pause(LeaderNumber leader, Instant until);

  /// Faults of controllers and their store that have struck since the last call. Those of agents
  /// and the network do nothing here.
  std::vector<scenarios::Fault> take_control_faults() { return std::exchange(faults_, {}); }

  /// Faults of the scenario that have struck since the last call, by index.
  std::vector<std::uint32_t> take_struck() { return std::exchange(struck_, {}); }

  const MachineRoom& room() const { return room_; }

  MachineRoom& room() { return room_; }

 private:
  class Port;

  struct Submission {
    std::uint64_t request = 0;
    std::shared_ptr<const JobSpec> spec;
  };

  void on_outside(EventBody body) override;
  void on_workers(JobId job,
                  std::span<const ModelWorker> workers,
                  WorkerFact fact,
                  std::int32_t exit_code,
                  Instant occurred_at) override;
  void on_progress(NodeId from, ProgressReported progress) override;
  void on_suspected(NodeId node, WorkerSuspected suspicion) override;
  void on_sub_master(NodeId node, const ModelWorker& master, SubMasterSaid said) override;
  void on_node_down(NodeId node) override;
  void on_node_up(NodeId node) override;
  void on_devices_lost(DevicesLost lost) override;
  void on_devices_back(NodeId node) override;
  void on_node_leaving(NodeLeaving leaving) override;
  void on_fault(const scenarios::Fault& fault) override;

  void on_struck(std::uint32_t index) override { struck_.push_back(index); }

  void obey(Epoch epoch, const Command& command);
  void emit(Origin origin, Instant occurred_at, EventBody body);
  void watch_until(Instant now);
  void tell_processes();
  void answer_what_is_journaled(const State& state);

  const scenarios::Scenario& scenario_;
  WorldTap* tap_;
  std::vector<std::unique_ptr<Port>> ports_;  ///< In the order in which they were opened.
  Epoch established_;                         ///< The highest that is safe.
  std::deque<Submission> unanswered_;
  std::map<JobId, std::vector<WorkersChanged>> ended_;  ///< Until their job is cleaned.
  std::vector<Instant> down_since_;                     ///< Per node; never: it is up.
  EventHeap watch_;                                     ///< When silence is noticed.
  std::vector<WorldProcess> told_;                      ///< Processes that the tap knows, sorted.
  std::vector<scenarios::Fault> faults_;
  std::vector<std::uint32_t> struck_;
  MachineRoom room_;
};

}  // namespace orrery::sim
