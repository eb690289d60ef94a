#include "core/control/timers.hpp"

#include <algorithm>
#include <array>

#include "core/control/reports.hpp"
#include "core/job/phase.hpp"
#include "core/membership/advancing.hpp"
#include "core/membership/releasing.hpp"
#include "core/recovery/ending.hpp"
#include "core/recovery/recovery.hpp"
#include "core/recovery/stuck.hpp"
#include "core/recovery/sub_master.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

bool awaits_sub_master(const JobState& job) {
  return job.row.phase == JobPhase::Starting &&
         (job.failover->led == LedRecovery::Asked || job.failover->led == LedRecovery::Restarted);
}

void start_reached(Step& step, JobState& job) {
  if (awaits_sub_master(job))
    give_up_sub_master(step, job);
  else
    fail_start(step, job);
}

void answer_reached(Step& step, JobState& job) {
  if (awaits_answer(job))
    give_up_answer(step, job);
  else if (awaits_sub_master(job))
    give_up_sub_master(step, job);
}

void wait_reached(Step& step, JobState& job) {
  finish(step, job, JobPhase::Failed, Reason::WaitDeadline);
}

void run_reached(Step& step, JobState& job) {
  finish(step, job, JobPhase::Failed, Reason::RunDeadline);
}

void go_on(Step& step, JobState& job) {
  leave_unusable_nodes(step, job);
  advance(step, job);
}

// Rules before 3: the one timer that the job has in its phase.
void sole_reached(Step& step, JobState& job) {
  const JobPhase phase = job.row.phase;
  const bool changing = job.after_drain != AfterDrain::Nothing;
  if (phase == JobPhase::Unknown)
    give_up_unknown(step, job);
  else if (job.draining > 0)
    kill_late(step, job);
  else if (awaits_answer(job))
    give_up_answer(step, job);
  else if (phase == JobPhase::Starting && !changing)
    start_reached(step, job);
  else if (phase == JobPhase::Running && !changing)
    run_reached(step, job);
  else if (phase == JobPhase::Pending && step.at >= waits_until(job))
    wait_reached(step, job);
  else
    advance(step, job);
}

using Act = void (*)(Step&, JobState&, Instant due);

template <void (*act)(Step&, JobState&)>
void plain(Step& step, JobState& job, Instant) {
  act(step, job);
}

// In the order of the kinds.
constexpr auto kActs = std::to_array<Act>({
    plain<sole_reached>,     // Sole
    plain<wait_reached>,     // Wait
    plain<start_reached>,    // Start
    plain<fail_change>,      // Change
    plain<run_reached>,      // Run
    plain<kill_late>,        // Drain
    give_up_stuck,           // Kill
    plain<go_on>,            // Backoff
    plain<go_on>,            // Lists
    plain<answer_reached>,   // Answer
    plain<give_up_unknown>,  // Contact
});
static_assert(kActs.size() == kTimerKinds, "one for each kind");

// What the sole timer of the job in its phase is for.
TimerKind kind_of_sole(const JobState& job) {
  const JobPhase phase = job.row.phase;
  if (phase == JobPhase::Unknown) return TimerKind::Contact;
  if (job.draining > 0) return TimerKind::Drain;
  if (awaits_answer(job) || awaits_sub_master(job)) return TimerKind::Answer;
  if (phase == JobPhase::Starting) return TimerKind::Start;
  if (phase == JobPhase::Running) return TimerKind::Run;
  return job.after_drain == AfterDrain::Nothing ? TimerKind::Wait : TimerKind::Lists;
}

}  // namespace

void timer_reached(Step& step, const State::DueTimer& due) {
  kActs[static_cast<std::size_t>(due.kind)](step, step.state.job(due.job), due.at);
}

void split_timers(Step& step, JobState& job) {
  State& state = step.state;
  const Instant sole = job.timers.at(TimerKind::Sole);
  state.arm_timers(job);
  state.set_timer(job, TimerKind::Sole, Instant::never());
  if (is_final(job.row.phase) || job.timers.at(TimerKind::Backoff) <= step.at)
    state.clear_timer(job, TimerKind::Backoff);
  if (!sole.is_never()) state.set_timer(job, kind_of_sole(job), sole);
  if (job.draining > 0 && !job.timers.is_set(TimerKind::Drain))
    state.set_timer(job, TimerKind::Drain, step.at + state.settings.node_lease);
  if (is_final(job.row.phase)) return;
  if (job.row.phase == JobPhase::Pending) state.set_timer(job, TimerKind::Wait, waits_until(job));
  state.set_timer(job, TimerKind::Run, runs_until(job));
  if (job.spec->failover->mode == RecoveryMode::Strict)
    state.set_timer(job, TimerKind::Start, job.failover->start_by);
  // What waits for places gets an end.
  if (job.after_drain != AfterDrain::Nothing) step.woken.push_back(job.row.id);
}

}  // namespace orrery
