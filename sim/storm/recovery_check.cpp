#include "sim/storm/recovery_check.hpp"

#include <algorithm>
#include <string>

namespace orrery::sim {

void RecoveryCheck::say(const std::string& text) {
  found_.add(ViolationKind::OrderWrong, now_, "record " + std::to_string(at_.value) + ": " + text);
}

void RecoveryCheck::comes(const Event& event, const State& before) {
  hit_.clear();
  if (const auto* lost = std::get_if<DevicesLost>(&event.body)) note_hit(*lost, before);
}

void RecoveryCheck::folded(Instant now, const FoldedRecord& record, const State& after) {
  now_ = now;
  at_ = record.sequence;
  check_scope(record, after);
  for (const Notice& notice : record.decided.notices) {
    if (notice.kind != NoticeKind::IncidentOpened) continue;
    check_failure(record, notice, after);
    check_device(record, notice);
  }
}

void RecoveryCheck::note_hit(const DevicesLost& event, const State& before) {
  before.for_each_job([&](const JobState& job) {
    for (const Worker& worker : job.workers)
      if (worker.node == event.node && (worker.devices & event.devices) != 0)
        hit_.insert(job.row.id);
  });
}

// What failed takes its scope along: all of its role, or of its job, starts anew.
void RecoveryCheck::check_scope(const FoldedRecord& record, const State& after) {
  for (const Notice& notice : record.decided.notices) {
    if (notice.kind != NoticeKind::PhaseChanged || notice.to != JobPhase::Starting) continue;
    const bool failed = notice.reason == Reason::WorkerFailed ||
                        notice.reason == Reason::WorkerHung ||
                        notice.reason == Reason::StartDeadline;
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
    if (!open.is_open() || !wide || open.role.is_none() || led ||
        job->spec->failover->mode == RecoveryMode::Strict)
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

}  // namespace orrery::sim
