// Bugs planted on purpose, to prove that the storm's checkers have teeth. Each is one line at its
// place: `if (planted(Bug::ChargeTwice)) ...`. Without ORRERY_PLANTED, which only
// tests/system/planted defines, the condition is the constant `false` and nothing is left of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/enum_names.hpp"

namespace orrery {

/// What may be planted, by the part that it breaks. `None` plants nothing.
enum class Bug : std::uint8_t {
  None,
  // The controller.
  ChargeTwice,            ///< One failure is charged twice.
  BackoffLimitOffByOne,   ///< One restart more than the limit allows.
  AcceptStaleGeneration,  ///< A report of an earlier incarnation is taken for one of now.
  LeakLease,              ///< A worker that has ended keeps its devices.
  StartBeforeRelease,     ///< A membership starts although others still hold its devices.
  IgnoreCompleteList,     ///< A returning node's list is not read for what is missing.
  LoseCounterInSnapshot,  ///< Restarts are not part of a snapshot.
  // The agent and the shim's fence.
  ForgetSelfFence,       ///< An agent whose lease ran out kills no worker.
  FenceTooLate,          ///< An agent takes its lease for twice as long as it is.
  ShimFenceNeverFires,   ///< A dead agent's workers live on.
  AdoptWithoutChecking,  ///< A restarted agent takes over workers whose lease has run out.
  ForgetToRegister,      ///< An agent does not register with a new leader.
  SwallowExit,           ///< An agent does not tell that a worker has ended.
  AdoptNothing,          ///< A restarted agent does not take over what lives.
  // The driver.
  ActBeforeDurable,   ///< Orders go out before their record is safe.
  EpochNotRaised,     ///< A new leader goes on in the old epoch.
  OrdersOutOfEpoch,   ///< Orders carry the epoch before the present one.
  ReplaySkipsRecord,  ///< Replay leaves the last record out.
  SnapshotBehind,     ///< A snapshot claims one record more than it contains.
  ChainNotContinued,  ///< Records carry digests of a chain that was not continued.
  // The store.
  StoreLosesTail,          ///< A crash takes a record that was durable.
  StoreAcceptsDeposed,     ///< A deposed leader may still append.
  StoreKeepsTornRecord,    ///< Half of a torn batch counts as written.
  StoreTellsDurableEarly,  ///< Records are called durable when they are handed over.
  StoreOldSnapshot,        ///< The store answers with the snapshot before the newest.
  // Decisions that are wrong and do no harm at once: a scenario finds each.
  DeviceLossForgetsStarting,  ///< Workers that are starting outlive their device.
  ExclusionLeavesIncidents,   ///< A node that is let in again has its old incidents.
  IncidentWindowWrong,        ///< Incidents count for twice as long as the settings say.
  PlaceNotAskedAgain,         ///< Who waits for a backoff starts where the node takes nobody.
  PreemptionGraceIgnored,     ///< A preempted job has its own grace only.
  ShareRounding,              ///< A part of a device goes where a thousandth is missing.
  SilentNodeKeepsWorkers,     ///< A node's silence is not taken for the loss of its workers.
  SpareNeverReturned,         ///< No node becomes a spare again.
  StartByNotCleared,          ///< The deadline of a start is that of the first one for ever.
  WantsMoreForgotten,         ///< A job below its number is not looked at when room comes.
};

/// Those from here on have a scenario each; storms find most of them, too.
inline constexpr std::size_t kScenarioBugs = static_cast<std::size_t>(Bug::StoreOldSnapshot) + 1;

template <>
struct EnumNames<Bug> {
  static constexpr std::array kNames{"none",
                                     "charge_twice",
                                     "backoff_limit_off_by_one",
                                     "accept_stale_generation",
                                     "leak_lease",
                                     "start_before_release",
                                     "ignore_complete_list",
                                     "lose_counter_in_snapshot",
                                     "forget_self_fence",
                                     "fence_too_late",
                                     "shim_fence_never_fires",
                                     "adopt_without_checking",
                                     "forget_to_register",
                                     "swallow_exit",
                                     "adopt_nobody",
                                     "act_before_durable",
                                     "epoch_not_raised",
                                     "orders_out_of_epoch",
                                     "replay_skips_record",
                                     "snapshot_behind",
                                     "chain_not_continued",
                                     "store_loses_tail",
                                     "store_accepts_deposed",
                                     "store_keeps_torn_record",
                                     "store_tells_durable_early",
                                     "store_old_snapshot",
                                     "device_loss_forgets_starting",
                                     "exclusion_leaves_incidents",
                                     "incident_window_wrong",
                                     "place_not_asked_again",
                                     "preemption_grace_ignored",
                                     "share_rounding",
                                     "silent_node_keeps_workers",
                                     "spare_never_returned",
                                     "start_by_not_cleared",
                                     "wants_more_forgotten"};
};

#ifdef ORRERY_PLANTED
/// The bug that is switched on in this test program.
inline Bug planted_bug = Bug::None;

inline bool planted(Bug bug) { return planted_bug == bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace orrery
