#include "core/control/requests.hpp"

#include <algorithm>
#include <string>

#include "core/base/error_text.hpp"
#include "core/control/epoch_leap.hpp"
#include "core/control/job_changes.hpp"
#include "core/control/timers.hpp"
#include "core/job/phase.hpp"
#include "core/job/turns.hpp"
#include "core/membership/releasing.hpp"
#include "core/membership/seat_resolution.hpp"
#include "core/membership/seating.hpp"
#include "core/membership/sizes.hpp"
#include "core/membership/target.hpp"
#include "core/recovery/ending.hpp"
#include "core/recovery/recovery.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

constexpr std::int32_t kNodesMax = 1'048'576;  // Per group; as scenarios may have.

void answer(Step& step, std::uint64_t request, JobId job, bool accepted, std::string message) {
  step.out.orders.emplace_back(AnswerRequest{request, job, accepted, std::move(message)});
}

std::uint32_t quota_index(const State& state, std::string_view kind, std::string_view name) {
  for (std::size_t i = 0; i < state.quotas.size(); ++i) {
    const std::string& scope = state.quotas[i].quota.scope;
    if (scope.size() == kind.size() + name.size() && scope.starts_with(kind) &&
        scope.ends_with(name))
      return static_cast<std::uint32_t>(i);
  }
  return UINT32_MAX;
}

void fill_row(State& state, JobState& job) {
  JobRow& row = job.row;
  const JobSpec& spec = *job.spec;
  row.elastic = elastic_role(spec);
  row.preemptible = spec.preemptible;
  row.priority = spec.priority;
  row.demand = state.demand_of(spec.roles[row.elastic.index()].bundle);
  if (rides(spec, row.elastic)) row.demand.devices = 0;
  state.count_demand(job);
  row.estimate = spec.estimate;
  row.estimate_source = spec.estimate_source;
  row.attained_as_of = state.now;
  row.quota_namespace = quota_index(state, "namespace/", namespace_of(spec.name));
  if (!spec.group->empty()) row.quota_group = quota_index(state, "group/", *spec.group);
  set_bounds(job);
  judge_feasibility(state, job);
}

struct Bounds {
  std::int64_t low = 1;
  std::int64_t high = 0;
};

// What a scaling request may set for a role.
Bounds bounds_of(const JobSpec& spec, RoleIndex role, bool policy_sized) {
  const RoleSpec& r = spec.roles[role.index()];
  // A fixed number may be replaced by any other; an elastic one stays inside its bounds.
  if (!r.is_elastic() && !policy_sized) return {1, kReplicasMax};
  return {r.min_replicas, r.max_replicas};
}

// Why a role that is told where to sit cannot have so many replicas.
std::string unseated(const JobState& job, const RoleSpec& role, std::int64_t wanted) {
  const std::string begin = job.spec->name + ": role " + role.name + " would have " +
                            std::to_string(wanted) + " replicas, ";
  if (role.workers.is_set())
    return begin + "the workers of virtual cluster " + role.workers.virtual_cluster +
           " are as many as its bundles; submit a job with another virtual cluster";
  return begin + "it has placements for " + sizes_text(role) + "; ask for one of these";
}

