#include "sim/storm/live_check.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

using scenarios::FaultKind;

// Whether the fault keeps leaders from hearing of hung workers in time.
bool disturbs(FaultKind kind) {
  switch (kind) {
    case FaultKind::ControllerCrash:
    case FaultKind::SecondLeader:
    case FaultKind::ControllerPause:
    case FaultKind::StoreSlow:
    case FaultKind::StoreFail:
    case FaultKind::StoreTorn:
    case FaultKind::LinkCut:
    case FaultKind::Bandwidth:
    case FaultKind::Latency:
    case FaultKind::Loss:
    case FaultKind::Reordering:
    case FaultKind::ClockStep:
    case FaultKind::AgentCrash:
      return true;
    default:
      return false;
  }
}

const Worker* known_worker(const State& leader, const ProcessName& name) {
  const JobState* job = leader.find(name.job);
  if (job == nullptr) return nullptr;
  for (const Worker& worker : job->workers)
    if (worker.incarnation == name.incarnation && worker.birth_rank == name.birth_rank)
      return &worker;
  return nullptr;
}

std::string text_of(const ProcessName& name) {
  return "worker " + std::to_string(name.birth_rank.value) + " of incarnation " +
         std::to_string(name.incarnation.value) + " of job " + std::to_string(name.job.value);
}

std::string seconds(Duration time) { return std::to_string(time.in_seconds()) + " s"; }

}  // namespace

LiveCheck::LiveCheck(const scenarios::Scenario& scenario,
                     Duration stale_after,
                     Duration late_max,
                     Violations& found)
    : found_(found),
      stale_after_(stale_after + Duration::seconds(10)),
      noticed_after_(scenario.settings.node_lease + late_max + Duration::seconds(10)) {
  for (const scenarios::Fault& fault : scenario.faults) {
    is_quiet_ = is_quiet_ && !disturbs(fault.kind);
    any_slow_ = any_slow_ || fault.kind == FaultKind::Slow;
  }
}

void LiveCheck::stepped(Instant now, const Event& event, const SimulatedCluster& cluster) {
  if (const auto* progress = std::get_if<ProgressReported>(&event.body)) {
    sign_of_life_[progress->job] = now;
  } else if (const auto* measured = std::get_if<ProfilingChanged>(&event.body)) {
    sign_of_life_[measured->job] = now;
  } else if (const auto* reported = std::get_if<WorkersChanged>(&event.body)) {
    sign_of_life_[reported->job] = now;
  } else if (const auto* suspected = std::get_if<WorkerSuspected>(&event.body)) {
    if (suspected->suspicion == Suspicion::Hung)
      suspected_.insert({suspected->job, suspected->incarnation, suspected->rank});
    else if (any_slow_)
      check_straggler(now, *suspected, cluster);
  }
}

// Who is suspected of being slow is, or was.
void LiveCheck::check_straggler(Instant now,
                                const WorkerSuspected& event,
                                const SimulatedCluster& cluster) {
  const ProcessName name{event.job, event.incarnation, event.rank};
  const LiveJob* job = cluster.job(event.job);
  if (job == nullptr) return;
  for (const ModelWorker& worker : job->workers) {
    if (worker.incarnation != event.incarnation || worker.birth_rank != event.rank) continue;
    if (!worker.was_slow)
      found_.add(ViolationKind::DecisionWrong,
                 now,
                 text_of(name) + " is suspected of being slow, it never was");
  }
}

void LiveCheck::look(Instant now, const SimulatedCluster& cluster, const State* leader) {
  if (leader == nullptr) {
    unknown_since_.clear();
    hung_since_.clear();
    return;
  }
  look_for_unknown(now, cluster, *leader);
  if (is_quiet_) look_for_hung(now, cluster, *leader);
}

// A process of which nobody knows any more ends: it is stopped, or its node's lease runs out. One
// that hangs may be held by the kernel.
void LiveCheck::look_for_unknown(Instant now,
                                 const SimulatedCluster& cluster,
                                 const State& leader) {
  std::map<ProcessName, Instant> unknown;
  for (const LivingProcess& process : cluster.living()) {
    const ProcessName name{process.job, process.incarnation, process.birth_rank};
    const Worker* worker = known_worker(leader, name);
    if ((worker != nullptr && worker->is_alive()) || process.hung) continue;
    const auto before = unknown_since_.find(name);
    const Instant since = before == unknown_since_.end() ? now : before->second;
    unknown.emplace(name, since);
    if (now - since <= stale_after_) continue;
    found_.add(
        ViolationKind::StaleAlive,
        now,
        text_of(name) + " lives on, for " + seconds(now - since) + " no leader has known of it");
    unknown[name] = now;
  }
  unknown_since_ = std::move(unknown);
}

void LiveCheck::look_for_hung(Instant now, const SimulatedCluster& cluster, const State& leader) {
  std::map<ProcessName, Instant> hung;
  leader.for_each_job([&](const JobState& job) {
    const Duration hang_after = job.spec->failover->hang_after;
    const LiveJob* live = cluster.job(job.row.id);
    if (job.row.phase != JobPhase::Running || hang_after.is_forever() || live == nullptr) return;
    for (const ModelWorker& process : live->workers) {
      if (!process.hung || !process.alive || process.stopping) continue;
      const ProcessName name{job.row.id, process.incarnation, process.birth_rank};
      const Worker* worker = known_worker(leader, name);
      if (worker == nullptr || worker->state != WorkerState::Ready || suspected_.contains(name))
        continue;
      const auto before = hung_since_.find(name);
      Instant since = before == hung_since_.end() ? now : before->second;
      if (const auto sign = sign_of_life_.find(job.row.id); sign != sign_of_life_.end())
        since = std::max(since, sign->second);
      hung.emplace(name, since);
      if (now - since <= hang_after + noticed_after_) continue;
      found_.add(ViolationKind::DeadlineMissed,
                 now,
                 text_of(name) + " has hung for " + seconds(now - since) +
                     " and is not suspected, its job asks for that after " + seconds(hang_after));
      hung[name] = now;
    }
  });
  hung_since_ = std::move(hung);
}

}  // namespace orrery::sim
