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
/// replicas are added to the bound that a request has set, where that is more than a job has; a
/// worker that is starting is stopped before its place moves; a wait keeps its deadline beside the
/// timer of its claim; what disturbs a job is tried first; sub-masters hear of all incidents;
/// leavers may stay. Rules since 2: a worker that is set aside moves with the others where its node
/// takes none; a request is known for a while after its job was forgotten, and also where a younger
/// job has its name; time alone makes no worker lost; no job is made smaller in vain; a worker that
/// was late starts anew also where a relaunch was asked for first.
inline constexpr std::uint16_t kDecisionRules = 2;

}  // namespace orrery
