// The part of the storm's checker that holds what a leader takes for so against the truth of the
// processes: none lives on of which no leader knows, one that hangs is noticed, and nobody is
// suspected of being slow who never was.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/event.hpp"
#include "core/state/state.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/simulated_cluster.hpp"
#include "sim/storm/process_check.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

class LiveCheck {
 public:
  /// `stale_after`: so long may a process live of which nothing is known any more. `late_max`: so
  /// much later than due may a leader do something.
  LiveCheck(const scenarios::Scenario& scenario,
            Duration stale_after,
            Duration late_max,
            Violations& found);

  /// A leader has stepped a record.
  void stepped(Instant now, const Event& event, const SimulatedCluster& cluster);

  /// A look at all processes, now and then; `leader` is the state of the one that leads, null where
  /// none does.
  void look(Instant now, const SimulatedCluster& cluster, const State* leader);

 private:
  void look_for_unknown(Instant now, const SimulatedCluster& cluster, const State& leader);
  void look_for_hung(Instant now, const SimulatedCluster& cluster, const State& leader);
  void check_straggler(Instant now, const WorkerSuspected& event, const SimulatedCluster& cluster);

  Violations& found_;
  Duration stale_after_;
  Duration noticed_after_;  ///< So much later than its job asks is a worker suspected that hangs.
  bool is_quiet_ = true;    ///< Nothing disturbs leaders, agents and the ways between them.
  bool any_slow_ = false;   ///< Workers are made slow.
  std::map<ProcessName, Instant> unknown_since_;
  std::map<ProcessName, Instant> hung_since_;  ///< As far as its leader could know.
  std::set<ProcessName> suspected_;            ///< Of hanging.
  std::map<JobId, Instant> sign_of_life_;      ///< The last one that was journaled.
};

}  // namespace orrery::sim
