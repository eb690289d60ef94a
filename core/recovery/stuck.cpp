#include "core/recovery/stuck.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/coverage_mark.hpp"
#include "core/membership/releasing.hpp"
#include "core/recovery/node_health.hpp"
#include "core/recovery/recovery.hpp"

namespace orrery {
namespace {

std::vector<NodeId> nodes_of_stuck(const JobState& job) {
  std::vector<NodeId> nodes;
  for (const Worker& worker : job.workers)
    if (worker.state == WorkerState::Draining) nodes.push_back(worker.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

// Only a user can tell when the kernel has let the process go, so only a user lets the node in.
void suspect(Step& step, NodeId node) {
  note_node_incident(step, node);
  NodeState& state = step.state.nodes[node.index()];
  if (state.excluded && state.excluded_until.is_never()) return;
  exclude_node(step, node, Instant::never());
  step.state.rebuild_node_timer();
}

void tell_lost(Step& step, const JobState& job, const Worker& worker) {
  Notice notice = step.notice(NoticeKind::WorkersReported, job);
  notice.generation = worker.born;
  notice.fact = WorkerFact::Lost;
  notice.first = worker.birth_rank;
  notice.count = 1;
  step.out.notices.push_back(notice);
}

// What was promised on the node may be what the stuck process still has.
void leave_claims(Step& step, JobState& job, NodeId node) {
  for (std::size_t i = 0; i < job.next.size(); ++i)
    if (job.next_from[i] == kNew && job.next[i].node == node)
      return on_node_loss(step, job, RankFlags(job.workers.size(), 0), node, Reason::WorkerStuck);
}

}  // namespace

void give_up_stuck(Step& step, JobState& job, Instant due) {
  State& state = step.state;
  const std::vector<NodeId> nodes = nodes_of_stuck(job);
  const Duration lease = state.settings.node_lease;
  // Ends are reported late to a controller that stood still, and to one that has just taken over.
  const bool heard = std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return state.nodes[node.index()].heard == state.epoch;
  });
  if (!heard || step.at - due > lease)
    return state.set_timer(job, TimerKind::Kill, step.at + lease);
  reached(Mark::StuckGivenUp);
  for (const NodeId node : nodes) suspect(step, node);
  for (Worker& worker : job.workers) {
    if (worker.state != WorkerState::Draining) continue;
    tell_lost(step, job, worker);
    worker_gone(step, job, worker, WorkerState::Lost);
  }
  for (const NodeId node : nodes)
    for (const JobId id : owners_on(state.ledger, node)) leave_claims(step, state.job(id), node);
  step.woken.push_back(job.row.id);
}

}  // namespace orrery
