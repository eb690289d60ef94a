// Faults of controllers and their store, carried out on a host; and successors for leaders that
// end.
#pragma once

#include <vector>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/agents/agent_world.hpp"
#include "sim/control/controller_host.hpp"

namespace orrery::sim {

/// Keeps a scenario's controller going: crashes, pauses and deposes leaders when told, and starts
/// the next one when one has ended.
class ControlFaults {
 public:
  /// Both outlive this. A host that starts no leaders by itself.
  ControlFaults(ControllerHost& host, AgentWorld& world) : host_(host), world_(world) {}

  /// A fault strikes, now.
  void strike(const scenarios::Fault& fault);

  /// Looks for leaders that have ended, and for what is over or due now.
  void see_to_it();

  /// When to call `see_to_it` again at the latest.
  Instant next() const;

 private:
  struct StoreFault {
    scenarios::Fault fault;
    Instant until;
  };

  void crash(CrashPoint point, std::uint32_t orders, TailLoss loss, Duration lasting);
  void judge_store();

  ControllerHost& host_;
  AgentWorld& world_;
  std::vector<StoreFault> store_faults_;
  LeaderNumber latest_;                     ///< That was started.
  Duration successor_after_ = kSuccessor;   ///< Of the crash that is on its way.
  Instant successor_at_ = Instant::zero();  ///< Never: no leader is missing.

  static constexpr Duration kSuccessor = Duration::seconds(5);
  static constexpr Duration kStartAgain = Duration::seconds(1);
};

}  // namespace orrery::sim
