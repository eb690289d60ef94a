#include "sim/storm/recovery_check.hpp"

#include <algorithm>
#include <string>

namespace orrery::sim {
namespace {

// Whole devices for one role whose workers sit wherever they fit and listen at no port.
bool is_plain(const JobState& job) {
  return job.role_count() == 1 && !job.spec->roles[0].is_seated() && !job.row.elastic.is_none() &&
         job.row.demand.share.is_whole() && job.spec->family == JobFamily::Native &&
         job.spec->roles[0].command.empty();
}

std::int64_t room_on(const State& state, NodeId node, const Demand& demand) {
  const NodeFree& free = state.ledger.free().at(node);
  const bool other = demand.devices > 0 && !demand.model.is_none() && demand.model != free.model;
  if (!free.usable || other) return 0;
  std::int64_t room = INT32_MAX;
  if (demand.devices > 0) room = free.devices / demand.devices;
  if (demand.cpu.count > 0) room = std::min(room, free.cpu.count / demand.cpu.count);
  if (demand.memory.count > 0) room = std::min(room, free.memory.count / demand.memory.count);
  return room;
}

}  // namespace

void RecoveryCheck::say(const std::string& text) {
  found_.add(ViolationKind::OrderWrong, now_, "record " + std::to_string(at_.value) + ": " + text);
}

void RecoveryCheck::comes(const Event& event, const State& before) {
  hit_.clear();
  room_for_.clear();
  if (const auto* lost = std::get_if<DevicesLost>(&event.body)) note_hit(*lost, before);
  if (const auto* silent = std::get_if<NodeSilent>(&event.body)) note_silence(silent->node, before);
}

void RecoveryCheck::folded(Instant now, const FoldedRecord& record, const State& after) {
  now_ = now;
  at_ = record.sequence;
  check_scope(record, after);
  for (const Notice& notice : record.decided.notices) {
    if (notice.kind != NoticeKind::IncidentOpened) continue;
    check_failure(record, notice, after);
    check_device(record, notice);
    check_silence(record, notice);
    const JobState* job = after.find(notice.job);
    if (job != nullptr && job->failover->open.number == notice.incident &&
        job->failover->open.since != record.event.occurred_at)
      say(job->spec->name + ": its incident is known since another time than it happened");
  }
  if (!room_for_.empty()) check_withheld(record, after);
}

void RecoveryCheck::note_hit(const DevicesLost& event, const State& before) {
  before.for_each_job([&](const JobState& job) {
    for (const Worker& worker : job.workers)
      if (worker.node == event.node && (worker.devices & event.devices) != 0)
        hit_.insert(job.row.id);
  });
}

// Whom the silence of a node costs a worker, or a place that it was promised; and for whom of them
// the other nodes have room. One job alone: what several take is not told apart.
void RecoveryCheck::note_silence(NodeId node, const State& before) {
  std::int64_t jobs = 0;
  before.for_each_job([&](const JobState& job) {
    if (is_final(job.row.phase)) return;
    std::int64_t lost = 0;
    bool any = false;
    bool all_usable = true;  // Who starts anew on a node that takes none has to move as well.
    for (const Worker& worker : job.workers) {
      all_usable = all_usable && before.ledger.node(worker.node).usable;
      if (worker.node != node || worker.is_gone()) continue;
      any = true;
      lost += worker.state != WorkerState::Draining ? 1 : 0;
    }
    bool promised = false;
    for (const Worker& member : job.next)
      promised = promised || (member.node == node && member.state == WorkerState::Claimed);
    if (lost > 0 || promised) hit_.insert(job.row.id);
    jobs += any || promised ? 1 : 0;
    const bool works = job.row.phase == JobPhase::Running && lost > 0 && job.draining == 0 &&
                       job.after_drain == AfterDrain::Nothing && job.ready == job.workers.size();
    if (!works || !all_usable || !is_plain(job)) return;
    std::int64_t room = 0;
    for (std::uint32_t n = 0; n < before.nodes.size(); ++n)
      if (NodeId{n} != node) room += room_on(before, NodeId{n}, job.row.demand);
    if (room >= lost) room_for_[job.row.id] = lost;
  });
  if (jobs != 1) room_for_.clear();
}

// What failed takes its scope along: all of its role, or of its job, starts anew.
void RecoveryCheck::check_scope(const FoldedRecord& record, const State& after) {
  for (const Notice& notice : record.decided.notices) {
    if (notice.kind != NoticeKind::PhaseChanged || notice.to != JobPhase::Starting) continue;
    // Before rules 4 a relaunch forgot how far the recovery reached that it held up.
    const bool relaunched =
        after.settings.rules >= 4 &&
        (notice.reason == Reason::NodeRelaunched || notice.reason == Reason::NodeRelaunchFailed);
    const bool failed = relaunched || notice.reason == Reason::WorkerFailed ||
                        notice.reason == Reason::WorkerHung ||
                        notice.reason == Reason::StartDeadline ||
                        notice.reason == Reason::NodeBlamed;
    const JobState* job = after.find(notice.job);
    // Its user may have asked for another size at once.
    if (!failed || job == nullptr || job->row.phase != JobPhase::Starting ||
        job->change_reason != notice.reason)
      continue;
    const Incident& open = job->failover->open;
    const bool led = std::any_of(job->spec->roles.begin(),
                                 job->spec->roles.end(),
                                 [](const RoleSpec& role) { return !role.master_of.is_none(); });
    const bool wide = open.scope == IncidentScope::Job || open.scope == IncidentScope::Role;
    // Of a worker that blames a peer it is its own role that starts anew, and the peer is the root.
    const bool by_peer =
        !job->failures->empty() && job->failures->back().diagnosis.blame == Blame::Peer;
    if (!open.is_open() || !wide || (by_peer && open.scope == IncidentScope::Role) ||
        open.role.is_none() || led || job->spec->failover->mode == RecoveryMode::Strict)
      continue;
    for (const Worker& worker : job->workers)
      if ((open.scope == IncidentScope::Job || worker.role == open.role) &&
          worker.incarnation != job->incarnation)
        say(job->spec->name + ": it recovers as a " + std::string(to_string(open.scope)) +
            ", and a worker of it goes on");
  }
}

// The failure by which an incident is opened is the last one that is kept.
void RecoveryCheck::check_failure(const FoldedRecord& record,
                                  const Notice& notice,
                                  const State& after) {
  const auto* report = std::get_if<WorkersChanged>(&record.event.body);
  if (notice.reason != Reason::WorkerFailed || notice.role.is_none() || report == nullptr ||
      report->job != notice.job || report->count != 1 || is_up(report->fact))
    return;
  const JobState* job = after.find(notice.job);
  if (job == nullptr || job->spec->failover->trigger != FailureTrigger::Now) return;
  const std::vector<WorkerFailure>& kept = *job->failures;
  // The root may be a peer, which need not have failed: the worker that names it is kept.
  if (!kept.empty() && kept.back().at == record.event.at &&
      kept.back().diagnosis.blame == Blame::Peer)
    return;
  if (kept.empty() || kept.back().at != record.event.at || kept.back().role != notice.role ||
      kept.back().local_rank != notice.local_rank || kept.back().node != notice.node)
    return say(job->spec->name + ": the failure that opened an incident is not the last one kept");
}

// A job recovers from the loss of a device that it has.
void RecoveryCheck::check_device(const FoldedRecord& record, const Notice& notice) {
  if (std::holds_alternative<DevicesLost>(record.event.body) &&
      notice.reason == Reason::DeviceLost && !notice.job.is_none() && !hit_.contains(notice.job))
    say("job " + std::to_string(notice.job.value) +
        ": it recovers from the loss of a device on which it has no worker");
}

// A job recovers from the loss of a node on which it has something.
void RecoveryCheck::check_silence(const FoldedRecord& record, const Notice& notice) {
  if (std::holds_alternative<NodeSilent>(record.event.body) && notice.reason == Reason::NodeLost &&
      !notice.job.is_none() && !hit_.contains(notice.job))
    say("job " + std::to_string(notice.job.value) +
        ": it recovers from the loss of a node on which it has nothing");
}

// A job that ran and lost workers with a node keeps its others and its place where the other nodes
// have room for those that it lost.
void RecoveryCheck::check_withheld(const FoldedRecord& record, const State& after) {
  for (const Notice& notice : record.decided.notices) {
    if (notice.kind != NoticeKind::PhaseChanged || notice.reason != Reason::NodeLost) continue;
    const auto lost = room_for_.find(notice.job);
    const JobState* job = after.find(notice.job);
    if (lost == room_for_.end() || job == nullptr || notice.to != JobPhase::Restarting) continue;
    if (job->after_drain == AfterDrain::Wait || job->row.phase == JobPhase::Pending)
      say(job->spec->name + ": it goes back to the queue, and the other nodes have room for the " +
          std::to_string(lost->second) + " workers that it lost");
  }
}

}  // namespace orrery::sim
