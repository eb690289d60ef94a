#include "sim/storm/budget_check.hpp"

#include <optional>

#include "core/job/phase.hpp"

namespace orrery::sim {
namespace {

std::optional<Counter> counter_of(Limit limit) {
  switch (limit) {
    case Limit::Backoff:
      return Counter::Restarts;
    case Limit::RoleRestarts:
      return Counter::RoleRestarts;
    case Limit::JobRestarts:
      return Counter::JobRestarts;
    case Limit::NodeLosses:
      return Counter::NodeLosses;
    case Limit::Preemptions:
      return Counter::Preemptions;
    case Limit::NodesRelaunched:
      return Counter::NodesRelaunched;
    case Limit::None:
    case Limit::WorkerFailures:
      break;
  }
  return std::nullopt;
}

bool is_over(Duration window, Instant since, Instant at) {
  return !window.is_forever() && !since.is_never() && at - since >= window;
}

}  // namespace

void BudgetCheck::folded(Instant now, const FoldedRecord& record, const State& after) {
  judges_ = judges_ && after.settings.rules >= 4;
  if (!judges_) return;
  now_ = now;
  at_ = record.sequence;
  for (const Notice& notice : record.decided.notices) {
    const JobState* job = notice.job.is_none() ? nullptr : after.find(notice.job);
    if (job == nullptr) continue;
    const Duration window = job->spec->failover->reset_window;
    Spent& spent = jobs_[notice.job];
    if (notice.kind == NoticeKind::IncidentOpened) {
      const std::int64_t preemptions = spent.used[static_cast<std::size_t>(Counter::Preemptions)];
      if (is_over(window, spent.last_incident, notice.at)) spent.used = {};
      spent.used[static_cast<std::size_t>(Counter::Preemptions)] = preemptions;
      spent.last_incident = notice.at;
    } else if (notice.kind == NoticeKind::Counted) {
      counted(spent, notice, window);
    } else if (notice.kind == NoticeKind::PhaseChanged && is_final(notice.to)) {
      ended(spent, notice, *job);
      jobs_.erase(notice.job);
    }
  }
}

void BudgetCheck::counted(Spent& spent, const Notice& notice, Duration window) {
  const auto counter = static_cast<std::size_t>(notice.counter);
  if (notice.counter == Counter::Preemptions) {
    if (is_over(window, spent.last_preemption, notice.at)) spent.used[counter] = 0;
    spent.last_preemption = notice.at;
  }
  spent.used[counter] += notice.count - spent.told[counter];
  spent.told[counter] = notice.count;
}

// The charge that passes the limit is not told by itself.
void BudgetCheck::ended(const Spent& spent, const Notice& notice, const JobState& job) {
  const std::optional<Counter> counter = counter_of(job.failover->limit);
  if (!counter) return;
  const bool is_full = *counter == Counter::Preemptions &&
                       is_over(job.spec->failover->reset_window, spent.last_preemption, notice.at);
  const std::int64_t due = (is_full ? 0 : spent.used[static_cast<std::size_t>(*counter)]) + 1;
  const std::int64_t count = job.failover->limit_count;
  const bool is_so = *counter == Counter::RoleRestarts ? count <= due : count == due;
  if (!is_so || count <= job.failover->limit_value)
    found_.add(ViolationKind::BackoffLimit,
               now_,
               "record " + std::to_string(at_.value) + ": " + job.spec->name + " ended at its " +
                   std::string(to_string(job.failover->limit)) + " of " +
                   std::to_string(job.failover->limit_value) + " with " + std::to_string(count) +
                   " used, by its notices it has used " + std::to_string(due));
}

}  // namespace orrery::sim
