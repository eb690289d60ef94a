#include "core/control/node_health.hpp"

#include <algorithm>
#include <utility>

#include "core/base/planted.hpp"
#include "core/control/incident.hpp"
#include "core/control/recovery.hpp"
#include "core/control/sub_master.hpp"

namespace orrery {
namespace {

bool is_healthy(const NodeState& node) {
  return !node.silent && !node.excluded && !node.lost_device && node.leaves_at.is_never();
}

void tell(Step& step, NodeId node, NodeChange change) {
  Notice notice;
  notice.kind = NoticeKind::NodeChanged;
  notice.at = step.at;
  notice.occurred_at = step.occurred_at;
  notice.node = node;
  notice.change = change;
  notice.up = step.state.ledger.node(node).usable;
  step.out.notices.push_back(notice);
}

void set_usable(Step& step, NodeId node) {
  const NodeState& state = step.state.nodes[node.index()];
  const bool usable = is_healthy(state) && !state.spare;
  if (step.state.ledger.node(node).usable == usable) return;
  step.state.ledger.set_usable(node, usable);
  step.state.due.capacity = true;
}

// A spare of the same group takes the place of a node that cannot be used.
void call_spare(Step& step, NodeId for_node) {
  std::vector<NodeState>& nodes = step.state.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].spare || !is_healthy(nodes[i]) || nodes[i].group != nodes[for_node.index()].group)
      continue;
    const NodeId spare{static_cast<std::uint32_t>(i)};
    nodes[i].spare = false;
    nodes[i].stands_in_for = for_node;
    set_usable(step, spare);
    tell(step, spare, NodeChange::SpareUsed);
    return;
  }
}

// The node is well again. Where another stands in for it, it is a spare from now on, unless
// somebody has stayed on it.
void send_back(Step& step, NodeId node) {
  std::vector<NodeState>& nodes = step.state.nodes;
  const auto stand_in = std::find_if(
      nodes.begin(), nodes.end(), [&](const NodeState& n) { return n.stands_in_for == node; });
  if (stand_in == nodes.end()) return;
  // There may be somebody else by now whose place nobody has taken.
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId other{static_cast<std::uint32_t>(i)};
    const bool missed = nodes[i].group == stand_in->group && !nodes[i].spare &&
                        !is_healthy(nodes[i]) &&
                        std::none_of(nodes.begin(), nodes.end(), [&](const NodeState& n) {
                          return n.stands_in_for == other;
                        });
    if (!missed) continue;
    stand_in->stands_in_for = other;
    return;
  }
  stand_in->stands_in_for = NodeId::none();
  if (!step.state.ledger.node(node).first.is_none() || planted(Bug::SpareNeverReturned)) return;
  nodes[node.index()].spare = true;
  set_usable(step, node);
  tell(step, node, NodeChange::SpareAgain);
}

// Everybody of the job who runs on the node goes elsewhere, drained and with a checkpoint.
void move_off(Step& step, JobState& job, NodeId node) {
  const bool may_change =
      job.after_drain == AfterDrain::Nothing &&
      (job.row.phase == JobPhase::Starting || job.row.phase == JobPhase::Running);
  if (!may_change) return;
  MembershipChange change;
  change.keep.assign(job.workers.size(), 1);
  change.replace.assign(job.workers.size(), 0);
  std::vector<std::int32_t> missing(job.role_count(), 0);
  bool anybody = false;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    const Worker& worker = job.workers[i];
    if (worker.node == node && !worker.is_gone()) {
      change.keep[i] = 0;
      ++missing[worker.role.index()];
      anybody = true;
    } else if (must_start_anew(job, worker)) {
      change.replace[i] = 1;
    }
  }
  if (!anybody) return;
  const bool within = spend(step,
                            job,
                            Limit::Preemptions,
                            job.failover.preemptions_used,
                            job.spec->failover.preemptions_max);
  if (!within) return;
  ++job.row.preemptions;
  job.change_reason = Reason::NodeLeaving;
  set_phase(step, job, JobPhase::Rescheduling, Reason::NodeLeaving);
  count(step, job, Counter::Preemptions);
  release_dropped(step, job, change);
  if (place_missing(step, job, missing, present_after(change), change.added)) {
    form_next(step, job, change);
  } else {
    give_all_back(step, job, Reason::NodeLeaving);
  }
}

