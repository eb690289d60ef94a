// Faults that wait for an event: watches a run and says when they strike.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/record/command.hpp"
#include "core/record/event.hpp"
#include "core/state/state.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// Fault `index` of `Scenario::faults` strikes at `at`.
struct Strike {
  std::uint32_t index = 0;
  Instant at;

  friend bool operator==(const Strike&, const Strike&) = default;
};

/// Counts the events that the faults of one scenario wait for. Fed with everything that a run
/// shows, in its order; a leader that replays feeds nothing.
///
/// A fault strikes `delay` after the `count`-th event, `times` times: `every` so long, or with each
/// further event where `every` is zero.
class EventTriggers {
 public:
  /// `scenario` outlives this.
  explicit EventTriggers(const scenarios::Scenario& scenario);

  /// Whether any fault waits for an event; otherwise nothing need be fed.
  bool any() const { return !waiting_.empty(); }

  /// Each record after its step; `state` is the one after it.
  void on_event(const Event& event, const State& state);

  /// What one step told.
  void on_notices(std::span<const Notice> notices, const State& state);

  /// Each order as it is given, at `now`.
  void on_order(const CommandBody& order, const State& state, Instant now);

  /// A fault of the scenario has struck at `now`.
  void on_struck(std::uint32_t index, Instant now);

  /// Moves the strikes that came about since the last call to the end of `strikes`.
  void take(std::vector<Strike>& strikes);

  /// A sentence for each fault whose event has not come so often that it struck even once; to be
  /// asked when the run is over.
  std::vector<std::string> never_struck() const;

 private:
  /// A fault that waits.
  struct Waiting {
    std::uint32_t index = 0;
    std::int32_t seen = 0;     ///< Events that matched.
    std::int32_t strikes = 0;  ///< That came about.
  };

  /// One thing that happened, as far as it is known.
  struct Seen {
    scenarios::ObservedEvent event = scenarios::ObservedEvent::Phase;
    Instant at;
    const JobState* job = nullptr;
    JobPhase phase = JobPhase::Pending;
    NodeId node;
    Rank rank;  ///< Ready, Exit: at its birth.
    scenarios::OrderKind command = scenarios::OrderKind::StartWorkers;
    std::uint32_t fault = 0;
  };

  static bool matches(const scenarios::AfterEvent& wanted, const Seen& seen);
  void happened(const Seen& seen);

  const scenarios::Scenario& scenario_;
  std::vector<Waiting> waiting_;
  std::vector<Strike> due_;
};

}  // namespace orrery::sim
