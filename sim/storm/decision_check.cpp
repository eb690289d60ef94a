#include "sim/storm/decision_check.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

namespace orrery::sim {
namespace {

// The edges of docs/architecture.md, by the phase that is left.
bool may_follow(JobPhase from, JobPhase to) {
  if (from == to) return false;
  switch (from) {
    case JobPhase::Pending:
      return to == JobPhase::Starting || to == JobPhase::Failed;
    case JobPhase::Running:
      return to != JobPhase::Starting;
    case JobPhase::Rescheduling:
    case JobPhase::Restarting:
      return to != JobPhase::Running;
    case JobPhase::Succeeded:
    case JobPhase::Failed:
      return false;
    default:
      return true;
  }
}

Instant after(Instant from, Duration time) {
  return time.is_forever() || from.is_never() ? Instant::never() : from + time;
}

// The delay before the `nth` charged restart, without jitter: the base, doubled up to the most.
Duration delay_of(const JobSpec& spec, std::uint32_t nth) {
  const double doubled =
      std::ldexp(spec.backoff_base.in_seconds(), static_cast<int>(std::min(nth, 60U)) - 1);
  return std::min(Duration::from_seconds(std::min(doubled, 1e9)), spec.backoff_max);
}

bool is_led(const JobSpec& spec) {
  return std::any_of(spec.roles.begin(), spec.roles.end(), [](const RoleSpec& role) {
    return !role.master_of.is_none();
  });
}

std::string at_text(Instant at) {
  return std::to_string((at - Instant::zero()).in_seconds()) + " s";
}

}  // namespace

void DecisionCheck::add(ViolationKind kind, const std::string& text) {
  found_.add(kind, now_, "record " + std::to_string(at_.value) + ": " + text);
}

std::string DecisionCheck::name_of(const FoldedJob& job) const { return job.spec->name + ": "; }

void DecisionCheck::folded(Instant now, const FoldedRecord& record, const StatusReader& reader) {
  now_ = now;
  at_ = record.sequence;
  if (record.event.at > last_) before_ = last_;
  last_ = record.event.at;
  model_.facts(record);
  for (const Notice& notice : record.decided.notices) {
    check_notice(record, notice);
    model_.told(record, notice);
  }
  for (const CommandBody& body : record.decided.orders) {
    if (const auto* start = std::get_if<StartWorkers>(&body)) check_start(record, *start);
    if (const auto* stop = std::get_if<StopWorkers>(&body)) check_stop(record, *stop);
    if (const auto* answer = std::get_if<AnswerRequest>(&body)) check_answer(record, *answer);
  }
  model_.ordered(record);
  for (FoldedJob& job : model_.jobs()) job.not_before = job.next_not_before;
  check_lost_devices(record);
  note_troubles();
  check_stand_ins(record);
  check_running(record);
  check_lemons(record);
  if (const auto* suspected = std::get_if<WorkerSuspected>(&record.event.body))
    check_suspicion(*suspected);
  // Only then has the leader looked at all that was due: one that stood still comes to it last.
  if (std::holds_alternative<TimeReached>(record.event.body)) check_overdue(record);
  check_retention(record, reader);
  std::vector<JobId> named;
  for (const Notice& notice : record.decided.notices)
    if (notice.kind != NoticeKind::IgnoredReport && model_.find(notice.job) != nullptr)
      named.push_back(notice.job);
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  for (const JobId id : named) {
    const FoldedJob& job = *model_.find(id);
    if (!reader.knows(id)) continue;
    for (const std::string& wrong : false_in_status(job, reader.status(id), record))
      add(ViolationKind::StatusWrong, name_of(job) + wrong);
  }
}

void DecisionCheck::check_notice(const FoldedRecord& record, const Notice& notice) {
  if (notice.at != record.event.at)
    add(ViolationKind::DecisionWrong, "a notice is of " + at_text(notice.at));
  if (notice.kind == NoticeKind::NodeChanged) return check_node(record, notice);
  FoldedJob* job = model_.find(notice.job);
  if (notice.kind == NoticeKind::IgnoredReport) return check_ignored(record, notice);
  if (job == nullptr) return;
  if (notice.kind == NoticeKind::PhaseChanged) check_phase(record, *job, notice);
  if (notice.kind == NoticeKind::IncidentOpened || notice.kind == NoticeKind::IncidentClosed)
    check_incident(record, *job, notice);
  if (notice.kind == NoticeKind::Counted && notice.counter == Counter::Restarts)
    check_charge(record, *job, notice);
  if (notice.kind == NoticeKind::Counted && notice.counter == Counter::Preemptions)
    check_preemption(*job, notice);
}

// Cycles of policies are a second apart or more. What is pushed out far oftener makes room for a
// job that does not get it, again and again.
void DecisionCheck::check_preemption(const FoldedJob& job, const Notice& notice) {
  constexpr Duration kWithin = Duration::seconds(10);
  constexpr std::int32_t kOften = 30;
  PreemptedOften& often = preempted_[notice.job];
  if (often.count == 0 || notice.at - often.since > kWithin) often = {notice.at, 0};
  if (++often.count == kOften)
    add(ViolationKind::DecisionWrong,
        name_of(job) + "was preempted " + std::to_string(kOften) + " times within " +
            std::to_string(kWithin.ns / 1'000'000'000) + " s");
}

namespace {

/// Whether the plan tells the job's user why it waits.
bool is_remarked(const FoldedRecord& record, const Notice& notice) {
  const auto* proposed = std::get_if<PlanProposed>(&record.event.body);
  return proposed != nullptr && notice.reason == Reason::NotAdmitted &&
         std::any_of(
             proposed->plan.grants.begin(), proposed->plan.grants.end(), [&](const Grant& grant) {
               return grant.is_remark() && grant.job == notice.job;
             });
}

}  // namespace

void DecisionCheck::check_phase(const FoldedRecord& record, FoldedJob& job, const Notice& notice) {
  if (notice.from == job.phase && notice.to == job.phase && job.phase == JobPhase::Pending &&
      is_remarked(record, notice))
    return;
  if (notice.from != job.phase || !may_follow(notice.from, notice.to))
    add(ViolationKind::DecisionWrong,
        name_of(job) + "went from " + std::string(to_string(notice.from)) + " to " +
            std::string(to_string(notice.to)) + ", it was " + std::string(to_string(job.phase)));
  if (is_final(notice.to)) check_ending(record, job, notice);
}

void DecisionCheck::check_ending(const FoldedRecord& record,
                                 const FoldedJob& job,
                                 const Notice& notice) {
  const JobSpec& spec = *job.spec;
  const auto early = [&](Instant deadline, std::string_view name) {
    if (deadline.is_never() || record.event.at < deadline)
      add(ViolationKind::DeadlineMissed,
          name_of(job) + "ended by its " + std::string(name) + " before " + at_text(deadline));
  };
  switch (notice.reason) {
    case Reason::WaitDeadline:
      return early(after(job.since, spec.wait_deadline), "wait_deadline");
    case Reason::RunDeadline:
      return early(after(job.first_start, spec.run_deadline), "run_deadline");
    case Reason::StartDeadline:
      // Before rules 3 a job had one timer for all of them.
      if (model_.settings().rules < 3) return;
      return early(after(job.try_since, spec.start_deadline), "start_deadline");
    case Reason::StoppedByUser:
      if (!std::holds_alternative<StopRequested>(record.event.body) &&
          !std::holds_alternative<DeleteRequested>(record.event.body))
        add(ViolationKind::DecisionWrong, name_of(job) + "was stopped, nobody asked for it");
      return;
    case Reason::RecoveryRefused:
      if (spec.failover->mode != RecoveryMode::Strict ||
          !std::holds_alternative<EpochStarted>(record.event.body))
        add(ViolationKind::DecisionWrong, name_of(job) + "was refused its recovery");
      return;
    case Reason::BackoffLimitReached:
    case Reason::FailureLimitReached:
    case Reason::WorkerErred:
    case Reason::CannotStart:
    case Reason::InvalidSpec:
      if (notice.to != JobPhase::Failed)
        add(ViolationKind::DecisionWrong, name_of(job) + "failed and is told to have succeeded");
      return;
    case Reason::RequiredSucceeded:
      if (notice.to != JobPhase::Succeeded)
        add(ViolationKind::DecisionWrong, name_of(job) + "succeeded and is told to have failed");
      return;
    default:
      add(ViolationKind::DecisionWrong,
          name_of(job) +
              "ended for a reason that ends no job: " + std::string(to_string(notice.reason)));
  }
}

void DecisionCheck::check_incident(const FoldedRecord& record,
                                   FoldedJob& job,
                                   const Notice& notice) {
  const bool opens = notice.kind == NoticeKind::IncidentOpened;
  const std::string number = "incident " + std::to_string(notice.incident);
  if (opens ? job.incident_open || notice.incident != job.incidents + 1
            : !job.incident_open || notice.incident != job.incidents)
    add(ViolationKind::DecisionWrong,
        name_of(job) + number + (opens ? " opened" : " closed") + " behind incident " +
            std::to_string(job.incidents) + (job.incident_open ? ", which is open" : ""));
  if (!opens) return;
  if (is_final(job.phase))
    add(ViolationKind::DecisionWrong, name_of(job) + number + " of a job that is over");
  const bool of_master =
      !notice.role.is_none() && !job.spec->roles[notice.role.index()].master_of.is_none();
  const bool charged = notice.reason == Reason::WorkerFailed ||
                       notice.reason == Reason::WorkerHung ||
                       notice.reason == Reason::StartDeadline;
  if (model_.settings().rules >= 3 && notice.charged != (charged && !of_master))
    add(ViolationKind::DecisionWrong,
        name_of(job) + number + " (" + std::string(to_string(notice.reason)) + ") is " +
            (notice.charged ? "charged" : "not charged"));
  const Instant deadline = after(job.since, job.spec->start_deadline);
  const bool of_phase = job.phase == JobPhase::Starting && !is_led(*job.spec);
  if (notice.reason == Reason::StartDeadline && of_phase && record.event.at < deadline)
    add(ViolationKind::DeadlineMissed,
        name_of(job) + "was late before its start_deadline at " + at_text(deadline));
}

// `notice` tells a charge: the delay begins.
void DecisionCheck::check_charge(const FoldedRecord& record, FoldedJob& job, const Notice& notice) {
  // With a reset window the count may have begun anew: one delay is certain.
  const bool resets = !job.spec->failover->reset_window.is_forever();
  const auto nth = resets ? 1U : static_cast<std::uint32_t>(notice.count);
  const double share = 1 - job.spec->failover->jitter;
  const Duration delay =
      Duration::from_seconds(delay_of(*job.spec, nth).in_seconds() * std::max(0.0, share));
  job.next_not_before = record.event.at + delay;
}

void DecisionCheck::check_node(const FoldedRecord& record, const Notice& notice) {
  if (notice.node.index() >= model_.nodes().size()) return;
  FoldedNode node = model_.nodes()[notice.node.index()];
  const Settings& settings = model_.settings();
  const Instant at = record.event.at;
  const std::string name = "node " + std::to_string(notice.node.value) + " ";
  if (notice.change == NodeChange::Included) {
    const auto* request = std::get_if<ExclusionRequested>(&record.event.body);
    const bool asked = request != nullptr && !request->excluded;
    if (!asked && (!node.for_a_while || at < after(node.excluded_since, settings.exclusion)))
      add(ViolationKind::DeadlineMissed, name + "was let in before its exclusion was over");
    node.excluded = false;
  } else if (notice.change == NodeChange::Excluded) {
    const auto* request = std::get_if<ExclusionRequested>(&record.event.body);
    const bool asked = request != nullptr && request->excluded;
    const auto recent = static_cast<std::int32_t>(
        std::count_if(node.incidents.begin(), node.incidents.end(), [&](Instant incident) {
          return at - incident < settings.lemon_window;
        }));
    const bool lemon = settings.lemon_incidents > 0 && recent >= settings.lemon_incidents;
    const bool relaunch = std::holds_alternative<NodesRelaunched>(record.event.body) ||
                          std::holds_alternative<TimeReached>(record.event.body);
    if (!asked && !lemon && !relaunch)
      add(ViolationKind::DecisionWrong,
          name + "was excluded after " + std::to_string(recent) + " incidents within " +
              std::to_string(settings.lemon_window.in_seconds()) + " s, " +
              std::to_string(settings.lemon_incidents) + " exclude it");
    node.excluded = true;
    model_.nodes()[notice.node.index()].for_a_while = !asked;
  } else if (notice.change == NodeChange::Returned) {
    if (!std::holds_alternative<DevicesLost>(record.event.body)) node.leaving = false;
  } else if (notice.change == NodeChange::SpareUsed || notice.change == NodeChange::SpareAgain) {
    const bool used = notice.change == NodeChange::SpareUsed;
    if (node.spare != used)
      add(ViolationKind::DecisionWrong,
          name + (used ? "was taken for a spare and is none" : "became a spare and is one"));
    node.spare = !used;
  } else if (notice.change == NodeChange::Relaunched) {
    node.silent = true;
  } else if (notice.change == NodeChange::HeldForCheck) {
    node.lost_device = true;
  }
  const bool usable = node.is_healthy() && !node.spare;
  if (notice.up != usable)
    add(ViolationKind::DecisionWrong,
        name + "(" + std::string(to_string(notice.change)) + ") is told to be " +
            (notice.up ? "usable" : "not usable"));
}

// The reason is true.
void DecisionCheck::check_ignored(const FoldedRecord& record, const Notice& notice) {
  const FoldedJob* job = model_.find(notice.job);
  bool is_true = true;
  if (notice.ignored == Ignored::UnknownJob) is_true = job == nullptr || !job->cleared.is_never();
  if (notice.ignored == Ignored::JobFinished) is_true = job != nullptr && is_final(job->phase);
  if (notice.ignored == Ignored::RecoveryUnderWay)
    is_true = job != nullptr && job->incident_open && job->phase != JobPhase::Running;
  if (const auto* changed = std::get_if<WorkersChanged>(&record.event.body)) {
    if (notice.ignored == Ignored::StaleGeneration)
      is_true = job != nullptr && changed->generation < job->generation;
  }
  if (!is_true)
    add(ViolationKind::DecisionWrong,
        (job == nullptr ? "" : name_of(*job)) + "a report is ignored as " +
            std::string(to_string(notice.ignored)) + ", which is not so");
}

void DecisionCheck::check_start(const FoldedRecord& record, const StartWorkers& order) {
  FoldedJob* job = model_.find(order.job);
  if (job == nullptr || job->ordered) return;
  const std::string where =
      name_of(*job) + "generation " + std::to_string(order.generation.value) + " ";
  if (order.generation > job->generation)
    add(ViolationKind::DecisionWrong,
        where + "is ordered, it is generation " + std::to_string(job->generation.value));
  // Those two have delays of their own beside.
  const bool simple = job->spec->failover->mode != RecoveryMode::Strict && !is_led(*job->spec);
  if (simple && record.event.at < job->not_before)
    add(ViolationKind::DeadlineMissed,
        where + "starts before its backoff is over at " + at_text(job->not_before));
  // What was lost with a leader is ordered again where it was, and a change of size goes on.
  const bool begins = std::ranges::any_of(record.decided.notices, [&](const Notice& notice) {
    return notice.kind == NoticeKind::PhaseChanged && notice.job == order.job &&
           notice.generation == order.generation && notice.to == JobPhase::Starting &&
           (notice.from == JobPhase::Pending || notice.from == JobPhase::Restarting);
  });
  const auto changes_now = [&](NodeId node) {
    return std::ranges::any_of(record.decided.notices, [&](const Notice& notice) {
      return notice.kind == NoticeKind::NodeChanged && notice.node == node;
    });
  };
  for (const WorkerStart& start : order.workers) {
    if (start.node.index() >= model_.nodes().size()) continue;
    const FoldedNode& node = model_.nodes()[start.node.index()];
    if (start.rank.value >= order.world_size)
      add(ViolationKind::DecisionWrong, where + "has a rank beyond its size");
    if (node.silent || node.spare)
      add(ViolationKind::DecisionWrong,
          where + "starts on node " + std::to_string(start.node.value) + ", which is " +
              (node.silent ? "silent" : "a spare"));
    else if (begins && model_.settings().rules >= 4 && !node.is_healthy() &&
             !changes_now(start.node))
      add(ViolationKind::DecisionWrong,
          where + "starts on node " + std::to_string(start.node.value) +
              ", which takes no workers any more");
  }
}

void DecisionCheck::check_stop(const FoldedRecord& record, const StopWorkers& order) {
  const FoldedJob* job = model_.find(order.job);
  if (job == nullptr) return;
  const Duration own = job->spec->drain_grace;
  const Duration longest = std::max(own, model_.settings().preemption_grace);
  const bool preempted = std::any_of(
      record.decided.notices.begin(), record.decided.notices.end(), [&](const Notice& notice) {
        return notice.job == order.job && notice.kind == NoticeKind::Counted &&
               notice.counter == Counter::Preemptions;
      });
  const bool of_policy = preempted && job->reason == Reason::Preempted;
  const bool kills = order.grace == Duration::zero() && own > Duration::zero();
  if (of_policy && order.grace < longest)
    add(ViolationKind::DecisionWrong,
        name_of(*job) + "was preempted with " + std::to_string(order.grace.in_seconds()) +
            " s to drain, it has " + std::to_string(longest.in_seconds()) + " s");
  if (order.grace != own && order.grace != longest && !kills)
    add(ViolationKind::DecisionWrong,
        name_of(*job) + "has a grace of " + std::to_string(order.grace.in_seconds()) + " s");
  // Only who was asked before is killed, and one that nobody knows of.
  if (!kills || !std::holds_alternative<TimeReached>(record.event.body)) return;
  const Instant patience = job->stop_ordered + job->stop_grace + model_.settings().node_lease;
  const bool drains =
      std::any_of(job->members.begin(), job->members.end(), [](const FoldedWorker& worker) {
        return worker.life == FoldedLife::Draining;
      });
  if (drains && record.event.at < patience)
    add(ViolationKind::DeadlineMissed,
        name_of(*job) + "kills workers before " + at_text(patience) + ", when their time is over");
}

void DecisionCheck::check_answer(const FoldedRecord& record, const AnswerRequest& answer) {
  if (!answer.accepted && answer.message.empty())
    add(ViolationKind::StatusWrong, "a request was refused without a word");
  if (answer.accepted && !answer.message.empty())
    add(ViolationKind::StatusWrong, "a request was accepted with the words " + answer.message);
  const auto* scale = std::get_if<ScaleRequested>(&record.event.body);
  if (scale == nullptr) return;
  const FoldedJob* job = model_.find(scale->job);
  if (job == nullptr || is_final(job->phase)) {
    if (answer.accepted) add(ViolationKind::DecisionWrong, "a job that is over was scaled");
    return;
  }
  if (scale->mode == ScaleMode::Clear || scale->role.is_none() ||
      scale->role.index() >= job->spec->roles.size())
    return;
  const RoleSpec& role = job->spec->roles[scale->role.index()];
  if (role.is_seated() || scale->mode != ScaleMode::Set) return;
  const bool fits =
      scale->replicas >= 1 && (!role.is_elastic() || (scale->replicas >= role.min_replicas &&
                                                      scale->replicas <= role.max_replicas));
  const bool fixed = !role.is_elastic() && job->spec->preemptible;
  if (!fixed && role.master_of.is_none() && fits != answer.accepted)
    add(ViolationKind::DecisionWrong,
        name_of(*job) + "role " + role.name + " was " + (answer.accepted ? "" : "not ") +
            "scaled to " + std::to_string(scale->replicas) + " replicas");
}

// Whatever was on a device that is gone does not go on.
void DecisionCheck::check_lost_devices(const FoldedRecord& record) {
  const auto* lost = std::get_if<DevicesLost>(&record.event.body);
  if (lost == nullptr || lost->node.index() >= model_.nodes().size()) return;
  for (FoldedJob& job : model_.jobs()) {
    if (!job.is_known() || is_final(job.phase)) continue;
    for (const FoldedWorker& worker : job.members)
      if (worker.node == lost->node && (worker.devices & lost->devices) != 0 &&
          (worker.life == FoldedLife::Starting || worker.life == FoldedLife::Ready) &&
          !model_.nodes()[lost->node.index()].silent)
        add(ViolationKind::DecisionWrong,
            name_of(job) + "goes on with a worker on a device that is lost");
  }
}

void DecisionCheck::note_troubles() {
  std::vector<std::int32_t> troubled(model_.groups().size(), 0);
  for (const FoldedNode& node : model_.nodes()) troubled[node.group] += node.is_healthy() ? 0 : 1;
  groups_.resize(troubled.size());
  for (std::size_t g = 0; g < troubled.size(); ++g) {
    groups_[g].is_simple = groups_[g].is_simple && troubled[g] <= 1;
    groups_[g].troubled = troubled[g];
  }
}

// Before rules 4 a group's spares did not always come back. Since then a node on which jobs have
// stayed is a spare when it is empty, or the one that stood in for it is. Where another node of the
// group fails meanwhile, the stand-in may be that one's from then on; such a group is not judged
// any more.
void DecisionCheck::check_stand_ins(const FoldedRecord& record) {
  NodeId troubled;
  for (const Notice& notice : record.decided.notices) {
    if (notice.kind != NoticeKind::NodeChanged) continue;
    if (notice.change == NodeChange::SpareUsed) {
      stand_ins_.push_back({troubled, notice.node});
    } else if (notice.change == NodeChange::SpareAgain) {
      std::erase_if(stand_ins_, [&](const StandIn& each) {
        return each.node == notice.node || each.spare == notice.node;
      });
    } else {
      troubled = notice.node;
      const std::size_t group = model_.nodes()[troubled.index()].group;
      for (const StandIn& each : stand_ins_)
        if (!notice.up && each.node != troubled && model_.nodes()[each.node.index()].group == group)
          groups_[group].is_simple = false;
    }
  }
  if (model_.settings().rules < 4) return;
  std::erase_if(stand_ins_, [&](const StandIn& each) {
    const std::size_t group = model_.nodes()[each.node.index()].group;
    if (!groups_[group].is_simple || groups_[group].troubled != 0) return false;
    if (may_have_work(each.node) && may_have_work(each.spare)) return false;
    add(ViolationKind::DecisionWrong,
        "node " + std::to_string(each.node.value) + " is well again, or node " +
            std::to_string(each.spare.value) + " in its place, without work, and none is a spare");
    return true;
  });
}

bool DecisionCheck::may_have_work(NodeId node) {
  for (const FoldedJob& job : model_.jobs()) {
    // Where it was promised places, no order has told yet.
    const bool is_promised = job.granted > 0 && (!job.is_told() || job.phase == JobPhase::Pending ||
                                                 job.phase == JobPhase::Rescheduling ||
                                                 job.phase == JobPhase::Restarting);
    if (is_promised) return true;
    for (const FoldedWorker& worker : job.members)
      if (worker.node == node) return true;
  }
  return false;
}

void DecisionCheck::check_running(const FoldedRecord& record) {
  for (const Notice& notice : record.decided.notices) {
    if (notice.kind != NoticeKind::PhaseChanged || notice.to != JobPhase::Running) continue;
    const FoldedJob* job = model_.find(notice.job);
    if (job == nullptr || job->phase != JobPhase::Running || !job->is_told()) continue;
    const bool all_up =
        std::all_of(job->members.begin(), job->members.end(), [](const FoldedWorker& worker) {
          return worker.life == FoldedLife::Ready || worker.life == FoldedLife::Gone;
        });
    if (!all_up)
      add(ViolationKind::DecisionWrong,
          name_of(*job) + "is Running, and not all of its workers are up");
  }
}

// A node with enough incidents within the window is not left in use.
void DecisionCheck::check_lemons(const FoldedRecord& record) {
  const Settings& settings = model_.settings();
  if (settings.lemon_incidents <= 0) return;
  for (std::size_t n = 0; n < model_.nodes().size(); ++n) {
    const FoldedNode& node = model_.nodes()[n];
    if (node.excluded || node.certain.empty() || node.certain.back() != record.event.at) continue;
    const auto recent =
        std::count_if(node.certain.begin(), node.certain.end(), [&](Instant incident) {
          return record.event.at - incident < settings.lemon_window;
        });
    if (recent >= settings.lemon_incidents)
      add(ViolationKind::DecisionWrong,
          "node " + std::to_string(n) + " goes on after " + std::to_string(recent) +
              " incidents within " + std::to_string(settings.lemon_window.in_seconds()) + " s, " +
              std::to_string(settings.lemon_incidents) + " exclude it");
  }
}

// Leaders look for what the job asks them to look for.
void DecisionCheck::check_suspicion(const WorkerSuspected& event) {
  const FoldedJob* job = model_.find(event.job);
  if (job == nullptr) return;
  const FailoverSpec& asked = *job->spec->failover;
  const bool looks = event.suspicion == Suspicion::Hung ? !asked.hang_after.is_forever()
                                                        : asked.straggler_factor > 0;
  if (!looks)
    add(ViolationKind::DecisionWrong,
        name_of(*job) + "a worker is suspected of what nobody asked to look for");
}

void DecisionCheck::check_overdue(const FoldedRecord& record) {
  const auto overdue = [&](Instant deadline) {
    return !deadline.is_never() &&
           std::max(deadline, model_.epoch_since()) + late_max_ < record.event.at;
  };
  for (FoldedJob& job : model_.jobs()) {
    if (!job.is_known() || is_final(job.phase)) continue;
    std::string name;
    if (job.phase == JobPhase::Pending && overdue(after(job.since, job.spec->wait_deadline)))
      name = "wait_deadline";
    if (overdue(after(job.first_start, job.spec->run_deadline))) name = "run_deadline";
    const bool starts = job.phase == JobPhase::Starting && !is_led(*job.spec);
    if (starts && overdue(after(job.since, job.spec->start_deadline))) name = "start_deadline";
    if (!name.empty() && model_.settings().rules >= 3)
      add(ViolationKind::DeadlineMissed, name_of(job) + "is past its " + name + " and goes on");
  }
  for (std::size_t n = 0; n < model_.nodes().size(); ++n) {
    const FoldedNode& node = model_.nodes()[n];
    if (node.excluded && node.for_a_while &&
        overdue(after(node.excluded_since, model_.settings().exclusion)))
      add(ViolationKind::DeadlineMissed,
          "node " + std::to_string(n) + " is past its exclusion and not let in");
  }
}

// Jobs that are over stay as long as the settings say, and no longer; no more of them than the
// settings say, but for those that were cleared by this record.
void DecisionCheck::check_retention(const FoldedRecord& record, const StatusReader& reader) {
  const Duration keep = model_.settings().retain_finished;
  const auto most = static_cast<std::size_t>(model_.settings().retain_finished_max);
  const auto is_kept = [&](const FoldedJob& job) {
    return job.is_known() && !job.cleared.is_never() && job.cleared_in < record.sequence;
  };
  std::size_t kept = 0;
  std::vector<FoldedJob*> gone;
  for (std::size_t j = 0; j < model_.jobs().size(); ++j) {
    FoldedJob& job = model_.jobs()[j];
    if (!job.is_known() || job.cleared.is_never()) continue;
    // They are forgotten in the order in which they were cleared.
    Instant last = job.cleared;
    for (const FoldedJob& other : model_.jobs())
      if (other.is_known() && other.cleared <= job.cleared) last = std::max(last, other.completed);
    const Instant until = after(last, keep);
    const bool is_there = reader.knows(JobId{static_cast<std::uint32_t>(j)});
    if (is_there && is_kept(job)) ++kept;
    const bool deleted = job.deleted_in > Sequence{} && job.deleted_in < record.sequence;
    if (is_there && is_kept(job) && deleted)
      add(ViolationKind::DecisionWrong, name_of(job) + "was deleted and is kept");
    std::size_t younger = 0;
    for (const FoldedJob& other : model_.jobs())
      if (!is_there && is_kept(other) && other.cleared_in >= job.cleared_in) ++younger;
    if (is_there && before_ > until)
      add(ViolationKind::DecisionWrong, name_of(job) + "is over and was not forgotten");
    if (!is_there && !deleted && younger <= most && record.event.at < after(job.completed, keep))
      add(ViolationKind::JobVanished, name_of(job) + "was forgotten too early");
    if (!is_there) gone.push_back(&job);
  }
  if (kept > most)
    add(ViolationKind::DecisionWrong,
        std::to_string(kept) + " jobs that are over are kept, " + std::to_string(most) +
            " are to be");
  for (FoldedJob* job : gone) *job = FoldedJob{};
}

}  // namespace orrery::sim
