#include "sim/storm/journal_model.hpp"

#include <algorithm>

namespace orrery::sim {
namespace {

FoldedWorker* member_named(FoldedJob& job, Incarnation incarnation, Rank birth_rank) {
  for (FoldedWorker& worker : job.members)
    if (worker.incarnation == incarnation && worker.birth_rank == birth_rank) return &worker;
  return nullptr;
}

// Whom a report names: a rank in the generation that it gives, which is the present one or that of
// the worker's birth. An agent that never heard of a worker says by its order alone that it does
// not run, in the generation of that order. Where present ranks are not told, that of birth is the
// best guess.
FoldedWorker* member_reported(FoldedJob& job, const WorkersChanged& report, Rank rank) {
  if (report.generation == job.generation && job.is_told() && rank.index() < job.members.size())
    if (FoldedWorker& worker = job.members[rank.index()]; worker.incarnation == report.incarnation)
      return &worker;
  FoldedWorker* born = member_named(job, report.incarnation, rank);
  const bool is_guess = report.generation == job.generation && !job.is_told();
  return born != nullptr && (is_guess || born->born == report.generation) ? born : nullptr;
}

Rank birth_of(const WorkerStart& start) {
  return start.birth_rank.is_none() ? start.rank : start.birth_rank;
}

// The order of the record that starts this member, be it in a membership that was changed again at
// once; null: none.
const StartWorkers* start_in(const FoldedRecord& record, JobId job, const WorkerStart& member) {
  for (const CommandBody& body : record.decided.orders) {
    const auto* order = std::get_if<StartWorkers>(&body);
    if (order == nullptr || order->job != job) continue;
    for (const WorkerStart& each : order->workers)
      if (each.incarnation == member.incarnation && birth_of(each) == birth_of(member))
        return order;
  }
  return nullptr;
}

}  // namespace

FoldedJob* JournalModel::find(JobId job) {
  if (job.is_none() || job.index() >= jobs_.size() || !jobs_[job.index()].is_known())
    return nullptr;
  return &jobs_[job.index()];
}

void JournalModel::declare(const NodesDeclared& declared) {
  for (const NodeGroup& group : declared.groups) {
    for (std::int32_t i = 0; i < group.count; ++i) {
      FoldedNode& node = nodes_.emplace_back();
      node.group = static_cast<std::uint32_t>(groups_.size());
      node.heard = epoch_;
      node.spare = i >= group.count - group.spares;
    }
    groups_.push_back(group);
  }
}

void JournalModel::facts(const FoldedRecord& record) {
  const EventBody& body = record.event.body;
  if (const auto* begun = std::get_if<EpochStarted>(&body)) {
    settings_ = begun->settings;
    epoch_ = begun->epoch;
    epoch_since_ = record.event.at;
  } else if (const auto* declared = std::get_if<NodesDeclared>(&body)) {
    declare(*declared);
  } else if (const auto* changed = std::get_if<WorkersChanged>(&body)) {
    workers_changed(*changed);
  } else if (const auto* silent = std::get_if<NodeSilent>(&body)) {
    if (silent->node.index() < nodes_.size() && !nodes_[silent->node.index()].silent) {
      nodes_[silent->node.index()].silent = true;
      nodes_[silent->node.index()].incidents.push_back(record.event.at);
      nodes_[silent->node.index()].certain.push_back(record.event.at);
    }
  } else if (const auto* returned_event = std::get_if<NodeReturned>(&body)) {
    returned(*returned_event);
  } else if (const auto* lost = std::get_if<DevicesLost>(&body)) {
    if (lost->node.index() < nodes_.size()) {
      nodes_[lost->node.index()].lost_device = lost->devices != 0;
      if (lost->devices != 0) {
        nodes_[lost->node.index()].incidents.push_back(record.event.at);
        nodes_[lost->node.index()].certain.push_back(record.event.at);
      }
    }
  } else if (const auto* leaving = std::get_if<NodeLeaving>(&body)) {
    if (leaving->node.index() < nodes_.size()) nodes_[leaving->node.index()].leaving = true;
  }
}

void JournalModel::workers_changed(const WorkersChanged& event) {
  FoldedJob* job = find(event.job);
  if (job == nullptr || event.count > UINT16_MAX) return;
  for (std::uint32_t i = 0; i < event.count; ++i) {
    FoldedWorker* worker = member_reported(*job, event, Rank{event.first.value + i});
    if (worker == nullptr || worker->life == FoldedLife::Gone) continue;
    if (is_up(event.fact)) {
      if (worker->life == FoldedLife::Starting) worker->life = FoldedLife::Ready;
      continue;
    }
    worker->life = FoldedLife::Gone;
    job->failures.push_back({worker->role, worker->local_rank, worker->node, event.exit_code});
  }
}

void JournalModel::all_gone(NodeId node) {
  for (FoldedJob& job : jobs_)
    for (FoldedWorker& worker : job.members)
      if (worker.node == node) worker.life = FoldedLife::Gone;
}

// Silence about a worker is its loss, unless its start was ordered after the list was made.
void JournalModel::returned(const NodeReturned& event) {
  if (event.node.index() >= nodes_.size()) return;
  FoldedNode& node = nodes_[event.node.index()];
  if (node.silent) node.lost_device = false;
  node.silent = false;
  node.heard = epoch_;
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    for (FoldedWorker& worker : jobs_[j].members) {
      if (worker.node != event.node || worker.life == FoldedLife::Gone) continue;
      const bool listed = std::any_of(
          event.workers.begin(), event.workers.end(), [&](const RunningWorker& running) {
            return running.job.index() == j && running.incarnation == worker.incarnation &&
                   running.rank == worker.birth_rank;
          });
      const bool under_way = worker.life == FoldedLife::Starting && event.seen < worker.ordered;
      if (!listed && !under_way) worker.life = FoldedLife::Gone;
    }
}

void JournalModel::told(const FoldedRecord& record, const Notice& notice) {
  const Instant at = record.event.at;
  if (notice.kind == NoticeKind::PhaseChanged) {
    if (const auto* submitted = std::get_if<JobSubmitted>(&record.event.body);
        submitted != nullptr && find(notice.job) == nullptr && notice.job.index() <= UINT16_MAX) {
      if (jobs_.size() <= notice.job.index()) jobs_.resize(notice.job.index() + 1);
      FoldedJob& fresh = jobs_[notice.job.index()];
      fresh.spec = submitted->spec;
      fresh.submitted = fresh.since = fresh.try_since = at;
      return;
    }
    FoldedJob* job = find(notice.job);
    if (job == nullptr) return;
    const bool goes_on = job->phase == JobPhase::Rescheduling ||
                         job->phase == JobPhase::Restarting || job->phase == JobPhase::Unknown;
    if (notice.to == JobPhase::Starting && !goes_on) job->try_since = at;
    if (notice.to == JobPhase::Pending) job->members.clear();
    if (notice.to == JobPhase::Starting && notice.reason != Reason::ContactRegained) {
      job->generation = job->generation.next();
      job->ordered = false;
    }
    // Its patience is over: what has not been heard of is given up. A job that ends by its own
    // deadline waits for what its nodes say, as any that is stopped.
    if (job->phase == JobPhase::Unknown && notice.reason != Reason::RunDeadline &&
        std::holds_alternative<TimeReached>(record.event.body))
      give_up_unheard(*job);
    if (job->phase != notice.to) job->since = at;  // Not where its policy says why it waits.
    job->phase = notice.to;
    job->reason = notice.reason;
    if (is_final(notice.to)) job->completed = record.event.occurred_at;
  } else if (notice.kind == NoticeKind::Allocated) {
    if (FoldedJob* job = find(notice.job)) job->granted = notice.count;
  } else if (notice.kind == NoticeKind::Counted) {
    if (FoldedJob* job = find(notice.job))
      job->counts[static_cast<std::size_t>(notice.counter)] =
          static_cast<std::uint32_t>(notice.count);
  } else if (notice.kind == NoticeKind::IncidentOpened) {
    if (FoldedJob* job = find(notice.job)) {
      job->incidents = notice.incident;
      job->incident_open = true;
    }
    if (!notice.role.is_none() && notice.node.index() < nodes_.size())
      nodes_[notice.node.index()].incidents.push_back(at);
    // One that a worker has brought about, unless its job has ended by it.
    const bool by_worker =
        notice.reason == Reason::WorkerFailed || notice.reason == Reason::WorkerHung ||
        notice.reason == Reason::StartDeadline || notice.reason == Reason::WorkerStraggling ||
        notice.reason == Reason::NodeBlamed;
    const bool ends = std::any_of(
        record.decided.notices.begin(), record.decided.notices.end(), [&](const Notice& other) {
          return other.job == notice.job && other.kind == NoticeKind::PhaseChanged &&
                 is_final(other.to);
        });
    if (by_worker && !ends && !notice.role.is_none() && notice.node.index() < nodes_.size())
      nodes_[notice.node.index()].certain.push_back(at);
  } else if (notice.kind == NoticeKind::IncidentClosed) {
    if (FoldedJob* job = find(notice.job)) job->incident_open = false;
  } else if (notice.kind == NoticeKind::NodeChanged && notice.node.index() < nodes_.size()) {
    FoldedNode& node = nodes_[notice.node.index()];
    switch (notice.change) {
      case NodeChange::Excluded:
        node.excluded = true;
        node.excluded_since = at;
        break;
      case NodeChange::Included:
        node.excluded = false;
        node.incidents.clear();
        node.certain.clear();
        break;
      case NodeChange::Returned:
        if (!std::holds_alternative<DevicesLost>(record.event.body)) node.leaving = false;
        break;
      case NodeChange::Relaunched:
        node = FoldedNode{.group = node.group, .silent = true, .spare = node.spare};
        all_gone(notice.node);
        break;
      case NodeChange::SpareUsed:
        node.spare = false;
        break;
      case NodeChange::SpareAgain:
        node.spare = true;
        break;
      case NodeChange::HeldForCheck:
        node.lost_device = true;
        break;
      case NodeChange::Silent:
      case NodeChange::Leaving:
      case NodeChange::DeviceLost:
        break;
    }
  }
}

void JournalModel::give_up_unheard(FoldedJob& job) {
  for (FoldedWorker& worker : job.members) {
    const FoldedNode& node = nodes_[worker.node.index()];
    if (node.silent || node.heard != epoch_) worker.life = FoldedLife::Gone;
  }
}

// A job all of whose nodes are silent waits for them; for every other its workers there are lost.
void JournalModel::lose_silent() {
  for (FoldedJob& job : jobs_) {
    if (job.phase == JobPhase::Unknown) continue;
    for (FoldedWorker& worker : job.members)
      if (nodes_[worker.node.index()].silent) worker.life = FoldedLife::Gone;
  }
}

void JournalModel::ordered(const FoldedRecord& record) {
  const bool accepted = std::any_of(
      record.decided.orders.begin(), record.decided.orders.end(), [](const CommandBody& body) {
        const auto* answer = std::get_if<AnswerRequest>(&body);
        return answer != nullptr && answer->accepted;
      });
  if (const auto* change = std::get_if<JobChanged>(&record.event.body); change && accepted)
    if (FoldedJob* job = find(change->job)) {
      job->spec = change->spec;
      job->changed = true;
    }
  if (const auto* deletion = std::get_if<DeleteRequested>(&record.event.body))
    if (FoldedJob* job = find(deletion->job); job != nullptr && job->deleted_in == Sequence{})
      job->deleted_in = record.sequence;
  for (const CommandBody& body : record.decided.orders) {
    if (const auto* stopped = std::get_if<StopWorkers>(&body)) stop(record, *stopped);
    if (const auto* started = std::get_if<StartWorkers>(&body)) {
      const UpdateMembership* update = nullptr;
      for (const CommandBody& other : record.decided.orders)
        if (const auto* found = std::get_if<UpdateMembership>(&other);
            found != nullptr && found->job == started->job &&
            found->generation == started->generation)
          update = found;
      start(record, *started, update);
    }
    // One beside a start is looked at with it.
    const auto* alone = std::get_if<UpdateMembership>(&body);
    const bool beside =
        alone != nullptr && std::any_of(record.decided.orders.begin(),
                                        record.decided.orders.end(),
                                        [&](const CommandBody& other) {
                                          const auto* found = std::get_if<StartWorkers>(&other);
                                          return found != nullptr && found->job == alone->job &&
                                                 found->generation == alone->generation;
                                        });
    if (alone != nullptr && !beside)
      start(record, StartWorkers{alone->job, alone->generation, alone->world_size, {}}, alone);
  }
  lose_silent();
  for (FoldedJob& job : jobs_) {
    const bool runs = std::any_of(job.members.begin(), job.members.end(), [](const auto& worker) {
      return worker.life != FoldedLife::Gone;
    });
    if (!is_final(job.phase) || !job.cleared.is_never() || runs) continue;
    job.cleared = record.event.at;
    job.cleared_in = record.sequence;
  }
}

void JournalModel::start(const FoldedRecord& record,
                         const StartWorkers& order,
                         const UpdateMembership* update) {
  FoldedJob* job = find(order.job);
  if (job == nullptr) return;
  if (order.generation < job->generation || job->ordered) {
    for (const WorkerStart& again : order.workers)
      if (FoldedWorker* worker = member_named(*job, again.incarnation, birth_of(again)))
        worker->ordered = record.sequence;
    return;
  }
  job->ordered = true;
  job->complete = update != nullptr || order.workers.size() == order.world_size;
  if (job->first_start.is_never()) job->first_start = record.event.at;
  const std::vector<WorkerStart>& wanted = update != nullptr ? update->members : order.workers;
  std::vector<FoldedWorker> members;
  for (const WorkerStart& start : wanted) {
    const FoldedWorker* known = member_named(*job, start.incarnation, birth_of(start));
    FoldedWorker& worker = members.emplace_back();
    if (known != nullptr) worker = *known;
    worker.incarnation = start.incarnation;
    worker.birth_rank = birth_of(start);
    worker.role = start.role;
    worker.local_rank = start.local_rank;
    worker.node = start.node;
    worker.devices = start.devices;
    if (known != nullptr) continue;
    // Nothing was told of one that had ended where none of its peers went on: see `complete`.
    const StartWorkers* starts = start_in(record, order.job, start);
    if (starts == nullptr) worker.life = FoldedLife::Gone;
    worker.born = starts != nullptr ? starts->generation : order.generation;
    worker.ordered = record.sequence;
  }
  job->members = std::move(members);
}

void JournalModel::stop(const FoldedRecord& record, const StopWorkers& order) {
  FoldedJob* job = find(order.job);
  if (job == nullptr) return;
  for (const WorkerStop& each : order.workers) {
    const Rank birth = each.birth_rank.is_none() ? each.rank : each.birth_rank;
    FoldedWorker* worker = member_named(*job, each.incarnation, birth);
    if (worker == nullptr || worker->life == FoldedLife::Gone) continue;
    if (worker->life != FoldedLife::Draining) {
      job->stop_ordered = record.event.at;
      job->stop_grace = order.grace;
    }
    worker->life = FoldedLife::Draining;
  }
}

}  // namespace orrery::sim
