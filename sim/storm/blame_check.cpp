#include "sim/storm/blame_check.hpp"

#include <algorithm>
#include <variant>

#include "core/job/phase.hpp"

namespace orrery::sim {
namespace {

std::uint32_t failures_of(const JobState& job, RoleIndex role, std::int32_t local_rank) {
  for (const ReplicaRecord& record : job.failover->replicas)
    if (record.role == role && record.local_rank == local_rank) return record.failures;
  return 0;
}

bool is_of_master(const JobState& job, RoleIndex role) {
  return !job.spec->roles[role.index()].master_of.is_none();
}

// The other worker of the job that the diagnosis names; null where there is none.
const Worker* peer_named(const JobState& job, const Worker& teller, const Diagnosis& said) {
  if (said.blame != Blame::Peer) return nullptr;
  for (const Worker& worker : job.workers)
    if (worker.role == said.role && worker.local_rank == said.rank)
      return &worker != &teller && !is_of_master(job, worker.role) ? &worker : nullptr;
  return nullptr;
}

}  // namespace

void BlameCheck::say(const std::string& text) {
  found_.add(
      ViolationKind::DecisionWrong, now_, "record " + std::to_string(at_.value) + ": " + text);
}

void BlameCheck::comes(const Event& event, const State& before) {
  expected_.reset();
  const auto* report = std::get_if<WorkersChanged>(&event.body);
  if (report == nullptr || report->fact != WorkerFact::Exited || report->exit_code == 0 ||
      report->count != 1)
    return;
  const JobState* job = before.find(report->job);
  if (job == nullptr || job->spec->failover->trigger != FailureTrigger::Now) return;
  const Worker* teller = worker_named(*job, report->generation, report->incarnation, report->first);
  const bool others_failed =
      std::any_of(job->workers.begin(), job->workers.end(), [](const Worker& worker) {
        return worker.state == WorkerState::Failed || worker.state == WorkerState::Lost;
      });
  if (teller == nullptr || !teller->is_alive() || others_failed) return;
  const Diagnosis said = before.settings.rules >= 4 ? *report->diagnosis : Diagnosis{};
  const bool heard = !is_of_master(*job, teller->role);
  const Worker* peer = heard ? peer_named(*job, *teller, said) : nullptr;
  const Worker& root = peer != nullptr ? *peer : *teller;
  const auto replica_of = [&](const Worker& worker) {
    return Replica{
        worker.role, worker.local_rank, failures_of(*job, worker.role, worker.local_rank)};
  };
  expected_ = Expected{report->job,
                       heard && said.blame == Blame::Node,
                       replica_of(*teller),
                       replica_of(root),
                       root.node,
                       job->row.restarts,
                       job->row.node_losses};
}

void BlameCheck::folded(Instant now, const FoldedRecord& record, const State& after) {
  if (!expected_) return;
  now_ = now;
  at_ = record.sequence;
  for (const Notice& notice : record.decided.notices)
    if (notice.kind == NoticeKind::IncidentOpened && notice.job == expected_->job &&
        (notice.reason == Reason::WorkerFailed || notice.reason == Reason::NodeBlamed))
      return judge(notice, after);
}

void BlameCheck::judge(const Notice& opened, const State& after) {
  const std::string name = "job " + std::to_string(expected_->job.value) + ": ";
  if ((opened.reason == Reason::NodeBlamed) != expected_->by_node)
    return say(name + (expected_->by_node ? "its node was blamed for a failure, the job is charged"
                                          : "its node is charged for a failure, unblamed"));
  if (opened.role != expected_->root.role || opened.local_rank != expected_->root.local_rank ||
      opened.node != expected_->node)
    return say(name + "another worker than the one to blame is the root of its incident");
  if (const JobState* job = after.find(expected_->job)) judge_counts(*job, opened.charged);
}

// Only the budget of the one that is to blame is spent.
void BlameCheck::judge_counts(const JobState& job, bool charged) {
  const Expected& was = *expected_;
  const std::string name = job.spec->name + ": ";
  if (is_final(job.row.phase)) {
    const Limit limit = job.failover->limit;
    if (was.by_node ? limit != Limit::None && limit != Limit::NodeLosses &&
                          limit != Limit::RoleRestarts && limit != Limit::JobRestarts
                    : limit == Limit::NodeLosses)
      say(name + "it ended by " + std::string(to_string(limit)) + ", which was not charged");
    return;
  }
  if (job.row.restarts != was.restarts + (charged ? 1 : 0))
    say(name + "its restarts are " + std::to_string(job.row.restarts) + ", they were " +
        std::to_string(was.restarts) + " before a failure that is " +
        (charged ? "charged" : "not charged"));
  if (job.row.node_losses != was.node_losses + (was.by_node ? 1 : 0))
    say(name + "its losses of nodes are " + std::to_string(job.row.node_losses) + ", they were " +
        std::to_string(was.node_losses));
  // Counts of replicas begin anew after a while without an incident.
  if (!job.spec->failover->reset_window.is_forever()) return;
  const auto counted = [&](const Replica& replica) {
    return failures_of(job, replica.role, replica.local_rank) - replica.failures;
  };
  const bool same =
      was.teller.role == was.root.role && was.teller.local_rank == was.root.local_rank;
  if (counted(was.root) != (was.by_node ? 0U : 1U) || (!same && counted(was.teller) != 0))
    say(name + "a failure is counted to another replica than the one to blame");
}

}  // namespace orrery::sim
