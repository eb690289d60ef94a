// The controller: events in, commands out. The only way that state changes.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// A plan that the state asks for.
struct PlanRequest {
  Sequence view;  ///< Last record that the view contains.
  PlanTrigger trigger = PlanTrigger::Period;
  JobId job;  ///< With trigger Submission.
};

/// What changed since a planner looked last.
struct Touched {
  std::vector<JobId> jobs;  ///< In order, possibly repeated.
  bool complete = true;     ///< False: anything may have changed.
};

/// Pure: no I/O, clock, thread or randomness. Equal events in equal order give equal state,
/// commands and notices.
class Controller {
 public:
  Controller() = default;

  /// Goes on from a copy of another's state, as after `load`.
  explicit Controller(State state) : state_(std::move(state)) {}

  /// Applies one event and appends what follows from it to `out`. `event.at` is at least that of
  /// the event before. Every event is applied, or ignored for a named reason (a notice).
  void step(const Event& event, Commands& out);

  /// A step with this event follows: what it will look at is fetched meanwhile.
  void expect(const Event& event) const;

  /// The same some time later, for what the jobs of the event have in memory of their own.
  void expect_parts(const Event& event) const;

  /// The driver waits at most until then, and steps a TimeReached event at that instant.
  Instant next_deadline();

  /// The next one of them that is not the policy's own cycle.
  Instant next_timer() { return state_.next_timer(); }

  /// Whether nothing but the policy's own cycle is due some time.
  bool only_cycles_left();

  /// The next plan that is due, once per instant and trigger: all submissions in order, then one
  /// `optimize`. Asking takes it off the list; its answer comes back as PlanProposed
  /// or PlanLost.
  std::optional<PlanRequest> take_plan_request();

  const State& state() const { return state_; }

  /// Jobs touched since the last call; empties the list.
  Touched take_touched();

  /// State from a snapshot; false where the bytes are not one.
  bool load(ByteReader& in, std::uint16_t version);

  /// After replay: what was due is not in the journal, so one plan for everything becomes due.
  void resume();

  Digest digest() const { return state_.digest(); }

 private:
  bool worth_optimizing() const;

  State state_;
  bool touched_complete_ = false;
};

}  // namespace orrery
