#include "core/state/step.hpp"

#include <cstdint>

namespace orrery {

void count(Step& step, JobState& job, Counter counter) {
  Notice notice = step.notice(NoticeKind::Counted, job);
  notice.counter = counter;
  switch (counter) {
    case Counter::Restarts:
      notice.count = static_cast<std::int32_t>(job.row.restarts);
      break;
    case Counter::Reschedules:
      notice.count = static_cast<std::int32_t>(job.row.reschedules);
      break;
    case Counter::Preemptions:
      notice.count = static_cast<std::int32_t>(job.row.preemptions);
      break;
    case Counter::NodeLosses:
      notice.count = static_cast<std::int32_t>(job.row.node_losses);
      break;
    case Counter::RoleRestarts:
      for (const std::uint32_t restarts : job.failover->role_restarts)
        notice.count += static_cast<std::int32_t>(restarts);
      break;
    case Counter::JobRestarts:
      notice.count = static_cast<std::int32_t>(job.failover->job_restarts);
      break;
    case Counter::NodesRelaunched:
      notice.count = static_cast<std::int32_t>(job.failover->nodes_relaunched);
      break;
  }
  step.out.notices.push_back(notice);
}

void ignore(Step& step, const JobState* job, Ignored why, std::size_t event_kind) {
  ++step.state.totals.ignored;
  Notice notice;
  notice.kind = NoticeKind::IgnoredReport;
  notice.at = step.at;
  notice.occurred_at = step.occurred_at;
  if (job != nullptr) {
    notice.job = job->row.id;
    notice.generation = job->row.generation;
  }
  notice.ignored = why;
  notice.event_kind = static_cast<std::uint16_t>(event_kind);
  step.out.notices.push_back(notice);
}

Demand demand_of(Step& step, const JobState& job, RoleIndex role) {
  if (role == job.row.elastic) return job.row.demand;
  return step.state.demand_of(job.spec->roles[role.index()].bundle);
}

}  // namespace orrery