// Targets after the request, or empty with `why` set: refused whole.
std::vector<std::int32_t> scaled_targets(const JobState& job,
                                         const ScaleRequested& event,
                                         bool adds_to_targets,
                                         std::string& why) {
  std::vector<std::int32_t> targets = *job.targets;
  targets.resize(job.role_count(), 0);
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (!event.role.is_none() && event.role != role) continue;
    const bool leads = !job.spec->roles[r].master_of.is_none();
    if (leads && event.role.is_none()) continue;
    if (event.mode == ScaleMode::Clear) {
      targets[r] = 0;
      continue;
    }
    const bool policy_sized =
        is_sized_by_policy(job, role) && (job.spec->roles[r].is_elastic() || !event.any_fixed_size);
    const std::int32_t now = policy_sized ? job.row.max_replicas : job.target(role);
    std::int32_t base = policy_sized && job.row.holds ? job.row.replicas : now;
    // More is more than was asked for already: the policy may not have come to it yet. Fewer is
    // fewer than there are.
    if (adds_to_targets && policy_sized && event.mode == ScaleMode::Add)
      base = std::max(base, targets[r]);
    const std::int64_t asked = event.replicas;
    const std::int64_t wanted = event.mode == ScaleMode::Set   ? asked
                                : event.mode == ScaleMode::Add ? base + asked
                                                               : base - asked;
    // A sub-master is one, whatever it leads.
    const Bounds bounds = leads ? Bounds{1, 1} : bounds_of(*job.spec, role, policy_sized);
    if (event.replicas < 1 || wanted < bounds.low || wanted > bounds.high) {
      why = job.spec->name + ": role " + job.spec->roles[r].name + " would have " +
            std::to_string(wanted) + " replicas, " + std::to_string(bounds.low) + " to " +
            std::to_string(bounds.high) + " are allowed; ask for a number in these bounds";
      return {};
    }
    if (job.spec->roles[r].workers.is_set() ||
        size_at_most(*job.spec, role, static_cast<std::int32_t>(wanted)) != wanted) {
      why = unseated(job, job.spec->roles[r], wanted);
      return {};
    }
    targets[r] = static_cast<std::int32_t>(wanted);
  }
  return targets;
}

std::string why_not_there(const JobState* job) {
  return job == nullptr ? "no such job" : job->spec->name + ": the job has ended";
}

// A preemptible job of a fixed size to which its user gives another one keeps to that.
void note_own_size(JobState& job) {
  const RoleSpec& role = job.spec->roles[job.row.elastic.index()];
  const std::size_t at = job.row.elastic.index();
  if (!job.row.preemptible || role.is_elastic() || at >= job.targets->size()) return;
  job.sized_by_user = job.sized_by_user || (*job.targets)[at] != 0;
}

// Bounds and targets have changed: a job that waits is judged anew, one that runs is brought there.
void take_new_size(Step& step, JobState& job, bool queued) {
  State& state = step.state;
  set_bounds(job);
  if (queued) {
    judge_feasibility(state, job);
    state.enqueue(job);
    set_phase(
        step, job, JobPhase::Pending, job.row.infeasible ? Reason::Infeasible : Reason::Submitted);
  } else {
    meet_target(step, job);
  }
  state.due.capacity = true;
}

// What a role is to have of a job that becomes `wanted`; 0: what its policy decides. A number that
// a user has set inside a range stays as far as the new range allows; a role that has what its file
// said has what the new one says. Before rules 4 a new file undid all that users had set.
std::int32_t target_after_change(const State& state,
                                 const JobState& job,
                                 const JobSpec& wanted,
                                 RoleIndex role) {
  const RoleSpec& from = job.spec->roles[role.index()];
  const RoleSpec& to = wanted.roles[role.index()];
  const bool keeps_numbers = state.settings.rules >= 4 && to.is_elastic();
  if (is_sized_by_policy(job, role) && to.is_elastic()) {
    const bool same_range =
        from.min_replicas == to.min_replicas && from.max_replicas == to.max_replicas;
    const bool was_set = role.index() < job.targets->size();
    return keeps_numbers && same_range && was_set ? (*job.targets)[role.index()] : 0;
  }
  const std::int32_t has = job.target(role);
  if (!keeps_numbers || has == from.min_replicas) return to.min_replicas;
  return std::max(to.min_replicas, size_at_most(wanted, role, std::min(has, to.max_replicas)));
}

