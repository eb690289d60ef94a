// Causes of failure: opened once, charged once, to a budget of their own, and closed.
#pragma once

#include <cstdint>

#include "core/state/step.hpp"

namespace orrery {

/// Opens an incident; one that is still open is covered by it and closes. The root is a worker of
/// the job (its rank) or none; the failure that is noted is `teller`'s, the root's where none is
/// given. Clears budgets that the job's reset window has outlived.
void open_incident(Step& step,
                   JobState& job,
                   IncidentScope scope,
                   Reason cause,
                   std::uint32_t root = UINT32_MAX,
                   NodeId node = NodeId::none(),
                   std::uint32_t teller = UINT32_MAX);

/// The job works again, or has ended: the open incident, if there is one, is over.
void close_incident(Step& step, JobState& job);

/// Ends the job because a limit is passed; remembers which, for its status.
void fail_at_limit(Step& step, JobState& job, Limit limit, std::uint32_t count, std::int32_t value);

/// Counts one more against a limit, which holds beyond what was `cleared` of the count. False: it
/// is passed, and the job has been ended.
bool spend(Step& step,
           JobState& job,
           Limit limit,
           std::uint32_t& count,
           std::int32_t value,
           std::uint32_t cleared = 0);

/// Charges the open incident to the backoff limit, and sets when the next membership may start.
/// False: the limit is used up, and the job has been ended.
bool charge_restart(Step& step, JobState& job);

/// Counts a preemption, or a node that leaves, against the job's budget of them, which is full
/// again after a reset window without one. False: it is used up, and the job has been ended.
bool charge_preemption(Step& step, JobState& job);

/// How long to wait before the n-th restart in a row (from 1): the base doubles up to the longest,
/// less a share drawn from the job's own stream (backoff_delay = d * (1 - jitter * u)).
Duration backoff_delay(const Step& step, const JobState& job, std::uint32_t restart);

/// The record of a replica's failures; made where there is none.
ReplicaRecord& record_of(JobState& job, RoleIndex role, std::int32_t local_rank);

}  // namespace orrery