// For as long as the settings say.
void exclude_for_a_while(Step& step, NodeId node) {
  const Duration exclusion = step.state.settings.exclusion;
  exclude_node(step, node, exclusion.is_forever() ? Instant::never() : step.at + exclusion);
  step.state.rebuild_node_timer();
}

void ask_relaunch(Step& step, JobState& job, Duration timeout) {
  step.out.orders.emplace_back(
      RelaunchNodes{job.row.id, job.failover.open.number, job.failover.relaunching, timeout});
  step.state.set_timer(job, step.at + timeout);
}

// The relaunch is over, one way or the other: the recovery that it held up goes on, led where the
// role has a sub-master.
void go_on(Step& step, JobState& job, Reason reason) {
  const RoleIndex role = job.failover.open.role;
  if (!role.is_none() && !sub_master_of(*job.spec, role).is_none())
    return begin_led_recovery(step, job, role, reason);
  resume_recovery(step, job, reason, job.spec->recovery);
}

// A new machine under an old name: whatever ran there is gone for good.
void replace_node(Step& step, NodeId node) {
  NodeState& state = step.state.nodes[node.index()];
  state.silent = true;
  state.excluded = false;
  state.lost_device = false;
  state.excluded_until = Instant::never();
  state.leaves_at = Instant::never();
  state.incidents.clear();
  step.state.for_each_job([&](JobState& job) {
    for (ReplicaRecord& record : job.failover.replicas)
      if (record.node == node) record.node_failures = 0;
  });
  refresh_node(step, node, NodeChange::Relaunched);
  for (const JobId id : owners_on(step.state.ledger, node))
    lose_node(step, step.state.job(id), node, Reason::NodeRelaunched);
}

}  // namespace

void refresh_node(Step& step, NodeId node, NodeChange change) {
  const bool before = step.state.ledger.node(node).usable;
  const NodeState& state = step.state.nodes[node.index()];
  set_usable(step, node);
  tell(step, node, change);
  if (before && !is_healthy(state)) {
    call_spare(step, node);
  } else if (!before && is_healthy(state) && !state.spare) {
    send_back(step, node);
  }
}

void exclude_node(Step& step, NodeId node, Instant until) {
  NodeState& state = step.state.nodes[node.index()];
  state.excluded = true;
  state.excluded_until = until;
  refresh_node(step, node, NodeChange::Excluded);
}

Instant stays_after(const State& state, const NodeState& node) {
  if (state.settings.rules < 1 || node.silent || node.leaves_at.is_never()) return Instant::never();
  return node.leaves_at + state.settings.node_lease + state.settings.fence_margin;
}

void node_timer_reached(Step& step) {
  for (std::size_t i = 0; i < step.state.nodes.size(); ++i) {
    NodeState& state = step.state.nodes[i];
    const NodeId node{static_cast<std::uint32_t>(i)};
    if (stays_after(step.state, state) <= step.at) {
      state.leaves_at = Instant::never();
      refresh_node(step, node, NodeChange::Returned);
      step.state.due.capacity = true;
    }
    if (!state.excluded || state.excluded_until > step.at) continue;
    state.excluded = false;
    state.excluded_until = Instant::never();
    if (!planted(Bug::ExclusionLeavesIncidents)) state.incidents.clear();
    refresh_node(step, node, NodeChange::Included);
  }
  step.state.rebuild_node_timer();
}