// The specification of a job becomes another one, which differs only in what may change.
void take_specification(State& state, JobState& job, const std::shared_ptr<const JobSpec>& spec) {
  JobRow& row = job.row;
  const auto hold = [&](std::int32_t devices) {
    for (const std::uint32_t quota : {row.quota_group, row.quota_namespace})
      if (quota != UINT32_MAX) state.quotas[quota].held += devices;
  };
  hold(-row.devices_held);
  row.quota_group = spec->group->empty() ? UINT32_MAX : quota_index(state, "group/", *spec->group);
  hold(row.devices_held);
  const RoleSpec& before = job.spec->roles[row.elastic.index()];
  const RoleSpec& after = spec->roles[row.elastic.index()];
  const std::int32_t had = job.target(row.elastic);
  job.sized_by_user = row.preemptible && !after.is_elastic() &&
                      (job.sized_by_user || before.is_elastic() || had != after.min_replicas);
  // Written out, so that a change of membership under way looks at them once it is over.
  std::vector<std::int32_t> targets(job.role_count(), 0);
  for (std::size_t r = 0; r < targets.size(); ++r)
    targets[r] = target_after_change(state, job, *spec, RoleIndex{static_cast<std::uint16_t>(r)});
  job.targets.edit() = std::move(targets);
  job.spec = spec;
  row.priority = spec->priority;
  row.estimate = spec->estimate;
  row.estimate_source = spec->estimate_source;
}

// The deadlines of a phase that a job is in for long count from its begin, as ever.
void renew_deadline(Step& step, JobState& job) {
  if (step.state.settings.rules >= 3) {
    if (job.row.phase == JobPhase::Pending)
      step.state.set_timer(job, TimerKind::Wait, waits_until(job));
    return step.state.set_timer(job, TimerKind::Run, runs_until(job));
  }
  if (job.row.phase == JobPhase::Pending && job.row.holds)
    return look_again(step, job, job.timers.earliest());
  if (job.after_drain != AfterDrain::Nothing || job.draining > 0 || awaits_answer(job)) return;
  if (job.row.phase == JobPhase::Pending && !job.row.holds)
    step.state.set_timer(job, TimerKind::Wait, waits_until(job));
  if (job.row.phase == JobPhase::Running)
    step.state.set_timer(job, TimerKind::Run, runs_until(job));
}

bool are_ports(PortRange ports) {
  return ports.first >= 1 && ports.count >= 1 && ports.count <= kPortMax + 1 - ports.first;
}

// The loader refuses other groups; this guards against journals written by something else.
bool is_sound(const NodeGroup& group) {
  return group.count >= 1 && group.count <= kNodesMax && group.devices >= 0 &&
         group.devices <= 64 && group.spares >= 0 && group.spares <= group.count &&
         group.cpu.count >= 0 && group.memory.count >= 0 && are_ports(group.ports) &&
         (group.node_names.empty() ||
          group.node_names.size() == static_cast<std::size_t>(group.count));
}

// Names that a declaration gives although a node has them, or twice.
bool names_are_free(const State& state, const std::vector<NodeGroup>& groups) {
  std::vector<std::string_view> names;
  for (const NodeGroup& group : groups)
    for (const std::string& name : group.node_names) names.emplace_back(name);
  if (names.empty()) return true;
  std::sort(names.begin(), names.end());
  if (names.front().empty() || std::adjacent_find(names.begin(), names.end()) != names.end())
    return false;
  return std::none_of(state.nodes.begin(), state.nodes.end(), [&](const NodeState& node) {
    return !node.name.empty() &&
           std::binary_search(names.begin(), names.end(), std::string_view(node.name));
  });
}

// First numbers that the next declared group gives its racks and NVLink domains.
struct FirstNumbers {
  std::int32_t rack = 0;
  std::int32_t nvlink_domain = 0;
};

FirstNumbers next_numbers(const State& state) {
  FirstNumbers next;
  for (const NodeState& node : state.nodes) {
    next.rack = std::max(next.rack, node.rack + 1);
    next.nvlink_domain = std::max(next.nvlink_domain, node.nvlink_domain + 1);
  }
  return next;
}

// What a job of this specification would find, before it is one.
Seating judge_seats(const State& state, std::shared_ptr<const JobSpec> spec, std::string& why) {
  JobState job;
  job.spec = std::move(spec);
  return resolve_seats(state, job, why);
}

// Why no job of this specification can be where its roles are to sit; empty: it can, or could on
// more nodes. The specification is sound.
std::string misplaced(const State& state, const std::shared_ptr<const JobSpec>& spec) {
  std::string why;
  if (!is_seated(*spec) || judge_seats(state, spec, why) != Seating::Wrong) return {};
  return spec->name + ":\n" + why;
}

