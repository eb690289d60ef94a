// The version of the record formats.
#pragma once

#include <cstdint>

namespace orrery {

/// Version of the record formats that this program writes. Readers accept it and all before.
inline constexpr std::uint16_t kRecordVersion = 5;

/// Rules of decision that a controller of this program folds by. A journal written before a rule
/// was mended goes on folding as it was, so that it says the same facts; each leader records in
/// `Settings::rules` by which it decides. Rules since 1: a user's number for a preemptible job that
/// its policy does not size is met by the core; `throughput` is the job's, whichever rank reports
/// it; parts of devices are looked for on every device, not only on the emptiest of a node;
/// replicas are added to the bound that a request has set, where that is more than a job has; who
/// is starting is stopped before its place moves; a wait keeps its deadline beside the timer of its
/// claim; what disturbs a job is tried first; sub-masters hear of all incidents; leavers may stay.
/// Rules since 2: a worker that is set aside moves with the others where its node takes none; a
/// request is known for a while after its job was forgotten, and also where a younger job has its
/// name; time alone takes no worker for lost; no job is made smaller in vain; who was late
/// starts anew also where a relaunch was asked for first.
/// Rules since 3: a timer of each kind, where a job had one in all: none ends another. A run has an
/// end in every phase; a change waits for places of others no longer than a start; a worker that
/// was killed and does not end is given up; roles that a plan does not speak of start anew
/// where they were.
/// Rules since 4: an Unknown job that loses a device recovers without what it has on silent nodes;
/// a plan that names nodes for a job with seats does not move it; a node on
/// which jobs stayed while a spare stood in for it becomes a spare when it is empty, and what stood
/// in for a spare that failed in use goes on for the node whose place that one had; who starts when
/// a sub-master is done has the time of a start; the words of a worker that was told to stop are
/// no failure of it; nodes that one answer replaces are lost at once; what is dropped is told; who
/// fails says whose fault it was, and that is charged; a job with seats is held against its quota
/// device by device at the size that a plan gives it; parts of one device make no partners; a spare
/// that comes back is called for what waits for one; a relaunch keeps to the scope that the role's
/// response names; budgets are refilled by the time of the last incident, preemptions among them; a
/// number of replicas that a user has set inside a range outlasts another file of the job; a job
/// whose roles the declared nodes could not hold together is infeasible; nobody starts on a node
/// that takes no workers any more when a backoff is over, and who is on a leaving node when a
/// recovery is done moves.
inline constexpr std::uint16_t kDecisionRules = 4;

}  // namespace orrery
