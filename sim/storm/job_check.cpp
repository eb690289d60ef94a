#include "sim/storm/job_check.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/job/turns.hpp"

namespace orrery::sim {
namespace {

// A worker that has failed so; what is charged, where anything is.
std::vector<ProcessName> failed_in(const Event& event) {
  std::vector<ProcessName> names;
  const auto* changed = std::get_if<WorkersChanged>(&event.body);
  if (changed == nullptr) return names;
  const bool failed = changed->fact == WorkerFact::LaunchFailed ||
                      (changed->fact == WorkerFact::Exited && changed->exit_code != 0);
  if (!failed || changed->count > UINT16_MAX) return names;
  for (std::uint32_t i = 0; i < changed->count; ++i)
    names.push_back({changed->job, changed->incarnation, Rank{changed->first.value + i}});
  return names;
}

bool limits_never_reset(const JobSpec& spec) { return spec.failover->reset_window.is_forever(); }

}  // namespace

JobCheck::Job* JobCheck::find(JobId job) {
  if (job.index() >= jobs_.size() || jobs_[job.index()].spec == nullptr) return nullptr;
  return &jobs_[job.index()];
}

const JobCheck::Job* JobCheck::find(JobId job) const {
  if (job.index() >= jobs_.size() || jobs_[job.index()].spec == nullptr) return nullptr;
  return &jobs_[job.index()];
}

Bundle JobCheck::bundle_of(JobId job, RoleIndex role) const {
  const Job* known = find(job);
  if (known == nullptr || role.index() >= known->spec->roles.size()) return {};
  return known->spec->roles[role.index()].bundle;
}

TurnKey JobCheck::turns_of_role(JobId job, RoleIndex role) const {
  const Job* known = find(job);
  if (known == nullptr || role.index() >= known->spec->roles.size()) return {};
  return turns_of(*known->spec, role);
}

std::string JobCheck::name_of(JobId job) const {
  const Job* known = find(job);
  return known == nullptr ? "job " + std::to_string(job.value) : known->spec->name;
}

void JobCheck::appended(Sequence sequence, const Event& event) {
  bookings_.appended(sequence, event);
  if (const auto* epoch = std::get_if<EpochStarted>(&event.body)) {
    rules_ = epoch->settings.rules;
  } else if (const auto* submitted = std::get_if<JobSubmitted>(&event.body)) {
    unbound_.push_back({sequence, submitted->spec});
  } else if (const auto* progress = std::get_if<ProgressReported>(&event.body)) {
    if (Job* job = find(progress->job); job != nullptr && progress->checkpointed)
      job->safe = std::max(job->safe, progress->done);
  } else if (const auto* scale = std::get_if<ScaleRequested>(&event.body)) {
    if (Job* job = find(scale->job)) job->scaled = true;
  } else if (const auto* change = std::get_if<JobChanged>(&event.body)) {
    if (Job* job = find(change->job)) job->anew.push_back(change->spec);
  } else if (std::vector<ProcessName> failed = failed_in(event); !failed.empty()) {
    failures_[sequence] = std::move(failed);
  }
}

void JobCheck::stepped(Instant now, Sequence sequence, std::span<const Notice> notices) {
  for (const Notice& notice : notices) told(now, sequence, notice);
  failures_.erase(failures_.begin(), failures_.upper_bound(sequence));
}

void JobCheck::bind(Instant now, JobId id, const Submission& submission) {
  if (jobs_.size() <= id.index()) jobs_.resize(id.index() + 1);
  Job& job = jobs_[id.index()];
  job = Job{};
  job.spec = submission.spec;
  job.work = work_[job.spec->name];
  job.submitted = submission.at;
  job.as_of = now;
}

void JobCheck::told(Instant now, Sequence sequence, const Notice& notice) {
  const bool accepted = notice.kind == NoticeKind::PhaseChanged &&
                        notice.reason == Reason::Submitted && find(notice.job) == nullptr;
  if (accepted && !notice.job.is_none() && notice.job.index() <= UINT16_MAX) {
    const auto from = std::find_if(
        unbound_.begin(), unbound_.end(), [&](const Submission& s) { return s.at == sequence; });
    if (from == unbound_.end()) return;
    bind(now, notice.job, *from);
    unbound_.erase(from);
    return;
  }
  Job* job = notice.job.is_none() ? nullptr : find(notice.job);
  if (job == nullptr) return;
  if (notice.kind == NoticeKind::Counted) counted(now, sequence, *job, notice);
  if (notice.kind == NoticeKind::PhaseChanged && is_final(notice.to))
    ended(now, sequence, *job, notice);
}

void JobCheck::counted(Instant now, Sequence sequence, Job& job, const Notice& notice) {
  std::vector<Count>& values = job.counts[static_cast<std::size_t>(notice.counter)];
  const std::uint32_t before = values.empty() ? 0 : values.back().value;
  const auto value = static_cast<std::uint32_t>(notice.count);
  const std::string name = job.spec->name + ": " + std::string(to_string(notice.counter));
  const bool by_one =
      notice.counter != Counter::NodesRelaunched && notice.counter != Counter::RoleRestarts;
  if (value < before || (by_one && value != before + 1))
    found_.add(ViolationKind::CounterLost,
               now,
               name + " went from " + std::to_string(before) + " to " + std::to_string(value));
  const bool twice = !values.empty() && values.back().at == sequence;
  values.push_back({sequence, value});
  if (notice.counter != Counter::Restarts) return;
  if (twice)
    found_.add(ViolationKind::ChargedTwice, now, name + " was counted twice for one report");
  charged(now, sequence, notice);
  if (job.anew.empty() && limits_never_reset(*job.spec) && notice.count > job.spec->backoff_limit)
    found_.add(ViolationKind::BackoffLimit,
               now,
               name + " is " + std::to_string(value) + ", the limit is " +
                   std::to_string(job.spec->backoff_limit));
}

// A report whose failures were all charged before charges nothing.
void JobCheck::charged(Instant now, Sequence sequence, const Notice& notice) {
  const auto failed = failures_.find(sequence);
  if (failed == failures_.end()) return;
  bool fresh = false;
  for (const ProcessName& name : failed->second)
    if (name.job == notice.job) fresh = charges_.emplace(name, sequence).second || fresh;
  if (!fresh && failed->second.front().job == notice.job)
    found_.add(ViolationKind::ChargedTwice,
               now,
               name_of(notice.job) + ": the failure of incarnation " +
                   std::to_string(failed->second.front().incarnation.value) +
                   " was charged before");
}

void JobCheck::ended(Instant now, Sequence sequence, Job& job, const Notice& notice) {
  job.final = sequence;
  const auto& restarts = job.counts[static_cast<std::size_t>(Counter::Restarts)];
  const auto used = restarts.empty() ? 0 : static_cast<std::int32_t>(restarts.back().value);
  if (notice.reason == Reason::BackoffLimitReached && job.anew.empty() &&
      limits_never_reset(*job.spec) && used != job.spec->backoff_limit)
    found_.add(ViolationKind::BackoffLimit,
               now,
               job.spec->name + " failed at its backoff limit of " +
                   std::to_string(job.spec->backoff_limit) + " after " + std::to_string(used) +
                   " restarts");
  const double tolerance = 1e-6 * std::max(1.0, job.work.units);
  // With the other triggers a worker that failed counts as one that has done its part.
  const bool all_needed =
      job.spec->failover->trigger == FailureTrigger::Now && !job.work.may_end_early;
  if (notice.to == JobPhase::Succeeded && all_needed && job.done < job.work.units - tolerance)
    found_.add(ViolationKind::WorkInvented,
               now,
               job.spec->name + " succeeded with " + std::to_string(job.done) + " of " +
                   std::to_string(job.work.units) + " units done");
}

void JobCheck::crashed(Sequence last) {
  bookings_.crashed(last);
  for (Job& job : jobs_) {
    if (job.spec == nullptr) continue;
    if (job.submitted > last) {
      job = Job{};
      continue;
    }
    for (std::vector<Count>& values : job.counts)
      while (!values.empty() && values.back().at > last) values.pop_back();
    if (job.final > last) job.final = Sequence{UINT64_MAX};
  }
  std::erase_if(charges_, [&](const auto& entry) { return entry.second > last; });
  std::erase_if(unbound_, [&](const Submission& s) { return s.at > last; });
  failures_.erase(failures_.upper_bound(last), failures_.end());
}

void JobCheck::released(Instant now, const Command& order) {
  if (const auto* start = std::get_if<StartWorkers>(&order.body)) {
    Job* job = find(start->job);
    bookings_.ordered(now, order, *start, job == nullptr ? nullptr : job->spec.get());
    if (job == nullptr) {
      found_.add(ViolationKind::JobVanished,
                 now,
                 "workers of job " + std::to_string(start->job.value) +
                     " were ordered, the journal has no such job");
      return;
    }
    if (order.sequence > job->final)
      found_.add(
          ViolationKind::BeyondBounds, now, job->spec->name + " was given workers after its end");
    if (start->workers.size() == start->world_size)
      check_membership(now, start->job, start->generation, start->workers);
  } else if (const auto* update = std::get_if<UpdateMembership>(&order.body)) {
    check_membership(now, update->job, update->generation, update->members);
  }
}

void JobCheck::check_membership(Instant now,
                                JobId id,
                                Generation generation,
                                const std::vector<WorkerStart>& members) {
  Job* job = find(id);
  if (job == nullptr || generation < job->generation) return;
  const bool next = generation > job->generation;
  job->generation = generation;
  const SharedList<RoleSpec>& roles = job->spec->roles;
  const std::string where =
      job->spec->name + ", generation " + std::to_string(generation.value) + ": ";
  std::vector<std::int32_t> counts(roles.size(), 0);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const WorkerStart& member = members[i];
    if (member.role.index() >= roles.size()) continue;
    const RoleSpec& role = roles[member.role.index()];
    ++counts[member.role.index()];
    // Before rules 4 a plan that named nodes could move the workers of a virtual cluster there.
    const bool was_moved = rules_ < 4 && member.devices == 0 && role.workers.is_set();
    if (std::popcount(member.devices) != role.bundle.devices && !was_moved)
      found_.add(ViolationKind::BeyondBounds,
                 now,
                 where + "a worker of " + role.name + " has " +
                     std::to_string(std::popcount(member.devices)) + " devices, " +
                     std::to_string(role.bundle.devices) + " are asked for");
    for (std::size_t k = 0; k < i; ++k)
      if ((members[k].role == member.role && members[k].local_rank == member.local_rank) ||
          members[k].rank == member.rank)
        found_.add(ViolationKind::BadMembership,
                   now,
                   where + "two workers have place " + role.name + "[" +
                       std::to_string(member.local_rank) + "] or one rank");
  }
  for (std::size_t r = 0; r < roles.size(); ++r) {
    // What runs when its bounds change goes on within those of before until it is resized.
    std::int32_t least = roles[r].min_replicas;
    std::int32_t most = roles[r].max_replicas;
    bool fixed = !roles[r].is_elastic();
    for (const std::shared_ptr<const JobSpec>& anew : job->anew) {
      if (r >= anew->roles.size()) continue;
      least = std::min(least, anew->roles[r].min_replicas);
      most = std::max(most, anew->roles[r].max_replicas);
      fixed = fixed || !anew->roles[r].is_elastic();
    }
    if (!job->spec->preemptible) least = 1;
    // The number of a fixed role is its user's; a sub-master is always one.
    const bool open = job->scaled && fixed && roles[r].master_of.is_none();
    if (counts[r] < (open ? 1 : least) || (counts[r] > most && !open))
      found_.add(ViolationKind::BeyondBounds,
                 now,
                 where + std::to_string(counts[r]) + " workers of " + roles[r].name + ", " +
                     std::to_string(least) + " to " + std::to_string(most) + " are allowed");
  }
  if (!next) return;
  std::vector<ProcessName> names;
  for (const WorkerStart& member : members) {
    names.push_back(
        {id, member.incarnation, member.birth_rank.is_none() ? member.rank : member.birth_rank});
    processes_.moved(now, names.back(), member.role, member.local_rank);
  }
  processes_.membership(now, id, names);
}