void refuse_bad_spec(Step& step, const JobSubmitted& event, const Errors& errors) {
  ignore(step,
         nullptr,
         Ignored::BadSpecification,
         EventKinds(std::in_place_type<JobSubmitted>).index());
  answer(step, event.request, JobId::none(), false, text_of(errors));
}

// Whether what is wrong with a specification is told at once. DI-orchestrator accepts manifests of
// its tasks form and fails them at run time; so do we for its family.
bool is_refused(const JobSpec& spec, const Errors& errors) {
  return !errors.empty() && (spec.family == JobFamily::Native || spec.roles.empty());
}

// DLRover's rule, for those who ask for it: only a stage in which the job ran is recovered from.
void stop_strict_jobs(Step& step) {
  std::vector<JobId> stopped;
  step.state.for_each_job([&](const JobState& job) {
    const JobPhase phase = job.row.phase;
    if (job.spec->failover->mode == RecoveryMode::Strict && !is_final(phase) &&
        phase != JobPhase::Running && phase != JobPhase::Unknown)
      stopped.push_back(job.row.id);
  });
  for (const JobId id : stopped)
    finish(step, step.state.job(id), JobPhase::Failed, Reason::RecoveryRefused);
}

// A leader that leaps over epochs knows that records behind it have gone, and that nodes have heard
// of them. What they remember of jobs and starts must never be taken for what
// begins now under the same number.
void leave_numbers_out(Step& step) {
  constexpr std::uint32_t kNumbers = 1 << 16;
  step.state.skip_jobs(kNumbers);
  step.state.for_each_job([](JobState& job) { job.incarnation.value += kNumbers; });
}

}  // namespace

void on_event(Step& step, const EpochStarted& event) {
  State& state = step.state;
  const bool takeover = state.epoch.value > 0;
  const bool leaps = takeover && event.epoch >= Epoch{state.epoch.value + kEpochLeap};
  if (event.epoch <= state.epoch)
    return ignore(step,
                  nullptr,
                  Ignored::StaleGeneration,
                  EventKinds(std::in_place_type<EpochStarted>).index());
  state.epoch = event.epoch;
  state.lost_plans = {};
  const bool splits_timers = state.settings.rules < 3 && event.settings.rules >= 3;
  state.settings = event.settings;
  state.ledger.count_parts(state.settings.rules >= 1);
  if (!takeover) return;
  if (leaps) leave_numbers_out(step);
  if (splits_timers) state.for_each_job([&](JobState& job) { split_timers(step, job); });
  stop_strict_jobs(step);
  // Nothing is known of workers until their nodes have given complete lists under this epoch.
  const std::vector<JobId> holding = state.holding();
  // By then a node that is not heard is silent: that is one loss, and not two.
  const Instant known = step.at + state.settings.takeover_grace + state.settings.node_lease +
                        state.settings.fence_margin;
  for (const JobId id : holding) {
    JobState& job = state.job(id);
    // Every deadline that counts on hearing from nodes starts over.
    const TimerKind contact = state.settings.rules >= 3 ? TimerKind::Contact : TimerKind::Sole;
    if (job.row.phase == JobPhase::Unknown)
      state.set_timer(job, contact, std::max(job.timers.at(contact), known));
    repeat_questions(step, job);
    if (job.row.phase != JobPhase::Starting && job.row.phase != JobPhase::Running) continue;
    set_phase(step, job, JobPhase::Unknown, Reason::ContactLost);
    state.set_timer(job, TimerKind::Contact, known);
  }
}