void note_node_incident(Step& step, NodeId node) {
  const Settings& settings = step.state.settings;
  if (settings.lemon_incidents <= 0 || node.index() >= step.state.nodes.size()) return;
  NodeState& state = step.state.nodes[node.index()];
  state.incidents.push_back(step.at);
  const Duration window = settings.lemon_window * (planted(Bug::IncidentWindowWrong) ? 2 : 1);
  std::erase_if(state.incidents, [&](Instant at) { return step.at - at >= window; });
  if (state.excluded || state.incidents.size() < static_cast<std::size_t>(settings.lemon_incidents))
    return;
  exclude_for_a_while(step, node);
}

void begin_relaunch(Step& step, JobState& job, NodeId node, Reason reason) {
  const FailoverSpec& limits = job.spec->failover;
  JobFailover& failover = job.failover;
  if (limits.nodes_relaunched_max != kUnlimited &&
      failover.nodes_relaunched >= static_cast<std::uint32_t>(limits.nodes_relaunched_max))
    return fail_at_limit(step,
                         job,
                         Limit::NodesRelaunched,
                         failover.nodes_relaunched + 1,
                         limits.nodes_relaunched_max);
  failover.relaunching = {node};
  failover.relaunching_group = false;
  job.change_reason = reason;
  set_phase(step, job, JobPhase::Restarting, reason);
  ask_relaunch(step, job, limits.relaunch_timeout);
}

void repeat_relaunch(Step& step, JobState& job) {
  const FailoverSpec& limits = job.spec->failover;
  ask_relaunch(
      step,
      job,
      job.failover.relaunching_group ? limits.relaunch_group_timeout : limits.relaunch_timeout);
}

void give_up_relaunch(Step& step, JobState& job) {
  JobFailover& failover = job.failover;
  const FailoverSpec& limits = job.spec->failover;
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
  go_on(step, job, Reason::NodeRelaunchFailed);
}

void lose_node(Step& step, JobState& job, NodeId node, Reason reason) {
  RankFlags lost(job.workers.size(), 0);
  bool anybody = false;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    Worker& worker = job.workers[i];
    if (worker.node != node || worker.is_gone()) continue;
    const bool counts = worker.state != WorkerState::Draining;
    worker_gone(step, job, worker, WorkerState::Lost);
    lost[i] = counts ? 1 : 0;
    anybody = anybody || counts;
  }
  // Kept workers that ended before take nothing with them.
  for (const Worker& member : job.next)
    anybody = anybody || (member.node == node && member.state == WorkerState::Claimed);
  if (is_final(job.row.phase)) return;
  // What waits for an answer picks all losses up when it goes on; meanwhile they change no counter.
  if (!anybody || awaits_answer(job)) return settle(step, job);
  on_node_loss(step, job, std::move(lost), node, reason);
}

