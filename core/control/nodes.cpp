#include "core/control/nodes.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/coverage_mark.hpp"
#include "core/base/planted.hpp"
#include "core/control/settle.hpp"
#include "core/job/phase.hpp"
#include "core/membership/advancing.hpp"
#include "core/membership/forming.hpp"
#include "core/membership/releasing.hpp"
#include "core/recovery/incident.hpp"
#include "core/recovery/node_health.hpp"
#include "core/recovery/recovery.hpp"
#include "core/recovery/relaunch.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

bool may_move(const JobState& job) {
  return job.after_drain == AfterDrain::Nothing &&
         (job.row.phase == JobPhase::Starting || job.row.phase == JobPhase::Running);
}

// Everybody of the job who runs on the node goes elsewhere, drained and with a checkpoint.
void move_off(Step& step, JobState& job, NodeId node) {
  if (!may_move(job)) return;
  MembershipChange change;
  change.keep.assign(job.workers.size(), 1);
  change.replace.assign(job.workers.size(), 0);
  std::vector<std::int32_t> missing(job.role_count(), 0);
  bool found_any = false;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    const Worker& worker = job.workers[i];
    if (worker.node == node && !worker.is_gone()) {
      change.keep[i] = 0;
      ++missing[worker.role.index()];
      found_any = true;
    } else if (must_start_anew(job, worker) && is_stranded(step.state, worker)) {
      change.keep[i] = 0;
      ++missing[worker.role.index()];
    } else if (must_start_anew(job, worker)) {
      change.replace[i] = 1;
    }
  }
  if (!found_any) return;
  if (!charge_preemption(step, job)) return;
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

// A new machine under an old name.
void replace_node(Step& step, NodeId node) {
  NodeState& state = step.state.nodes[node.index()];
  state.silent = true;
  state.excluded = false;
  state.lost_device = false;
  state.excluded_until = Instant::never();
  state.leaves_at = Instant::never();
  state.incidents.clear();
  step.state.rebuild_node_timer();
  step.state.for_each_job([&](JobState& job) {
    if (job.failover->replicas.empty()) return;
    for (ReplicaRecord& record : job.failover.edit().replicas)
      if (record.node == node) record.node_failures = 0;
  });
  refresh_node(step, node, NodeChange::Relaunched);
}

// Whatever ran there is gone for good.
void lose_replaced(Step& step, NodeId node) {
  for (const JobId id : owners_on(step.state.ledger, node))
    lose_node(step, step.state.job(id), node, Reason::NodeRelaunched);
}

}  // namespace

void lose_node(Step& step, JobState& job, NodeId node, Reason reason) {
  RankFlags lost(job.workers.size(), 0);
  bool found_any = false;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    Worker& worker = job.workers[i];
    if (worker.node != node || worker.is_gone()) continue;
    const bool counts = worker.state != WorkerState::Draining;
    worker_gone(step, job, worker, WorkerState::Lost);
    lost[i] = counts ? 1 : 0;
    found_any = found_any || counts;
  }
  // Kept workers that ended before take nothing with them.
  for (const Worker& member : job.next)
    found_any = found_any || (member.node == node && member.state == WorkerState::Claimed);
  if (is_final(job.row.phase)) return;
  // What waits for an answer picks all losses up when it goes on; meanwhile they change no counter.
  if (!found_any || awaits_answer(job)) return settle(step, job);
  on_node_loss(step, job, std::move(lost), node, reason);
}

bool leave_leaving_node(Step& step, JobState& job) {
  if (step.state.node_timer().is_never() || step.state.settings.rules < 4 || !may_move(job))
    return false;
  const auto leaves = [&](const Worker& worker) {
    return !worker.is_gone() && !step.state.nodes[worker.node.index()].leaves_at.is_never();
  };
  const auto first = std::find_if(job.workers.begin(), job.workers.end(), leaves);
  if (first == job.workers.end()) return false;
  reached(Mark::LeftAfterChange);
  move_off(step, job, first->node);
  return true;
}

void on_event(Step& step, const NodesRelaunched& event) {
  const std::size_t kKind = EventKinds(std::in_place_type<NodesRelaunched>).index();
  JobState* job = step.state.find(event.job);
  if (job == nullptr) return ignore(step, nullptr, Ignored::UnknownJob, kKind);
  if (is_final(job->row.phase)) return ignore(step, job, Ignored::JobFinished, kKind);
  JobFailover& failover = job->failover.edit();
  if (failover.relaunching.empty() || failover.open.number != event.incident ||
      !awaits_answer(*job))
    return ignore(step, job, Ignored::StaleIncident, kKind);
  // What leaves one of them neither moves to another nor is asked to stop there: none has been
  // heard of yet. Before rules 4 they were replaced one after the other.
  const bool together = step.state.settings.rules >= 4;
  std::vector<NodeId> replaced;
  // The job itself recovers once, after all of it: while it waits, losses change no counter.
  for (const NodeId node : event.replaced) {
    const std::vector<NodeId>& asked = failover.relaunching;
    if (std::find(asked.begin(), asked.end(), node) == asked.end()) continue;
    replaced.push_back(node);
    replace_node(step, node);
    if (!together) lose_replaced(step, node);
  }
  if (together)
    for (const NodeId node : replaced) lose_replaced(step, node);
  if (is_final(job->row.phase)) return;
  failover.relaunching.clear();
  failover.nodes_relaunched += static_cast<std::uint32_t>(replaced.size());
  if (!replaced.empty()) count(step, *job, Counter::NodesRelaunched);
  end_relaunch(step, *job, replaced.empty() ? Reason::NodeRelaunchFailed : Reason::NodeRelaunched);
}

void on_event(Step& step, const ExclusionRequested& event) {
  constexpr std::size_t kKind = EventKinds(std::in_place_type<ExclusionRequested>).index();
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
  constexpr std::size_t kKind = EventKinds(std::in_place_type<NodeLeaving>).index();
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
  constexpr std::size_t kKind = EventKinds(std::in_place_type<DevicesLost>).index();
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
    bool found_any = false;
    for (std::size_t i = 0; i < job.workers.size(); ++i) {
      const Worker& worker = job.workers[i];
      lost[i] =
          worker.node == event.node && (worker.devices & event.devices) != 0 &&
          ((worker.state == WorkerState::Starting && !planted(Bug::DeviceLossForgetsStarting)) ||
           worker.state == WorkerState::Ready);
      found_any = found_any || lost[i] != 0;
    }
    if (found_any) on_node_loss(step, job, std::move(lost), event.node, Reason::DeviceLost);
  }
}

void on_event(Step& step, const NodeHeld& event) {
  constexpr std::size_t kKind = EventKinds(std::in_place_type<NodeHeld>).index();
  if (event.devices != 0) return on_event(step, DevicesLost{event.node, event.devices});
  if (event.node.index() >= step.state.nodes.size())
    return ignore(step, nullptr, Ignored::UnknownNode, kKind);
  // No incident of the node, and no loss of a job.
  if (std::exchange(step.state.nodes[event.node.index()].lost_device, true))
    return ignore(step, nullptr, Ignored::AlreadyKnown, kKind);
  refresh_node(step, event.node, NodeChange::HeldForCheck);
}

}  // namespace orrery