void JobCheck::worked(Instant now, JobId id, double done) {
  Job* job = find(id);
  if (job == nullptr || job->work.units <= 0) return;
  const double tolerance = 1e-6 * std::max(1.0, job->work.units);
  const double possible =
      job->done + job->work.rate_max * (now - job->as_of).in_seconds() + tolerance;
  if (done > possible || done > job->work.units + tolerance)
    found_.add(ViolationKind::WorkInvented,
               now,
               job->spec->name + " has done " + std::to_string(done) + " of " +
                   std::to_string(job->work.units) + " units, " + std::to_string(possible) +
                   " were possible by now");
  if (done < job->safe - tolerance)
    found_.add(ViolationKind::WorkForgotten,
               now,
               job->spec->name + " is back at " + std::to_string(done) +
                   " units, the journal has a checkpoint at " + std::to_string(job->safe));
  job->done = done;
  job->as_of = now;
}

void JobCheck::leader_has(Instant now, Sequence at, std::span<const JobCounts> jobs) {
  for (const JobCounts& counts : jobs) {
    if (find(counts.job) != nullptr) continue;
    const auto from = std::find_if(unbound_.begin(), unbound_.end(), [&](const Submission& s) {
      return s.spec->name == counts.name && s.at <= at;
    });
    if (from == unbound_.end()) continue;
    bind(now, counts.job, *from);
    unbound_.erase(from);
  }
  std::vector<const JobCounts*> by_id(jobs_.size(), nullptr);
  for (const JobCounts& counts : jobs)
    if (counts.job.index() < by_id.size()) by_id[counts.job.index()] = &counts;
  for (std::size_t id = 0; id < jobs_.size(); ++id) {
    Job& job = jobs_[id];
    if (job.spec == nullptr || job.submitted > at) continue;
    const JobCounts* has = by_id[id];
    if (has == nullptr) {
      if (job.final > at)
        found_.add(ViolationKind::JobVanished,
                   now,
                   job.spec->name + " was accepted by record " +
                       std::to_string(job.submitted.value) + ", the leader does not know it");
      continue;
    }
    for (std::size_t c = 0; c < job.counts.size() && !has->retired; ++c) {
      std::uint32_t told = 0;
      for (const Count& value : job.counts[c])
        if (value.at <= at) told = value.value;
      if (has->counters[c] < told)
        found_.add(ViolationKind::CounterLost,
                   now,
                   job.spec->name + ": " + EnumNames<Counter>::kNames[c] + " is " +
                       std::to_string(has->counters[c]) + ", the journal has told " +
                       std::to_string(told));
      if (has->counters[c] > told && (job.counts[c].empty() || job.counts[c].back().at <= at))
        job.counts[c].push_back({at, has->counters[c]});
    }
    if (has->final && job.final > at) job.final = at;
  }
}

}  // namespace orrery::sim
