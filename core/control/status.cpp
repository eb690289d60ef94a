#include "core/control/status.hpp"

#include <algorithm>

#include "core/base/amount_text.hpp"
#include "core/control/capacity_reasons.hpp"
#include "core/control/queue_standings.hpp"
#include "core/control/seat_reasons.hpp"
#include "core/control/user_events.hpp"
#include "core/job/phase.hpp"
#include "core/job/turns.hpp"
#include "core/membership/seating.hpp"
#include "core/membership/target.hpp"
#include "core/recovery/failure_notes.hpp"
#include "core/recovery/recovery.hpp"

namespace orrery {
namespace {

// "policy fit/1 gave no plan, 3 times in a row: it did not answer in time: after 30 s; it is asked
// again".
std::string lost_plans_message(const State& state) {
  const LostPlans& lost = state.lost_plans;
  return "policy " + state.settings.policy + " gave no plan" +
         (lost.count > 1 ? ", " + std::to_string(lost.count) + " times in a row" : "") + ": " +
         std::string(in_words(lost.loss)) + (lost.detail.empty() ? "" : ": " + lost.detail) +
         "; it is asked again";
}

// What comes before that which a job waits for.
std::string before_waiting(const JobState& job) {
  if (job.reason == Reason::Preempted) return "preempted; ";
  if (job.reason == Reason::NotAdmitted) return std::string(in_words(job.reason)) + "; ";
  return "";
}

// "its quota is used up: group/research may hold 16 devices and holds 14"; empty where no quota
// binds.
std::string why_its_quota(const State& state, const JobState& job) {
  const std::int32_t devices = job.row.gang_devices();
  if (const std::string never = why_never_in_quota(state, job, devices); !never.empty())
    return "more than its quota ever allows: " + never;
  const std::string used = why_over_quota(state, job, devices);
  return used.empty() ? used : "its quota is used up: " + used;
}

std::string why_its_queue(const State& state, const JobState& job, const QueueStandings* queues) {
  if (state.settings.queues.empty()) return {};
  return queues != nullptr ? queues->why_waiting(job) : QueueStandings(state).why_waiting(job);
}

std::string waiting_message(const State& state, const JobState& job, const QueueStandings* queues) {
  const JobRow& row = job.row;
  if (is_seated(*job.spec) && (row.infeasible || state.quota_allows(job, row.gang_devices()))) {
    const std::string why = why_not_seated(state, job);
    if (!why.empty()) return before_waiting(job) + why;
  }
  std::string text;
  if (const std::string quota = why_its_quota(state, job); !quota.empty() && !row.infeasible) {
    text = "needs " + counted(row.gang_devices(), "device") + " at once, " + quota;
  } else if (const std::string queue = why_its_queue(state, job, queues); !queue.empty()) {
    text = "needs " + counted(row.gang_devices(), "device") + " at once: " + queue;
  } else {
    text = why_no_room(state, job);
    if (text.empty() && !row.infeasible && !is_seated(*job.spec)) text = why_no_ports(state, job);
  }
  if (text.empty() && row.infeasible)
    text = "its roles find no room side by side on the declared nodes";
  if (text.empty())
    text = "there is room for it; " +
           (state.lost_plans.count > 0
                ? lost_plans_message(state)
                : "it waits for its turn under policy " + state.settings.policy);
  return before_waiting(job) + text;
}

// "1 failure of one worker", "3 failures of one worker".
std::string counted_by(Limit limit, std::uint32_t count) {
  const auto of = [&](std::string_view one, std::string_view more, std::string_view whose) {
    return std::to_string(count) + std::string(count == 1 ? one : more) + std::string(whose);
  };
  switch (limit) {
    case Limit::None:
      return std::to_string(count);
    case Limit::Backoff:
      return of(" failure", " failures", "");
    case Limit::WorkerFailures:
      return of(" failure", " failures", " of one worker");
    case Limit::RoleRestarts:
      return of(" restart", " restarts", " of one role");
    case Limit::JobRestarts:
      return of(" restart", " restarts", " of the job");
    case Limit::NodeLosses:
      return of(" loss", " losses", " of nodes or devices");
    case Limit::Preemptions:
      return of(" preemption", " preemptions", "");
    case Limit::NodesRelaunched:
      return of(" node", " nodes", " to relaunch");
  }
  return "";
}

std::string name_of(const State& state, NodeId node) {
  const std::string& name = state.nodes[node.index()].name;
  return name.empty() ? "node " + std::to_string(node.value) : "node " + name;
}

// Whose failure passed the limit, where no note of it is kept: "; the last was of learner/0 on node
// n3".
std::string last_of(const State& state, const JobState& job) {
  const JobFailover& failover = *job.failover;
  const bool known = !failover.limit_node.is_none();
  const std::string node = known ? name_of(state, failover.limit_node) : "";
  if (failover.limit_role.is_none()) return known ? "; the last was of " + node : "";
  return "; the last was of " + job.spec->roles[failover.limit_role.index()].name + "/" +
         std::to_string(failover.limit_rank) + (known ? " on " + node : "");
}

// What failed last, behind what it led to: "; the last: main 0 on node-1 ended with exit code 7".
std::string last_failure(const State& state, const JobState& job, std::string_view before) {
  if (job.failures->empty()) return {};
  return std::string(before) + failure_in_words(state, job, job.failures->back());
}

// Whether a limit counts failures of single workers.
bool counts_workers(Limit limit) {
  return limit == Limit::Backoff || limit == Limit::WorkerFailures ||
         limit == Limit::RoleRestarts || limit == Limit::JobRestarts;
}

// "the limit role_restarts_max is passed: 3 restarts of one role, 2 are allowed; the last: learner
// 0 on n3 ended with exit code 7".
std::string limit_message(const State& state, const JobState& job) {
  const JobFailover& failover = *job.failover;
  const bool noted = counts_workers(failover.limit) && !job.failures->empty();
  return "the limit " + std::string(to_string(failover.limit)) +
         " is passed: " + counted_by(failover.limit, failover.limit_count) + ", " +
         std::to_string(failover.limit_value) +
         (failover.limit_value == 1 ? " is allowed" : " are allowed") +
         (noted ? last_failure(state, job, "; the last: ") : last_of(state, job));
}

// Whether a reason speaks of one worker's failure.
bool is_of_a_worker(Reason reason) {
  return reason == Reason::WorkerFailed || reason == Reason::WorkerErred ||
         reason == Reason::WorkerHung || reason == Reason::WorkerLost ||
         reason == Reason::StartDeadline || reason == Reason::NodeBlamed;
}

// The reason, and for each role below what its user asked for what it waits for: "all workers are
// ready; role main has 2 of 4 replicas and waits for 2 devices, 1 are free".
std::string wanting_message(const State& state, const JobState& job) {
  std::string text(in_words(job.reason));
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    const auto have = static_cast<std::int32_t>(std::count_if(
        job.workers.begin(), job.workers.end(), [&](const Worker& w) { return w.role == role; }));
    const std::int32_t target = job.target(role);
    if (have >= target) continue;
    const RoleSpec& spec = job.spec->roles[r];
    const std::string quota =
        why_over_quota(state, job, job.row.devices_held + spec.bundle.devices);
    const bool sized_by_policy = is_sized_by_policy(job, role);
    if (sized_by_policy && quota.empty() && !is_met_by_core(state, job)) {
      text += "; role " + spec.name + " has " + std::to_string(have) + " of " +
              std::to_string(target) + " replicas: of a preemptible job that number is a bound, " +
              "and policy " + state.settings.policy + " decides whether it gets more";
      continue;
    }
    text += "; role " + spec.name + " has " + std::to_string(have) + " of " +
            std::to_string(target) + " replicas and waits for ";
    const std::string room = why_no_more(state, job, role, target - have);
    if (spec.is_seated()) {
      text += "the places of its next size";
    } else if (!quota.empty()) {
      text += "its quota: " + quota;
    } else {
      text += room.empty() ? "room beside its other roles" : room;
    }
  }
  return text;
}

// "worker 0 of role main cannot be started on node n1: python9: its program cannot be run: No such
// file or directory; ...".
std::string refusal_message(const State& state, const JobState& job) {
  const JobFailover& failover = *job.failover;
  const NodeState& node = state.nodes[failover.refused_by.index()];
  const std::string name =
      node.name.empty() ? std::to_string(failover.refused_by.value) : node.name;
  return "worker " + std::to_string(failover.refused_rank) + " of role " +
         job.spec->roles[failover.refused_role.index()].name + " cannot be started on node " +
         name + ": " + failover.refused_why +
         "; it is not tried again: give a command, a working directory and volumes that every node "
         "has and allows";
}

// "; waits for a new machine in place of node n3", "; waits for new machines in place of 8 nodes".
std::string relaunch_message(const State& state, const JobState& job) {
  const std::vector<NodeId>& nodes = job.failover->relaunching;
  if (nodes.empty() || !awaits_answer(job)) return "";
  return nodes.size() == 1
             ? "; waits for a new machine in place of " + name_of(state, nodes.front())
             : "; waits for new machines in place of " + std::to_string(nodes.size()) + " nodes";
}

// Of a job whose failed workers count as done (trigger: skip): empty where none has failed.
std::string set_aside_message(const JobState& job) {
  std::size_t required = 0;
  std::size_t aside = 0;
  std::int32_t exit_code = 0;
  for (const Worker& worker : job.workers) {
    if (job.spec->roles[worker.role.index()].completion != Completion::Required) continue;
    ++required;
    if (!is_set_aside(job, worker)) continue;
    if (aside++ == 0) exit_code = worker.exit_code;
  }
  if (aside == 0) return "";
  return std::to_string(aside) + " of " + std::to_string(required) +
         " required workers failed, the first with exit code " + std::to_string(exit_code) +
         ", and count as done: its failures are skipped (failover.trigger: skip)";
}

std::string message_of(const State& state, const JobState& job, const QueueStandings* queues) {
  const JobRow& row = job.row;
  if (job.deleted)
    return "deleted; it is gone once its workers have ended, " +
           std::to_string(std::count_if(job.workers.begin(),
                                        job.workers.end(),
                                        [](const Worker& worker) { return !worker.is_gone(); })) +
           " still run";
  switch (row.phase) {
    case JobPhase::Pending:
      return row.holds ? "granted; waits for the devices to be given back"
                       : waiting_message(state, job, queues);
    case JobPhase::Failed:
      if (job.reason == Reason::CannotStart) return refusal_message(state, job);
      if (job.failover->limit != Limit::None) return limit_message(state, job);
      if (job.reason == Reason::WaitDeadline && is_seated(*job.spec))
        if (const std::string why = why_not_seated(state, job); !why.empty())
          return std::string(in_words(job.reason)) + ": " + why;
      if (is_of_a_worker(job.reason))
        return std::string(in_words(job.reason)) + last_failure(state, job, ": ");
      break;
    case JobPhase::Succeeded:
      if (std::string said = set_aside_message(job); !said.empty()) return said;
      break;
    case JobPhase::Restarting:
      return std::string(in_words(job.reason)) +
             (is_of_a_worker(job.reason) ? last_failure(state, job, ": ") : "") + "; restart " +
             std::to_string(row.restarts) + " of " + std::to_string(job.spec->backoff_limit) +
             relaunch_message(state, job);
    case JobPhase::Starting:
    case JobPhase::Running:
      return wanting_message(state, job);
    default:
      break;
  }
  return std::string(in_words(job.reason));
}

void count_worker(RoleStatus& role, WorkerState state) {
  switch (state) {
    case WorkerState::Claimed:
    case WorkerState::Starting:
      ++role.starting;
      break;
    case WorkerState::Ready:
      ++role.ready;
      break;
    case WorkerState::Draining:
      ++role.draining;
      break;
    case WorkerState::Succeeded:
      ++role.succeeded;
      break;
    case WorkerState::Failed:
    case WorkerState::Lost:
      ++role.failed;
      break;
    case WorkerState::Stopped:
      break;
  }
}

// The last sample of each rank in the current generation.
ProfilingStatus latest_of(const ProfilingSeries& series, Generation generation) {
  ProfilingStatus status{series.key, {}};
  for (const ProfilingSample& sample : series.samples) {
    if (sample.generation != generation) continue;
    const auto same = std::find_if(status.latest.begin(),
                                   status.latest.end(),
                                   [&](const auto& known) { return known.rank == sample.rank; });
    if (same == status.latest.end()) {
      status.latest.push_back(sample);
    } else {
      *same = sample;
    }
  }
  return status;
}

FailureStatus failure_status_of(const State& state,
                                const JobState& job,
                                const WorkerFailure& failure) {
  FailureStatus out;
  out.at = failure.at;
  out.reason = failure.reason;
  out.role = job.spec->roles[failure.role.index()].name;
  out.local_rank = failure.local_rank;
  out.rank = failure.rank;
  if (failure.node.index() < state.nodes.size()) out.node = state.nodes[failure.node.index()].name;
  out.exit_code = failure.exit_code;
  out.message = failure_in_words(state, job, failure);
  out.sentence = failure.sentence;
  out.last_lines = failure.last_lines;
  out.blame = failure.diagnosis.blame;
  if (out.blame == Blame::Peer && failure.diagnosis.role.index() < job.role_count())
    out.blamed = job.spec->roles[failure.diagnosis.role.index()].name + " " +
                 std::to_string(failure.diagnosis.rank);
  if (out.blame == Blame::Node) out.blamed = out.node;
  out.diagnosis = failure.diagnosis.message;
  return out;
}

// Who is where, of the membership to come where there is one.
std::vector<PlaceStatus> allocation_of(const State& state, const JobState& job) {
  std::vector<PlaceStatus> places;
  if (is_final(job.row.phase)) return places;
  for (const Worker& worker : job.after_drain == AfterDrain::Start ? job.next : job.workers) {
    const std::string& role = job.spec->roles[worker.role.index()].name;
    const auto same = std::find_if(places.begin(), places.end(), [&](const PlaceStatus& place) {
      return place.number == worker.node && place.role == role;
    });
    if (same != places.end()) {
      ++same->replicas;
      continue;
    }
    const std::string& name = state.nodes[worker.node.index()].name;
    places.push_back(
        {role, name.empty() ? std::to_string(worker.node.value) : name, worker.node, 1});
  }
  return places;
}

}  // namespace

