#include "core/recovery/sub_master.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/invariant.hpp"
#include "core/membership/advancing.hpp"
#include "core/membership/forming.hpp"
#include "core/membership/releasing.hpp"
#include "core/recovery/ending.hpp"
#include "core/recovery/recovery.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

constexpr std::size_t kKind = EventKinds(std::in_place_type<SubMasterSaid>).index();

// The worker that leads `role`. A sub-master is always one, and a job whose recovery is led has all
// its workers.
Worker& master_of(JobState& job, RoleIndex role) {
  const auto leads = [&](const Worker& worker) {
    return job.spec->roles[worker.role.index()].master_of == role;
  };
  const auto found = std::find_if(job.workers.begin(), job.workers.end(), leads);
  invariant(found != job.workers.end(), "a recovery is led by a worker of the job");
  return *found;
}

// Where all are up, the word alone is awaited.
void await_word(Step& step, JobState& job) {
  step.state.set_timer(job, TimerKind::Answer, step.at + job.spec->failover->sub_master_timeout);
  if (job.row.phase == JobPhase::Starting) step.state.clear_timer(job, TimerKind::Start);
}

void tell(Step& step, JobState& job, const Worker& master, SubMasterOrder word) {
  job.failover.edit().told = master.incarnation;
  step.out.orders.emplace_back(TellSubMaster{job.row.id,
                                             job.failover->led_role,
                                             master.role,
                                             master.node,
                                             master.incarnation,
                                             job.failover->open.number,
                                             word});
  await_word(step, job);
}

}  // namespace

void restart_sub_master(Step& step, JobState& job) {
  step.state.clear_timer(job, TimerKind::Answer);
  const Worker& master = master_of(job, job.failover->led_role);
  const bool failed = master.state == WorkerState::Failed;
  if (failed && !charge_master(step, job, master)) return;
  MembershipChange change;
  change.keep.assign(job.workers.size(), 1);
  change.replace.assign(job.workers.size(), 0);
  const auto rank = static_cast<std::size_t>(&master - job.workers.data());
  std::vector<std::int32_t> missing(job.role_count(), 0);
  if (!master.lease.is_none() && step.state.ledger.node(master.node).usable) {
    change.replace[rank] = 1;
  } else {
    change.keep[rank] = 0;
    missing[master.role.index()] = 1;
  }
  if (job.row.phase != JobPhase::Restarting)
    set_phase(step, job, JobPhase::Restarting, job.failover->open.cause);
  release_dropped(step, job, change);
  if (!place_missing(step, job, missing, present_after(change), change.added))
    return give_all_back(step, job, job.change_reason);
  form_next(step, job, change);
}

void begin_led_recovery(Step& step, JobState& job, RoleIndex role, Reason reason) {
  job.failover.edit().led = LedRecovery::Asked;
  job.failover.edit().led_role = role;
  job.failover.edit().told = Incarnation{};
  job.change_reason = reason;
  set_phase(step, job, JobPhase::Restarting, reason);
  step.state.set_timer(job, TimerKind::Answer, step.at + job.spec->failover->sub_master_timeout);
  settle_led_recovery(step, job);
}

bool settle_led_recovery(Step& step, JobState& job) {
  JobFailover& failover = job.failover.edit();
  const Worker& master = master_of(job, failover.led_role);
  if (master.is_gone()) {
    restart_sub_master(step, job);
    return true;
  }
  const bool knows = failover.told == master.incarnation;
  if (failover.led == LedRecovery::Asked) {
    if (master.state == WorkerState::Ready) {
      if (job.row.phase == JobPhase::Starting) {
        set_phase(step, job, JobPhase::Restarting, failover.open.cause);
        if (knows && step.state.settings.rules >= 1) await_word(step, job);
      }
      if (!knows) tell(step, job, master, SubMasterOrder::Recover);
    }
    return true;
  }
  if (failover.led == LedRecovery::Restarted && master.state == WorkerState::Ready) {
    if (!knows)
      tell(step, job, master, SubMasterOrder::Restarted);
    else if (step.state.settings.rules >= 3 && !job.timers.is_set(TimerKind::Answer))
      await_word(step, job);  // It was out of contact meanwhile.
  }
  return false;
}

void all_are_up(Step& step, JobState& job, Reason reason) {
  if (job.failover->led == LedRecovery::None) return become_running(step, job, reason);
  if (job.failover->led == LedRecovery::Restarting) {
    job.failover.edit().led = LedRecovery::Restarted;
    job.failover.edit().told = Incarnation{};
  }
  settle_led_recovery(step, job);
}

void give_up_sub_master(Step& step, JobState& job) {
  JobFailover& failover = job.failover.edit();
  if (!charge_master(step, job, master_of(job, failover.led_role))) return;
  failover.told = Incarnation{};
  if (failover.led == LedRecovery::Restarted) return restart_sub_master(step, job);
  // The role's workers, all that failed, and the sub-master itself, which does not answer.
  RankFlags failed(job.workers.size(), 0);
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    const Worker& worker = job.workers[i];
    failed[i] = worker.state == WorkerState::Failed || worker.state == WorkerState::Lost ||
                worker.role == failover.led_role ||
                job.spec->roles[worker.role.index()].master_of == failover.led_role;
  }
  failover.led = LedRecovery::Restarting;
  recover(step, job, std::move(failed), Reason::SubMasterLate, RecoveryScope::Role);
}

JobState* hear_sub_master(Step& step, const SubMasterSaid& event) {
  const auto stale = [&](const JobState* job, Ignored why) -> JobState* {
    ignore(step, job, why, kKind);
    return nullptr;
  };
  JobState* job = step.state.find(event.job);
  if (job == nullptr) return stale(nullptr, Ignored::UnknownJob);
  if (is_final(job->row.phase)) return stale(job, Ignored::JobFinished);
  JobFailover& failover = job->failover.edit();
  if (failover.led == LedRecovery::None || failover.led_role != event.role ||
      failover.open.number != event.incident)
    return stale(job, Ignored::StaleIncident);
  const Worker& master = master_of(*job, event.role);
  if (master.incarnation != event.incarnation || !master.is_alive())
    return stale(job, Ignored::StaleIncarnation);
  const bool asked = failover.led == LedRecovery::Asked && awaits_answer(*job);
  if (event.word == SubMasterMessage::AskState && asked) {
    tell(step, *job, master, SubMasterOrder::State);
  } else if (event.word == SubMasterMessage::AskRestart && asked) {
    failover.led = LedRecovery::Restarting;
    resume_recovery(step, *job, failover.open.cause, RecoveryScope::Role);
  } else if (event.word == SubMasterMessage::Done && failover.led == LedRecovery::Restarted &&
             job->row.phase == JobPhase::Starting && job->after_drain == AfterDrain::Nothing) {
    failover.led = LedRecovery::None;
    step.state.clear_timer(*job, TimerKind::Answer);
    // Some may be starting anew, lost since its role was up: from now on they have the time of a
    // start. Only the word was awaited so far.
    if (step.state.settings.rules >= 4 && !job->timers.is_set(TimerKind::Start))
      step.state.set_timer(*job, TimerKind::Start, step.at + job->spec->start_deadline);
    return job;
  } else {
    return stale(job, Ignored::NotInThisPhase);
  }
  return nullptr;
}

}  // namespace orrery