void on_event(Step& step, const NodesDeclared& event) {
  State& state = step.state;
  if (!std::all_of(event.groups.begin(), event.groups.end(), is_sound))
    return ignore(step,
                  nullptr,
                  Ignored::BadSpecification,
                  EventKinds(std::in_place_type<NodesDeclared>).index());
  if (!names_are_free(state, event.groups))
    return ignore(step,
                  nullptr,
                  Ignored::AlreadyKnown,
                  EventKinds(std::in_place_type<NodesDeclared>).index());
  for (const NodeGroup& group : event.groups) {
    const FirstNumbers first = next_numbers(state);
    const DeviceModelId model =
        group.devices > 0 ? state.intern_model(group.device_model) : DeviceModelId::none();
    for (std::int32_t i = 0; i < group.count; ++i) {
      const NodeId id = state.ledger.add_node(group, model);
      NodeState& node = state.nodes.emplace_back();
      node.group = group.name;
      node.heard = state.epoch;
      if (!group.node_names.empty()) node.name = group.node_names[static_cast<std::size_t>(i)];
      if (group.nodes_per_rack > 0) node.rack = first.rack + i / group.nodes_per_rack;
      // Without a declaration each node is a domain of its own.
      node.nvlink_domain = first.nvlink_domain + i / std::max(1, group.nodes_per_nvlink_domain);
      state.ledger.set_site(id, node.rack, node.nvlink_domain);
      node.spare = i >= group.count - group.spares;
      state.has_spares = state.has_spares || node.spare;
      if (node.spare) state.ledger.set_usable(id, false);
    }
  }
  state.declared.insert(state.declared.end(), event.groups.begin(), event.groups.end());
  state.for_each_job([&](JobState& job) {
    if (!job.row.infeasible || is_final(job.row.phase)) return;
    judge_feasibility(state, job);
    if (job.row.infeasible) return;
    state.enqueue(job);
    set_phase(step, job, JobPhase::Pending, Reason::Submitted);
  });
  state.due.capacity = true;
}

void on_event(Step& step, const QuotasDeclared& event) {
  State& state = step.state;
  state.quotas.clear();
  for (const Quota& quota : event.quotas) state.quotas.push_back({quota, 0});
  state.for_each_job([&](JobState& job) {
    JobRow& row = job.row;
    row.quota_namespace = quota_index(state, "namespace/", namespace_of(job.spec->name));
    row.quota_group =
        job.spec->group->empty() ? UINT32_MAX : quota_index(state, "group/", *job.spec->group);
    for (const std::uint32_t quota : {row.quota_group, row.quota_namespace})
      if (quota != UINT32_MAX) state.quotas[quota].held += row.devices_held;
  });
  state.due.capacity = true;
}

void on_event(Step& step, const JobSubmitted& event) {
  State& state = step.state;
  const Errors errors = check_spec(*event.spec);
  if (is_refused(*event.spec, errors)) return refuse_bad_spec(step, event, errors);
  const JobId asked = state.submitted_by(event.request, event.spec->name);
  if (!asked.is_none()) {
    // The client has not heard the answer: here it is again.
    ignore(step,
           state.find(asked),
           Ignored::AlreadyKnown,
           EventKinds(std::in_place_type<JobSubmitted>).index());
    return answer(step, event.request, asked, true, {});
  }
  const JobId old = state.named(event.spec->name);
  if (!old.is_none() && !is_final(state.job(old).row.phase)) {
    ignore(step,
           &state.job(old),
           Ignored::AlreadyKnown,
           EventKinds(std::in_place_type<JobSubmitted>).index());
    return answer(
        step,
        event.request,
        JobId::none(),
        false,
        event.spec->name + ": a live job has this name, names are unique; choose another or wait");
  }
  if (std::string why = errors.empty() ? misplaced(state, event.spec) : ""; !why.empty()) {
    ignore(step,
           nullptr,
           Ignored::BadSpecification,
           EventKinds(std::in_place_type<JobSubmitted>).index());
    return answer(step, event.request, JobId::none(), false, std::move(why));
  }
  JobState& job = state.add_job(event.spec);
  ++state.totals.submitted;
  job.request = event.request;
  if (!event.user.empty()) job.user = event.user;
  job.row.submitted = state.now;
  answer(step, event.request, job.row.id, true, {});
  set_phase(step, job, JobPhase::Pending, Reason::Submitted);
  if (!errors.empty()) {
    job.row.attained_as_of = state.now;
    return finish(step, job, JobPhase::Failed, Reason::InvalidSpec);
  }
  fill_row(state, job);
  state.enqueue(job);
  state.touch(job.row.id);
  if (job.row.infeasible) {
    set_phase(step, job, JobPhase::Pending, Reason::Infeasible);
  } else {
    state.due.submissions.push_back(job.row.id);
  }
}

