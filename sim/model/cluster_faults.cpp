#include "sim/model/cluster_faults.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace orrery::sim {

void ClusterFaults::strike(const scenarios::Fault& fault) {
  using scenarios::FaultKind;
  switch (fault.kind) {
    case FaultKind::Crash:
    case FaultKind::Delete:
    case FaultKind::Hang:
    case FaultKind::Slow:
    case FaultKind::Stuck:
      if (fault.nodes.empty()) return strike_worker(fault);
      return strike_workers_of_nodes(fault, std::nullopt);
    case FaultKind::Down:
    case FaultKind::Up:
    case FaultKind::DeviceLost:
    case FaultKind::PreemptionNotice:
    case FaultKind::Cordon:
    case FaultKind::Uncordon:
      for (const NodeId node : fault.nodes) nodes_.strike(node, fault);
      return;
    case FaultKind::Bandwidth:
      links_.slow(fault);
      if (cluster_.scenario.needs_agents()) cluster_.listener.on_fault(fault);
      return;
    case FaultKind::SubMasterCrash:
      return sub_masters_.arm(fault);
    case FaultKind::RebootLoop:
    case FaultKind::AgentCrash:
    case FaultKind::LinkCut:
    case FaultKind::Latency:
    case FaultKind::Loss:
    case FaultKind::Duplication:
    case FaultKind::Reordering:
    case FaultKind::ControllerCrash:
    case FaultKind::SecondLeader:
    case FaultKind::ControllerPause:
    case FaultKind::StoreSlow:
    case FaultKind::StoreFail:
    case FaultKind::StoreTorn:
    case FaultKind::ClockStep:
      return cluster_.listener.on_fault(fault);
  }
}

// --- failures at random ---

void ClusterFaults::schedule_random() {
  for (std::uint32_t n = 0; n < cluster_.nodes.size(); ++n)
    for (std::size_t p = 0; p < at_random_.size(); ++p) schedule_next(p, NodeId{n}, cluster_.now);
}

void ClusterFaults::schedule_next(std::size_t process, NodeId node, Instant from) {
  cluster_.future.push(at_random_.next(process, node, from),
                       FutureKind::NodeDown,
                       node.value,
                       0,
                       static_cast<std::uint32_t>(process));
}

void ClusterFaults::strike_at_random(NodeId node, std::size_t process) {
  const FaultProcesses::Strike failure = at_random_.strike(process, node, cluster_.now);
  schedule_next(process, node, failure.resumes);
  if (failure.pick) return strike_workers_of_nodes(failure.fault, failure.pick);
  strike(failure.fault);
}

// --- workers ---

void ClusterFaults::strike_worker(const scenarios::Fault& fault) {
  const JobId id = cluster_.jobs.named(fault.job);
  LiveJob* job = id.is_none() ? nullptr : cluster_.jobs.find(id);
  if (job != nullptr)
    for (ModelWorker& worker : job->workers)
      if (worker.alive && !worker.stopping && is_named(*job, fault.worker, worker))
        return hit(*job, worker, fault);
  cluster_.warn("fault at " + std::to_string(cluster_.now.in_seconds()) + " s: " + fault.job +
                " has no such worker then; nothing was done");
}

// Every worker of the nodes, or the one at `pick` modulo their number.
void ClusterFaults::strike_workers_of_nodes(const scenarios::Fault& fault,
                                            std::optional<std::uint32_t> pick) {
  if (!pick && fault.kind == scenarios::FaultKind::Slow) {
    for (const NodeId node : fault.nodes) nodes_.slow_down(node, fault);
    return;
  }

  struct Victim {
    JobId job;
    Incarnation incarnation;
    Rank birth_rank;
  };

  std::vector<Victim> victims;
  for (const JobId id : cluster_.jobs.placed())
    for (const ModelWorker& w : cluster_.jobs.find(id)->workers)
      if (w.alive && !w.stopping &&
          std::find(fault.nodes.begin(), fault.nodes.end(), w.node) != fault.nodes.end())
        victims.push_back({id, w.incarnation, w.birth_rank});
  if (victims.empty()) return;
  if (pick) victims = {victims[*pick % victims.size()]};
  for (const Victim& victim : victims) {
    LiveJob* job = cluster_.jobs.find(victim.job);
    ModelWorker* worker =
        job == nullptr ? nullptr : job->find(victim.incarnation, victim.birth_rank);
    if (worker != nullptr && worker->alive) hit(*job, *worker, fault);
  }
}

void ClusterFaults::hit(LiveJob& job, ModelWorker& worker, const scenarios::Fault& fault) {
  switch (fault.kind) {
    case scenarios::FaultKind::Crash:
      return processes_.end(
          job, worker, WorkerFact::Exited, fault.exit_code, diagnosis_of(job, fault.blames));
    case scenarios::FaultKind::Delete:
      return processes_.end(job, worker, WorkerFact::Lost, 0);
    case scenarios::FaultKind::Hang:
      return processes_.hang(job, worker, fault.lasting);
    case scenarios::FaultKind::Stuck:
      worker.stuck = true;
      return processes_.hang(job, worker, fault.lasting);
    default:
      return processes_.slow_down(job, worker, fault.factor, fault.lasting);
  }
}

}  // namespace orrery::sim
