#include "sim/expectations/recovery_record.hpp"

#include <algorithm>

namespace orrery::sim {

void RecoveryRecord::on_notice(const Notice& notice) {
  switch (notice.kind) {
    case NoticeKind::IncidentOpened: {
      // What a crash took from the journal is told again by the next leader: the last word counts.
      const auto [place, added] =
          place_of_.try_emplace({notice.job, notice.incident}, incidents_.size());
      if (added) incidents_.emplace_back();
      incidents_[place->second] = {
          notice.job, notice.incident, notice.reason, notice.occurred_at, notice.at};
      return;
    }
    case NoticeKind::IncidentClosed:
      recover_if_at_work(notice.job, notice.at);
      return;
    case NoticeKind::PhaseChanged:
      phases_[notice.job] = notice.to;
      return;
    case NoticeKind::WorkerRestarted:
      ++worker_restarts_;
      ++restarts_[{notice.role, notice.local_rank}];
      return;
    case NoticeKind::WorkLost:
      lost_work_ += notice.work;
      return;
    case NoticeKind::Allocated:
    case NoticeKind::Counted:
    case NoticeKind::IgnoredReport:
    case NoticeKind::GrantDropped:
    case NoticeKind::GrantClipped:
    case NoticeKind::PlanLost:
    case NoticeKind::PolicyChosen:
    case NoticeKind::NodeChanged:
    case NoticeKind::WorkersReported:
    case NoticeKind::WorkerSuspected:
      return;
  }
}

void RecoveryRecord::recover_if_at_work(JobId job, Instant at) {
  const auto phase = phases_.find(job);
  if (phase != phases_.end() && phase->second != JobPhase::Running &&
      phase->second != JobPhase::Succeeded)
    return;
  for (auto place = place_of_.lower_bound({job, 0});
       place != place_of_.end() && place->first.first == job;
       ++place) {
    Instant& recovered = incidents_[place->second].recovered;
    recovered = std::min(recovered, at);
  }
}

std::int32_t RecoveryRecord::incidents_of(Reason cause) const {
  return static_cast<std::int32_t>(
      std::count_if(incidents_.begin(), incidents_.end(), [&](const IncidentRecord& incident) {
        return incident.cause == cause;
      }));
}

std::int32_t RecoveryRecord::restarts_of(RoleIndex role, std::int32_t local_rank) const {
  const auto found = restarts_.find({role, local_rank});
  return found == restarts_.end() ? 0 : found->second;
}

Duration RecoveryRecord::mean_time_to_recovery() const {
  if (incidents_.empty()) return Duration::zero();
  double sum_s = 0;
  for (const IncidentRecord& incident : incidents_) {
    if (incident.recovered.is_never()) return Duration::forever();
    sum_s += (incident.recovered - incident.at).in_seconds();
  }
  return Duration::from_seconds(sum_s / static_cast<double>(incidents_.size()));
}

Duration RecoveryRecord::longest_recovery() const {
  Duration longest;
  for (const IncidentRecord& incident : incidents_) {
    if (incident.recovered.is_never()) return Duration::forever();
    longest = std::max(longest, incident.recovered - incident.at);
  }
  return longest;
}

}  // namespace orrery::sim