JobStatus status_of(const State& state, const JobState& job, const QueueStandings* queues) {
  const JobRow& row = job.row;
  JobStatus status;
  status.name = job.spec->name;
  status.phase = row.phase;
  status.reason = job.reason;
  status.message = message_of(state, job, queues);
  status.allocation = allocation_of(state, job);
  status.devices = row.devices_held;
  status.generation = row.generation;
  status.restarts = row.restarts;
  status.reschedules = row.reschedules;
  status.preemptions = row.preemptions;
  status.node_losses = row.node_losses;
  status.conditions = job.conditions;
  const bool measures = std::any_of(
      job.profilings->begin(), job.profilings->end(), [](const ProfilingSeries& series) {
        return series.key == "throughput";
      });
  if (measures && row.phase == JobPhase::Running) status.throughput = row.progress.rate;
  status.user = *job.user;
  for (const WorkerFailure& failure : *job.failures)
    status.failures.push_back(failure_status_of(state, job, failure));
  status.submitted = row.submitted;
  status.completed = job.finished_at;
  for (const ProfilingSeries& series : *job.profilings)
    status.profilings.push_back(latest_of(series, row.generation));
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    RoleStatus role;
    role.name = job.spec->roles[r].name;
    role.target = job.target(RoleIndex{static_cast<std::uint16_t>(r)});
    status.target += role.target;
    for (const Worker& worker : job.workers)
      if (worker.role.index() == r) count_worker(role, worker.state);
    status.roles.push_back(std::move(role));
  }
  if (is_final(row.phase)) {
    status.roles.clear();
    return status;
  }
  status.replicas = static_cast<std::int32_t>(job.workers.size());
  status.ready_replicas = static_cast<std::int32_t>(job.ready);
  return status;
}

}  // namespace orrery
