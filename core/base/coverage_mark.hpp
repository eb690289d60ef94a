// Marks at rare branches, counted so that a storm can say which of them it has reached.
//
// Nothing that decides ever reads a count: the marks are outside state, digest and journal. They
// are counted per thread, so they are no shared data either.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/enum_names.hpp"

namespace orrery {

/// One rare branch each.
enum class Mark : std::uint8_t {
  // The agent.
  AgentFenced,            ///< A lease ran out over living workers.
  AgentStaleEpoch,        ///< Word of a leader that has been succeeded.
  AgentStaleIncarnation,  ///< A start that a newer one has overtaken.
  AgentNoLease,           ///< A start without a lease.
  AgentAdopted,           ///< A living worker of an earlier life of the agent.
  AgentReplaced,          ///< An older incarnation killed to make room.
  AgentAlreadyEnded,      ///< A start of what has ended.
  AgentStopOfNone,        ///< A stop of what does not run.
  AgentLateRenewal,       ///< A renewal that took longer than the lease.
  AgentWaited,            ///< A start that waits for its slot.
  // The leader's session.
  LivenessStaleSession,
  LivenessStaleNumber,
  LivenessStaleEpoch,
  LivenessNotRegistered,
  LivenessLoss,      ///< A list does not name a worker any more.
  LivenessSurprise,  ///< A list names a worker that was not ordered.
  LivenessSilence,   ///< A node's time is over.
  LivenessDoubt,     ///< A new connection, with orders of the one before that no list has named.
  // A leader with its nodes.
  LeaderRejectedReport,  ///< A node spoke of a worker that is not its own.
  LeaderHeldOrder,       ///< An order waits until its node has registered.
  LeaderOvertakenStart,  ///< A start that was given up before it went out.
  LeaderOnTheWay,        ///< A list that cannot know of a start that waits for the store.
  // The controller.
  ReportCovered,    ///< A failure inside a scope that recovers already.
  ReportStale,      ///< A report of an incarnation that is gone.
  OrphanStopped,    ///< A node runs what it should not.
  UnknownGivenUp,   ///< A job out of contact for too long.
  ContactRegained,  ///< A job's nodes were all heard again.
  BackoffLimit,     ///< A job at the end of its backoff limit.
  FailureLimit,     ///< A job at the end of another limit.
  BackoffWaited,    ///< A membership that waits for its backoff.
  WaitsForLists,    ///< A membership on nodes that the new leader has not heard.
  KilledLate,       ///< A worker that did not stop within its grace.
  StuckGivenUp,     ///< A worker that did not end after it was killed.
  PutBeside,        ///< A job got places on the devices of another.
  ChangeLate,       ///< A change whose places did not come free in time.
  PlaceTakenAway,   ///< A place in a change under way, on a node that takes no workers any more.
  LeftAfterChange,  ///< A node that was leaving when the change of a job on it was done.
  // The driver.
  OrdersKeptBack,    ///< Orders that wait for the store.
  SnapshotTaken,     ///< A snapshot.
  SnapshotReplayed,  ///< A replay that begins with a snapshot.
  // The store.
  StoreTailLost,    ///< A crash took records that were not durable.
  StoreTornRecord,  ///< A crash left half a record.
};

template <>
struct EnumNames<Mark> {
  static constexpr std::array kNames{
      "agent_fenced",        "agent_stale_epoch",    "agent_stale_incarnation",
      "agent_no_lease",      "agent_adopted",        "agent_replaced",
      "agent_already_ended", "agent_stop_of_nobody", "agent_late_renewal",
      "agent_waited",        "ear_stale_session",    "ear_stale_number",
      "ear_stale_epoch",     "ear_not_registered",   "ear_loss",
      "ear_surprise",        "ear_silence",          "ear_doubt",
      "leader_foreign_word", "leader_held_order",    "leader_overtaken_start",
      "leader_on_the_way",   "report_covered",       "report_stale",
      "orphan_stopped",      "unknown_given_up",     "contact_regained",
      "backoff_limit",       "failure_limit",        "backoff_waited",
      "waits_for_lists",     "killed_late",          "stuck_given_up",
      "put_beside",          "change_late",          "place_taken_away",
      "left_after_change",   "orders_kept_back",     "snapshot_taken",
      "snapshot_replayed",   "store_tail_lost",      "store_torn_record"};
};

inline constexpr std::size_t kMarks = EnumNames<Mark>::kNames.size();
static_assert(kMarks == static_cast<std::size_t>(Mark::StoreTornRecord) + 1, "each has a name");

/// How often each mark was reached on this thread.
inline thread_local std::array<std::uint64_t, kMarks> mark_counts{};

inline void reached(Mark mark) { ++mark_counts[static_cast<std::size_t>(mark)]; }

}  // namespace orrery
