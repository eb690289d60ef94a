#include "core/control/controller.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/control/allocator.hpp"
#include "core/control/nodes.hpp"
#include "core/control/reports.hpp"
#include "core/control/requests.hpp"
#include "core/control/settle.hpp"
#include "core/control/timers.hpp"
#include "core/membership/advancing.hpp"
#include "core/membership/releasing.hpp"
#include "core/membership/target.hpp"
#include "core/record/event_jobs.hpp"
#include "core/recovery/ending.hpp"
#include "core/recovery/failure_notes.hpp"
#include "core/recovery/node_health.hpp"
#include "core/recovery/recovery.hpp"
#include "core/recovery/sub_master.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

// A list longer than this is not worth reading: the policy looks at everything instead.
constexpr std::size_t kTouchedMax = 1 << 20;

// Deadlines of the state that are due at `at`, in order; then the policy's cycle.
void on_event(Step& step, const TimeReached&) {
  State& state = step.state;
  for (auto due = state.take_due_timer(); !due.job.is_none(); due = state.take_due_timer())
    timer_reached(step, due);
  if (state.node_timer() <= step.at) node_timer_reached(step);
  if (state.next_cycle() > step.at) return;
  state.last_cycle = step.at;
  state.due.period = true;
}

}  // namespace

void Controller::step(const Event& event, Commands& out) {
  invariant(event.at >= state_.now, "observed time never steps back");
  state_.now = event.at;
  state_.sequence = state_.sequence.next();
  for_each_job_of(event, [&](JobId job) { state_.expect_leases(job); });
  state_.retire_old();
  Step step{state_, out, event.at, event.occurred_at};
  // What is due is not part of the state's fold (asking clears it), so this step looks only at
  // what it brought about itself.
  PlansDue& due = state_.due;
  const bool completion_before = std::exchange(due.completion, false);
  const bool capacity_before = std::exchange(due.capacity, false);
  std::visit([&](const auto& body) { on_event(step, body); }, event.body);
  settle_woken(step);
  // Room that came free goes first to jobs below what their users asked for.
  if ((due.completion || due.capacity) && !state_.wants_more.empty()) {
    const std::vector<JobId> wanting = state_.wants_more;
    for (const JobId id : wanting) meet_target(step, state_.job(id));
    settle_woken(step);
  }
  return_spares(step);
  due.completion = due.completion || completion_before;
  due.capacity = due.capacity || capacity_before;
  // A worker that stops gives its devices up at once and its ports when it is gone: a plan between
  // the two was in vain. Asked for after the fold, which it must not change.
  if (std::exchange(due.ports_given, false) && std::exchange(due.ports_wanted, false))
    due.capacity = true;
  if (std::exchange(state_.touched_all, false) || state_.touched.size() > kTouchedMax) {
    state_.touched.clear();
    touched_complete_ = false;
  }
}

void Controller::expect(const Event& event) const {
  if (const auto* submitted = std::get_if<JobSubmitted>(&event.body))
    state_.expect_name(submitted->spec->name);
  for_each_job_of(event, [&](JobId job) { state_.expect(job); });
}

void Controller::expect_parts(const Event& event) const {
  for_each_job_of(event, [&](JobId job) { state_.expect_parts(job); });
}

Instant Controller::next_deadline() { return std::min(state_.next_timer(), state_.next_cycle()); }

bool Controller::only_cycles_left() { return state_.next_timer().is_never(); }

// Whether `optimize` could change anything: somebody waits, or a job that may be resized holds.
bool Controller::worth_optimizing() const {
  return !state_.waiting.empty() || state_.preemptible_holding > 0;
}

std::optional<PlanRequest> Controller::take_plan_request() {
  PlansDue& due = state_.due;
  const Settings& settings = state_.settings;
  while (!due.submissions.empty()) {
    const JobId id = due.submissions.front();
    due.submissions.pop_front();
    const JobState* job = state_.find(id);
    if (job == nullptr || job->row.phase != JobPhase::Pending || job->row.holds) continue;
    if (settings.plan_on_submission) due.capacity = true;
    return PlanRequest{state_.sequence, PlanTrigger::Submission, id};
  }
  const bool completion = std::exchange(due.completion, false) && settings.plan_on_completion;
  const bool capacity = std::exchange(due.capacity, false) && settings.plan_on_capacity;
  const bool period = std::exchange(due.period, false);
  const bool again = std::exchange(due.again, false);
  if ((!completion && !capacity && !period && !again) || !worth_optimizing()) return std::nullopt;
  const PlanTrigger trigger = period                    ? PlanTrigger::Period
                              : completion && !capacity ? PlanTrigger::Completion
                                                        : PlanTrigger::Capacity;
  return PlanRequest{state_.sequence, trigger, JobId::none()};
}

Touched Controller::take_touched() {
  return {std::exchange(state_.touched, {}), std::exchange(touched_complete_, true)};
}

bool Controller::load(ByteReader& in, std::uint16_t version) {
  touched_complete_ = false;
  return state_.load(in, version);
}

void Controller::resume() {
  state_.due = PlansDue{};
  state_.due.capacity = true;
  touched_complete_ = false;
}

}  // namespace orrery
