#include "core/recovery/relaunch.hpp"

#include "core/recovery/incident.hpp"
#include "core/recovery/node_health.hpp"
#include "core/recovery/recovery.hpp"
#include "core/recovery/sub_master.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

void ask_relaunch(Step& step, JobState& job, Duration timeout) {
  step.out.orders.emplace_back(
      RelaunchNodes{job.row.id, job.failover->open.number, job.failover->relaunching, timeout});
  step.state.set_timer(job, TimerKind::Answer, step.at + timeout);
}

// How far the recovery reaches that the relaunch has held up: as far as its incident, whose scope a
// `response` may have widened. Before rules 4 it was the job's own scope.
RecoveryScope scope_after(const Step& step, const JobState& job) {
  const Incident& open = job.failover->open;
  if (!open.is_open() || step.state.settings.rules < 4) return job.spec->recovery;
  switch (open.scope) {
    case IncidentScope::Worker:
      return RecoveryScope::Worker;
    case IncidentScope::Role:
      return RecoveryScope::Role;
    case IncidentScope::Job:
      return RecoveryScope::Job;
    case IncidentScope::Node:
      break;
  }
  return job.spec->recovery;
}

}  // namespace

void begin_relaunch(Step& step, JobState& job, NodeId node, Reason reason) {
  const FailoverSpec& limits = *job.spec->failover;
  JobFailover& failover = job.failover.edit();
  const std::uint32_t used = failover.nodes_relaunched - failover.cleared.nodes_relaunched;
  if (limits.nodes_relaunched_max != kUnlimited &&
      used >= static_cast<std::uint32_t>(limits.nodes_relaunched_max))
    return fail_at_limit(step, job, Limit::NodesRelaunched, used + 1, limits.nodes_relaunched_max);
  failover.relaunching = {node};
  failover.relaunching_group = false;
  job.change_reason = reason;
  set_phase(step, job, JobPhase::Restarting, reason);
  ask_relaunch(step, job, limits.relaunch_timeout);
}

void repeat_relaunch(Step& step, JobState& job) {
  const FailoverSpec& limits = *job.spec->failover;
  ask_relaunch(
      step,
      job,
      job.failover->relaunching_group ? limits.relaunch_group_timeout : limits.relaunch_timeout);
}

void give_up_relaunch(Step& step, JobState& job) {
  JobFailover& failover = job.failover.edit();
  const FailoverSpec& limits = *job.spec->failover;
  const NodeId root = failover.open.node;
  if (limits.relaunch_group && !failover.relaunching_group && !root.is_none()) {
    failover.relaunching_group = true;
    failover.relaunching.clear();
    for (std::size_t i = 0; i < step.state.nodes.size(); ++i)
      if (step.state.nodes[i].group == step.state.nodes[root.index()].group)
        failover.relaunching.emplace_back(static_cast<std::uint32_t>(i));
    return ask_relaunch(step, job, limits.relaunch_group_timeout);
  }
  failover.relaunching.clear();
  if (!root.is_none()) exclude_for_a_while(step, root);
  end_relaunch(step, job, Reason::NodeRelaunchFailed);
}

void end_relaunch(Step& step, JobState& job, Reason reason) {
  const RoleIndex role = job.failover->open.role;
  if (!role.is_none() && !sub_master_of(*job.spec, role).is_none())
    return begin_led_recovery(step, job, role, reason);
  resume_recovery(step, job, reason, scope_after(step, job));
}

}  // namespace orrery