std::vector<JobId> owners_on(const Ledger& ledger, NodeId node) {
  std::vector<JobId> owners;
  for (LeaseId l = ledger.node(node).first; !l.is_none(); l = ledger.lease(l).next)
    owners.push_back(ledger.lease(l).owner);
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

void on_event(Step& step, const NodesRelaunched& event) {
  const std::size_t kKind = EventBody(std::in_place_type<NodesRelaunched>).index();
  JobState* job = step.state.find(event.job);
  if (job == nullptr) return ignore(step, nullptr, Ignored::UnknownJob, kKind);
  if (is_final(job->row.phase)) return ignore(step, job, Ignored::JobFinished, kKind);
  JobFailover& failover = job->failover;
  if (failover.relaunching.empty() || failover.open.number != event.incident ||
      !awaits_answer(*job))
    return ignore(step, job, Ignored::StaleIncident, kKind);
  std::uint32_t replaced = 0;
  // The job itself recovers once, after all of it: while it waits, losses change no counter.
  for (const NodeId node : event.replaced) {
    const std::vector<NodeId>& asked = failover.relaunching;
    if (std::find(asked.begin(), asked.end(), node) == asked.end()) continue;
    ++replaced;
    replace_node(step, node);
  }
  if (is_final(job->row.phase)) return;
  failover.relaunching.clear();
  failover.nodes_relaunched += replaced;
  if (replaced > 0) count(step, *job, Counter::NodesRelaunched);
  go_on(step, *job, replaced > 0 ? Reason::NodeRelaunched : Reason::NodeRelaunchFailed);
}

void on_event(Step& step, const ExclusionRequested& event) {
  constexpr std::size_t kKind = EventBody(std::in_place_type<ExclusionRequested>).index();
  const auto answer = [&](bool accepted, std::string message) {
    if (event.request > 0)
      step.out.orders.emplace_back(
          AnswerRequest{event.request, JobId::none(), accepted, std::move(message)});
  };
  if (event.node.index() >= step.state.nodes.size()) {
    ignore(step, nullptr, Ignored::UnknownNode, kKind);
    return answer(false, "no such node");
  }
  NodeState& node = step.state.nodes[event.node.index()];
  answer(true, {});
  if (node.excluded == event.excluded) return ignore(step, nullptr, Ignored::AlreadyKnown, kKind);
  if (event.excluded) {
    exclude_node(step, event.node, Instant::never());
  } else {
    node.excluded = false;
    node.excluded_until = Instant::never();
    node.incidents.clear();
    refresh_node(step, event.node, NodeChange::Included);
  }
  step.state.rebuild_node_timer();
}

void on_event(Step& step, const NodeLeaving& event) {
  constexpr std::size_t kKind = EventBody(std::in_place_type<NodeLeaving>).index();
  if (event.node.index() >= step.state.nodes.size())
    return ignore(step, nullptr, Ignored::UnknownNode, kKind);
  NodeState& node = step.state.nodes[event.node.index()];
  if (!node.leaves_at.is_never()) return ignore(step, nullptr, Ignored::AlreadyKnown, kKind);
  node.leaves_at = event.until;
  step.state.rebuild_node_timer();
  refresh_node(step, event.node, NodeChange::Leaving);
  for (const JobId id : owners_on(step.state.ledger, event.node))
    move_off(step, step.state.job(id), event.node);
}

void on_event(Step& step, const DevicesLost& event) {
  constexpr std::size_t kKind = EventBody(std::in_place_type<DevicesLost>).index();
  if (event.node.index() >= step.state.nodes.size())
    return ignore(step, nullptr, Ignored::UnknownNode, kKind);
  NodeState& node = step.state.nodes[event.node.index()];
  const bool lost_before = node.lost_device;
  node.lost_device = event.devices != 0;
  if (!node.lost_device) {
    if (!lost_before) return ignore(step, nullptr, Ignored::AlreadyKnown, kKind);
    return refresh_node(step, event.node, NodeChange::Returned);
  }
  note_node_incident(step, event.node);
  refresh_node(step, event.node, NodeChange::DeviceLost);
  for (const JobId id : owners_on(step.state.ledger, event.node)) {
    JobState& job = step.state.job(id);
    if (is_final(job.row.phase)) continue;
    RankFlags lost(job.workers.size(), 0);
    bool anybody = false;
    for (std::size_t i = 0; i < job.workers.size(); ++i) {
      const Worker& worker = job.workers[i];
      lost[i] =
          worker.node == event.node && (worker.devices & event.devices) != 0 &&
          ((worker.state == WorkerState::Starting && !planted(Bug::DeviceLossForgetsStarting)) ||
           worker.state == WorkerState::Ready);
      anybody = anybody || lost[i] != 0;
    }
    if (anybody) on_node_loss(step, job, std::move(lost), event.node, Reason::DeviceLost);
  }
}

void on_event(Step& step, const NodeHeld& event) {
  constexpr std::size_t kKind = EventBody(std::in_place_type<NodeHeld>).index();
  if (event.devices != 0) return on_event(step, DevicesLost{event.node, event.devices});
  if (event.node.index() >= step.state.nodes.size())
    return ignore(step, nullptr, Ignored::UnknownNode, kKind);
  // No incident of the node, and nobody's loss.
  if (std::exchange(step.state.nodes[event.node.index()].lost_device, true))
    return ignore(step, nullptr, Ignored::AlreadyKnown, kKind);
  refresh_node(step, event.node, NodeChange::HeldForCheck);
}

}  // namespace orrery
