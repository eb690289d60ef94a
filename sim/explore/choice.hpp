// One step of an explored world.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "core/base/enum_names.hpp"

namespace orrery::sim {

/// What may happen next. In the order in which what is not held up happens.
enum class ChoiceKind : std::uint8_t {
  Turn,          ///< Leader `a` takes one turn of its driver.
  Commit,        ///< All records become durable.
  ToNode,        ///< The oldest message of leader `a` reaches node `b`.
  ToLeader,      ///< The oldest message of node `b` reaches leader `a`.
  Seen,          ///< The agent of node `a` hears what became of a process.
  Ready,         ///< Process `b` of node `a` is able to work.
  NodeTimer,     ///< A deadline of the agent of node `a`, or of its fence.
  LeaderTimer,   ///< A deadline of leader `a`'s session.
  NoticeNode,    ///< Node `b` finds that its connection to leader `a` is broken.
  NoticeLeader,  ///< Leader `a` finds that its connection to node `b` is broken.
  Connect,       ///< Node `b` connects to leader `a`.
  Submit,        ///< Client `b` submits its job to leader `a`.
  EndAsked,      ///< Process `b` of node `a`, which was asked to end, ends.
  Advance,       ///< A second passes.
  // Never by itself.
  Break,        ///< The connection of leader `a` and node `b` breaks.
  CrashLeader,  ///< Leader `a` dies; `b` records that were not durable are kept.
  StartLeader,  ///< A leader begins; `b` records that were not durable are kept.
  CrashAgent,   ///< The agent of node `a` dies.
  ReturnAgent,  ///< The agent of node `a` begins anew.
  CrashNode,    ///< The machine of node `a` dies.
  BootNode,     ///< The machine of node `a` is there again.
  Exit,         ///< Process `b` of node `a` ends by itself, well.
  Fail,         ///< Process `b` of node `a` ends by itself with code 1.
  Stop,         ///< Client `b` asks leader `a` to stop its job.
  Late,         ///< What is due at node `a` comes a second late.
  Hold,         ///< The kind `a` of subject `b` is held up.
  Release,      ///< It is not held up any more.
};

/// One step: the kind and whom it is about.
struct Choice {
  ChoiceKind kind = ChoiceKind::Turn;
  std::uint8_t a = 0;
  std::uint8_t b = 0;

  friend auto operator<=>(const Choice&, const Choice&) = default;
};

/// What is held up, as a choice of its own; and back. Both numbers of `what` are below 16.
Choice hold_of(const Choice& what);
Choice held_by(const Choice& hold);

}  // namespace orrery::sim

template <>
struct orrery::EnumNames<orrery::sim::ChoiceKind> {
  static constexpr std::array kNames{
      "turn",         "commit",       "to_node",     "to_leader",     "seen",         "ready",
      "node_timer",   "leader_timer", "notice_node", "notice_leader", "connect",      "submit",
      "end_asked",    "advance",      "break",       "crash_leader",  "start_leader", "crash_agent",
      "return_agent", "crash_node",   "boot_node",   "exit",          "fail",         "stop",
      "late",         "hold",         "release"};
};
