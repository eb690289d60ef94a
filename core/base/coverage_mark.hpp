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
  AgentStopOfNobody,      ///< A stop of what does not run.
  AgentLateRenewal,       ///< A renewal that took longer than the lease.
  AgentWaited,            ///< A start that waits for its slot.
  // The controller's ear.
  EarStaleSession,
  EarStaleNumber,
  EarStaleEpoch,
  EarNotRegistered,
  EarLoss,      ///< A list does not name a worker any more.
  EarSurprise,  ///< A list names a worker that nobody ordered.
  EarSilence,   ///< A node's time is over.
  EarDoubt,     ///< A new connection, with orders of the one before that no list has named.
};

template <>
struct EnumNames<Mark> {
  static constexpr std::array kNames{"agent_fenced",
                                     "agent_stale_epoch",
                                     "agent_stale_incarnation",
                                     "agent_no_lease",
                                     "agent_adopted",
                                     "agent_replaced",
                                     "agent_already_ended",
                                     "agent_stop_of_nobody",
                                     "agent_late_renewal",
                                     "agent_waited",
                                     "ear_stale_session",
                                     "ear_stale_number",
                                     "ear_stale_epoch",
                                     "ear_not_registered",
                                     "ear_loss",
                                     "ear_surprise",
                                     "ear_silence",
                                     "ear_doubt"};
};

inline constexpr std::size_t kMarks = EnumNames<Mark>::kNames.size();

/// How often each mark was reached on this thread.
inline thread_local std::array<std::uint64_t, kMarks> mark_counts{};

inline void reached(Mark mark) { ++mark_counts[static_cast<std::size_t>(mark)]; }

}  // namespace orrery
