// What a storm found broken.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"

namespace orrery::sim {

/// What did not hold.
enum class ViolationKind : std::uint8_t {
  JournalBroken,     ///< A gap, a wrong chain, a record that is none, time that steps back.
  JournalLost,       ///< A record that was called durable is gone.
  EpochNotRaised,    ///< A leader began in an epoch that is not higher than all before.
  DeposedWrote,      ///< A leader that had been succeeded appended a record.
  ActBeforeDurable,  ///< An order went out before its record was durable.
  WrongEpoch,        ///< An order carries another epoch than its record was stepped in.
  JobVanished,       ///< An accepted job is not in the journal, or not in the state any more.
  AcceptedTwice,     ///< Two answers accept one request.
  BeyondBounds,      ///< A membership has more or fewer workers than its job allows.
  BadMembership,     ///< Two workers of a membership share a place.
  OrderedTwice,      ///< A start was ordered on devices that an earlier start still holds.
  DoubleBooked,      ///< Two living processes share a device.
  TwoEntitled,       ///< Two living processes of one job have one place.
  StaleAlive,        ///< A process outlived its lease and its successor's order.
  CounterLost,       ///< A counter went down, or skipped.
  ChargedTwice,      ///< One failure was charged twice.
  BackoffLimit,      ///< More restarts than allowed, or failed before they were used up.
  WorkInvented,      ///< More work done than was possible, or Succeeded with work left.
  WorkForgotten,     ///< Less than the last checkpoint was left.
  ReplayDiffers,     ///< The journal leads to another state than the leader had.
  Invariant,         ///< An invariant of the core broke.
  NoProgress,        ///< The run stood still at one instant.
  Liveness,          ///< A job that could finish did not, although everything was healed.
  TimerMissed,       ///< The storm's own world did not wake a leader or agent at its deadline.
  ProcessEnded,      ///< The program that ran it came to no end by itself.
  StatusWrong,       ///< What users are told is not so.
  DecisionWrong,     ///< A decision that what was known does not justify.
  DeadlineMissed,    ///< Something was done before its time, or not when its time had come.
  DecisionChanged,   ///< A pinned storm decides otherwise than its golden file says.
  LostPlanActed,     ///< A job changed because the policy gave no plan.
  StateWrong,        ///< A part of the state that follows from others is not as it follows.
  OrderWrong,        ///< An order or answer that is not so, not needed, or missing.
  AgentWrong,        ///< An agent did what was not ordered, or not what was.
};

/// One finding.
struct Violation {
  ViolationKind kind = ViolationKind::JournalBroken;
  Instant at;        ///< Of the world.
  std::string text;  ///< Subject, what was found, what was needed.
};

/// The findings of one run, in order; the first are kept, all are counted.
class Violations {
 public:
  void add(ViolationKind kind, Instant at, std::string text) {
    ++count_;
    if (kept_.size() < kKeptMax) kept_.push_back({kind, at, std::move(text)});
  }

  bool empty() const { return count_ == 0; }

  std::uint64_t count() const { return count_; }

  const std::vector<Violation>& kept() const { return kept_; }

 private:
  static constexpr std::size_t kKeptMax = 8;

  std::vector<Violation> kept_;
  std::uint64_t count_ = 0;
};

}  // namespace orrery::sim

namespace orrery {

template <>
struct EnumNames<sim::ViolationKind> {
  static constexpr std::array kNames{
      "journal_broken",     "journal_lost",    "epoch_not_raised", "deposed_wrote",
      "act_before_durable", "wrong_epoch",     "job_vanished",     "accepted_twice",
      "beyond_bounds",      "bad_membership",  "ordered_twice",    "double_booked",
      "two_entitled",       "stale_alive",     "counter_lost",     "charged_twice",
      "backoff_limit",      "work_invented",   "work_forgotten",   "replay_differs",
      "invariant",          "no_progress",     "liveness",         "timer_missed",
      "process_ended",      "status_wrong",    "decision_wrong",   "deadline_missed",
      "decision_changed",   "lost_plan_acted", "state_wrong",      "order_wrong",
      "agent_wrong"};
};

}  // namespace orrery