std::string why_refused(const State& state, const std::shared_ptr<const JobSpec>& spec) {
  const Errors errors = check_spec(*spec);
  if (is_refused(*spec, errors)) return text_of(errors);
  return errors.empty() ? misplaced(state, spec) : "";
}

void on_event(Step& step, const ScaleRequested& event) {
  constexpr std::size_t kKind = 4;
  State& state = step.state;
  JobState* job = state.find(event.job);
  if (job == nullptr || is_final(job->row.phase)) {
    ignore(step, job, job == nullptr ? Ignored::UnknownJob : Ignored::JobFinished, kKind);
    return answer(step, event.request, event.job, false, why_not_there(job));
  }
  std::string why;
  if (!event.role.is_none() && event.role.index() >= job->role_count())
    why = job->spec->name + ": no role " + std::to_string(event.role.value);
  std::vector<std::int32_t> targets;
  if (why.empty()) targets = scaled_targets(*job, event, state.settings.rules >= 1, why);
  if (!why.empty()) {
    ignore(step, job, Ignored::OutOfBounds, kKind);
    return answer(step, event.request, event.job, false, why);
  }
  const bool queued = job->row.phase == JobPhase::Pending && !job->row.holds;
  if (queued) state.dequeue(*job);
  job->targets.edit() = std::move(targets);
  if (event.any_fixed_size) note_own_size(*job);
  state.touch(event.job);
  answer(step, event.request, event.job, true, {});
  take_new_size(step, *job, queued);
}

void on_event(Step& step, const JobChanged& event) {
  const std::size_t kind = EventKinds(std::in_place_type<JobChanged>).index();
  State& state = step.state;
  JobState* job = state.find(event.job);
  if (job == nullptr || is_final(job->row.phase)) {
    ignore(step, job, job == nullptr ? Ignored::UnknownJob : Ignored::JobFinished, kind);
    return answer(step, event.request, event.job, false, why_not_there(job));
  }
  const std::string why = why_not_changed(state, *job, *event.spec);
  if (!why.empty()) {
    ignore(step, job, Ignored::BadSpecification, kind);
    return answer(step, event.request, event.job, false, why);
  }
  const bool queued = job->row.phase == JobPhase::Pending && !job->row.holds;
  if (queued) state.dequeue(*job);
  take_specification(state, *job, event.spec);
  state.touched_all = true;  // Policies keep jobs by their priority.
  answer(step, event.request, event.job, true, {});
  renew_deadline(step, *job);
  take_new_size(step, *job, queued);
}

void on_event(Step& step, const DeleteRequested& event) {
  JobState* job = step.state.find(event.job);
  if (job == nullptr) {
    ignore(step,
           nullptr,
           Ignored::UnknownJob,
           EventKinds(std::in_place_type<DeleteRequested>).index());
    return answer(step, event.request, event.job, false, "no such job");
  }
  answer(step, event.request, event.job, true, {});
  if (std::exchange(job->deleted, true)) return;
  if (!is_final(job->row.phase)) return finish(step, *job, JobPhase::Failed, Reason::StoppedByUser);
  if (job->retained) return step.state.retain(*job);
  stop_remaining(step, *job);
}

void on_event(Step& step, const StopRequested& event) {
  constexpr std::size_t kKind = 5;
  JobState* job = step.state.find(event.job);
  if (job == nullptr || is_final(job->row.phase)) {
    ignore(step, job, job == nullptr ? Ignored::UnknownJob : Ignored::JobFinished, kKind);
    return answer(step, event.request, event.job, false, why_not_there(job));
  }
  answer(step, event.request, event.job, true, {});
  finish(step, *job, JobPhase::Failed, Reason::StoppedByUser);
}

}  // namespace orrery
